"""Paper estimates of time on Apple GPUs, from published measurements of their instructions; none was run on one.

Multiplications, shifts and other "complex" instructions fill their pipe while adds and minima run beside them, so a
kernel's cycles are counted from its products alone: cycles of one SIMD group's instruction stream on one of a core's
four schedulers. Sources: philipturner/metal-benchmarks (throughputs of M1), public reports on clocks and bandwidths.
Error bars: 40% either way; docs/metal.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHIPS", "Chip", "kernel_seconds", "thread_cycles"]

LANES = 128
"""32-bit lanes a core and clock."""

# Cycles a 32-wide instruction: 32 x 32 = 64 wide product (with or without an addend) 8, low product and shift 4, high
# product 8.
_WIDE, _LOW, _HIGH = 8, 4, 8
_REDUCE = _LOW + _HIGH
_PRODUCT = _WIDE + _REDUCE
_EXT_PRODUCT = 16 * _WIDE + 4 * _REDUCE
_SCALED = 4 * (_WIDE + _REDUCE / 4)  # base times extension, summed by fours before the reduction
_INVERSE = 59 * _PRODUCT
# Full rounds: 8 of t S-boxes of 4 products; partial rounds: one S-box, and the diagonal: two shifts or a product an
# entry.
_PERMUTATION = {
    16: (8 * 16 * 4 + 13 * 4) * _PRODUCT + 13 * (7 * 2 * _LOW + 2 * _LOW),
    24: (8 * 24 * 4 + 21 * 4) * _PRODUCT + 21 * (15 * 2 * _LOW + 2 * _LOW),
    32: (8 * 32 * 4 + 30 * 4) * _PRODUCT + 30 * (23 * 2 * _LOW + 2 * _LOW),
}
_TARGET_EFFICIENCY = 0.65
# A published Metal prover takes 36,000 cycles a permutation of width 16 on an M1.
_FLOOR_EFFICIENCY = _PERMUTATION[16] / 36_000
_BANDWIDTH_SHARE = 0.8
# A dependent chain of instructions waits for each one's result.
_LATENCY = 1.25
_COOPERATIVE_PERMUTATION = 3_300
_FOUR_LANE_PERMUTATION = 0.35 * _PERMUTATION[16]
_LAUNCH_SECONDS = 2.75e-6


@dataclass(frozen=True)
class Chip:
    """cores of the GPU, clock in GHz, memory bandwidth in GB/s."""

    cores: int
    clock: float
    bandwidth: float


CHIPS = {
    "M1": Chip(8, 1.278, 68.0),
    "M3 Max": Chip(40, 1.38, 410.0),
    "M4 Max": Chip(40, 1.578, 546.0),
    "M5": Chip(10, 1.6, 153.0),
}
"""M3 Max and M5: sources differ on the clock (1.38 to 1.6 GHz), the M5's is assumed."""


def thread_cycles(name: str, size: tuple[int, ...], values: dict[str, int], *, expected: bool = False) -> float:
    """Cycles of one thread of a launch; arguments as for `Device.launch`. Raises KeyError for an unknown kernel.

    expected: a grinding launch is counted by what it takes on average, not at most.
    """
    return _CYCLES[name](size, values, expected)


def _grind(size, values, expected) -> float:
    threads, bits, start, tries = size
    if expected:
        tries = 0 if start else min(tries, max(1, (1 << bits) / threads))
    return tries * (_PERMUTATION[values["WIDTH"]] + 2 * _PRODUCT)


def _grind_sixteen(size, values, expected) -> float:
    candidates, bits, start, tries = size[:4]
    if expected:
        tries = 0 if start else min(tries, max(1, (1 << bits) / candidates))
    return tries * _COOPERATIVE_PERMUTATION


def _challenge(size, values, expected) -> float:
    absorbed, drawn = sum(size[:3]), sum(size[3:5])
    return (-(-absorbed // 8) + -(-drawn // 8) + 1) * _COOPERATIVE_PERMUTATION


# A step draws a challenge as a rule, and some dozens of indices at most.
def _replay(size, values, expected) -> float:
    return (-(-size[1] // 8) + 8 * size[0]) * _COOPERATIVE_PERMUTATION


# Products of a transform: half of one an element and level, one twiddle a radix-16 step, and one of the zero padding.
def _ntt(size, values, expected) -> float:
    levels = size[3]
    return (levels / 2 + -(-levels // 4) + 1) * _PRODUCT


def _fold_axis(size, values, expected) -> float:
    return size[2] * (_EXT_PRODUCT if values["EXT"] else _SCALED)


# Six products a value over all rounds at most, and one core's 128 lanes do them all.
def _sumcheck_rest(size, values, expected) -> float:
    return 6 * size[0] / LANES * _EXT_PRODUCT + (size[1] + size[4] / 8) * _COOPERATIVE_PERMUTATION


# A thread's node a level, and a row of 64 words.
def _climb(size, values, expected) -> float:
    width = values["WIDTH"]
    return size[0] * _PERMUTATION[8 * values["ARITY"]] + 64 / (width - 8) * _PERMUTATION[width]


def _hash_rows(size, values, expected) -> float:
    return -(-size[1] // (values["WIDTH"] - 8)) * _PERMUTATION[values["WIDTH"]]


_CYCLES = {
    "add_scaled": lambda size, values, expected: size[2] * _EXT_PRODUCT,
    "challenge": _challenge,
    "claim_weights": lambda size, values, expected: 2 * max(size[2:]).bit_length() * _EXT_PRODUCT,
    "climb": _climb,
    "compress": lambda size, values, expected: _PERMUTATION[values["WIDTH"]],
    "dot": lambda size, values, expected: size[1] * _EXT_PRODUCT,
    "eq_outer": lambda size, values, expected: _EXT_PRODUCT,
    "eq_table": lambda size, values, expected: (2 * size[0] + (1 << values.get("LOG_EACH", 0))) * _EXT_PRODUCT,
    "ext_arithmetic": lambda size, values, expected: (0, 0, _EXT_PRODUCT, 16 * _PRODUCT + _INVERSE)[
        values["OPERATION"]
    ],
    "ext_sum": lambda size, values, expected: 0.0,
    "ext_sum_group": lambda size, values, expected: 0.0,
    "field_arithmetic": lambda size, values, expected: (0, 0, _PRODUCT, _INVERSE)[values["OPERATION"]],
    "fold_axis": _fold_axis,
    "gather_opening": lambda size, values, expected: 0.0,
    "gather_rows": lambda size, values, expected: 0.0,
    "grind": _grind,
    "grind_sixteen": _grind_sixteen,
    "hash_leaves": lambda size, values, expected: (4 * -(-size[1] // 8) + 3) * _PERMUTATION[16],
    "hash_rows": _hash_rows,
    "hash_rows_four": lambda size, values, expected: -(-size[1] // 8) * _FOUR_LANE_PERMUTATION,
    "montgomery": lambda size, values, expected: _PRODUCT,
    "ntt": _ntt,
    "pack": lambda size, values, expected: _PRODUCT,
    "poseidon2": lambda size, values, expected: _PERMUTATION[values["WIDTH"]],
    "query_tables": lambda size, values, expected: 2 * size[6] * _EXT_PRODUCT + 4 * size[5] * _PRODUCT,
    "query_weights": lambda size, values, expected: size[1] * _EXT_PRODUCT + size[2] * _SCALED,
    "simd_width": lambda size, values, expected: 0.0,
    "point_weights": lambda size, values, expected: 3 * size[1] * _EXT_PRODUCT,
    "replay": _replay,
    "sumcheck_draw_fold": lambda size, values, expected: _COOPERATIVE_PERMUTATION + 6 * _EXT_PRODUCT,
    "sumcheck_fold": lambda size, values, expected: 2 * _EXT_PRODUCT,
    "sumcheck_rest": _sumcheck_rest,
    "sumcheck_fold_round": lambda size, values, expected: 6 * size[1] * _EXT_PRODUCT,
    "tree_layers": lambda size, values, expected: (-(-size[1] // 8) + size[3]) * _COOPERATIVE_PERMUTATION,
    "sumcheck_round": lambda size, values, expected: 2 * size[1] * _EXT_PRODUCT,
}


def kernel_seconds(
    chip: Chip,
    name: str,
    size: tuple[int, ...],
    values: dict[str, int],
    threads: int,
    words: int,
    *,
    floor: bool = False,
    expected: bool = False,
) -> float:
    """Seconds of one launch: the longest of its arithmetic, its memory traffic and one thread's own time; and its
    start.

    threads: of the grid. words: of all inputs and outputs, each read or written once. floor: at the efficiency of a
    published prover (a third of the pipe's rate) instead of the one aimed at (65%).
    """
    cycles = thread_cycles(name, size, values, expected=expected)
    # A transform's threads take several elements each: its work goes by elements.
    items = size[1] << size[0] if name == "ntt" else threads
    efficiency = _FLOOR_EFFICIENCY if floor else _TARGET_EFFICIENCY
    arithmetic = items * cycles / (chip.cores * LANES * chip.clock * 1e9 * efficiency)
    memory = 4 * words / (chip.bandwidth * 1e9 * _BANDWIDTH_SHARE)
    alone = _LATENCY * cycles / (chip.clock * 1e9) if items == threads else 0.0
    return max(arithmetic, memory, alone) + _LAUNCH_SECONDS
