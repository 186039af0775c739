"""Seeded faults: the check build refuses every one of them, and runs the text that it was made from.

Small texts show one rule each; the mutations of real kernels show that the rules bite there.
"""

import re

import numpy as np
import pytest

from tests.kernels.conftest import make_target
from tests.kernels.operation_cases import operation, words
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.targets.cpu_check import CheckDevice, CheckError, get_check_device, sanitizers
from whir_mlx.kernels.text import FOLDER

HEAD = "kernel void probe(const constant uint* size [[buffer(0)]], const device uint* x [[buffer(1)]], device uint* out [[buffer(2)]],"
BY_GRID = HEAD + " uint3 thread_position_in_grid [[thread_position_in_grid]]) {\n  uint i = thread_position_in_grid.x;\n"
BY_GROUP = HEAD + (
    " uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],"
    " uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],"
    " uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {\n"
    "  uint l = thread_position_in_threadgroup.x, g = threadgroup_position_in_grid.x, i = g * 64 + l;\n"
)
# 64 threads a group hand words to their neighbours twice, the second time in the same place.
EXCHANGE = BY_GROUP + """
  THREADGROUP_ARRAY(tile, 64);
  tile[l] = x[i];
  GROUP_BARRIER();
  uint next = tile[(l + 1) & 63];
  GROUP_BARRIER();
  tile[l] = next;
  GROUP_BARRIER();
  out[i] = tile[(l + 1) & 63];
}
"""
# Each thread takes the word of the lane across, by both functions.
SHUFFLE = BY_GROUP + """
  uint y = simd_shuffle(x[i], thread_index_in_simdgroup ^ uint(31));
  out[i] = simd_shuffle_xor(y, 31) + uint(0 & size[0]);
}
"""
COPY = BY_GRID + "  if (i < size[0]) out[i] = x[i];\n}\n"


@pytest.fixture(autouse=True)
def compiler():
    make_target("check")  # skips where there is no compiler


def device(name: str, text: str, *, round_up: bool = False, seed: int = 0) -> CheckDevice:
    """A check device that runs `text` in place of the kernel `name`."""
    made = CheckDevice(seed, 32, round_up, "metal")
    made.texts[name] = text
    return made


def probe(text: str, *, count: int = 128, group: int = 64, round_up: bool = False, seed: int = 0) -> np.ndarray:
    """Run a small text on x = 0, 1, ...: by groups where it uses them, else by grid. `out` has as many words."""
    grouped = "threadgroup_position_in_grid" in text
    shape = {"groups": (count // group, 1, 1), "group": (group, 1, 1)} if grouped else {"grid": (count, 1, 1)}
    runner = device("probe", text, round_up=round_up, seed=seed)
    return runner.launch("probe", (count,), [np.arange(count, dtype=np.uint32)], [(count,)], **shape)[0]


def replace(text: str, old: str, new: str) -> str:
    """`text` with its one `old` replaced."""
    assert text.count(old) == 1, f"the text has {text.count(old)} times {old!r}"
    return text.replace(old, new)


def refused(message: str):
    return pytest.raises(CheckError, match=message)


@pytest.mark.parametrize("seed", range(5))
def test_sound_texts_run(seed):
    x = np.arange(128, dtype=np.uint32)
    assert np.array_equal(probe(COPY, seed=seed), x)
    assert np.array_equal(probe(EXCHANGE, seed=seed), (x & 64) + (x + 2) % 64)
    assert np.array_equal(probe(SHUFFLE, seed=seed), x)


# What is wrong, the text it is seeded in, what is replaced by what, and the words of the refusal.
FAULTS = {
    "read past the end": (COPY, "x[i]", "x[i + 1]", r"thread \(127, 0, 0\), probe.metal:3: reads x\[128\], which has 128 words"),
    "read before the start": (COPY, "x[i]", "x[int(i) - 1]", r"reads x\[-1\]"),
    "write past the end": (COPY, "out[i]", "out[i + 1]", r"writes out\[128\], which has 128 words"),
    "unwritten output": (COPY, "i < size[0]", "i != 7", r"no thread writes output out\[7\]"),
    "write to an input": (COPY, "out[i] = x[i]", "x[i] = out[i]", "not in the dialect"),
    "output read before it is written": (COPY, "= x[i]", "= out[i]", "reads out.* before anything was written"),
    "two threads write one word": (COPY, "out[i]", "out[i >> 1]", r"race: writes out\[\d+\], which thread \(\d+, 0, 0\) wrote"),
    "one thread reads what another wrote": (
        COPY,
        "out[i] = x[i];",
        "{ out[i] = x[i]; if (i == 5 && out[6] > 0) return; if (i == 6 && out[5] > 0) return; }",
        r"race: reads out\[|before anything",
    ),
    "shift by 32": (COPY, "= x[i]", "= x[i] << uint(32)", "shifts a 32-bit word by 32"),
    "shift by a computed 32": (COPY, "= x[i]", "= x[i] >> int(size[0] / 4)", "shifts a 32-bit word by 32"),
    "negative shift": (COPY, "= x[i]", "= x[i] << (int(i) - 128)", r"shifts a 32-bit word by -\d+"),
    "unset word": (COPY, "out[i] = x[i]", "{ uint y; out[i] = x[i] + y; }", "a word that was never set"),
    "unset word stored": (COPY, "out[i] = x[i]", "{ uint y; out[i] = y; }", "a word that was never set"),
    "sum past 64 bits": (
        COPY,
        "out[i] = x[i]",
        "{ uint m = ~x[0]; out[i] = wide_reduce(wide_mad(wide_mul(m, m), m, m)); }",
        "passes 2\\^64",
    ),
    "sum past its reduction": (
        COPY,
        "out[i] = x[i]",
        "{ uint m = 0x78000000u; out[i] = wide_reduce(wide_mad(wide_mad(wide_mul(m, m), m, m), m, m)); }",
        "not below 2\\^32 p",
    ),
    "missing barrier after writes": (EXCHANGE, "x[i];\n  GROUP_BARRIER();", "x[i];", r"tile\[\d+\]"),
    "missing barrier between reading and writing": (
        EXCHANGE,
        "GROUP_BARRIER();\n  tile[l]",
        "tile[l]",
        r"race: (writes|reads) tile\[\d+\], which thread .* of group .* (read|wrote) in probe.metal:\d+",
    ),
    "unset threadgroup word": (EXCHANGE, "tile[l] = x[i]", "if (l != 5) tile[l] = x[i]", r"reads tile\[5\] before anything"),
    "barrier in a branch": (EXCHANGE, "& 63];\n}", "& 63];\n  if (l < 32) GROUP_BARRIER();\n}", "of a group part: .* has finished"),
    "two barriers in two branches": (
        EXCHANGE,
        "& 63];\n}",
        "& 63];\n  if (l < 32) GROUP_BARRIER();\n  else\n    GROUP_BARRIER();\n}",
        r"of a group part: this one waits at the barrier in this line, thread .* waits at the barrier in probe.metal:\d+",
    ),
    "thread that leaves before a barrier": (EXCHANGE, "uint next", "if (l == 63) return;\n  uint next", "has finished"),
    "threadgroup array of 32 KB and a word": (EXCHANGE, "(tile, 64)", "(tile, 8193)", "threadgroup arrays of 32772 bytes"),
    "race between groups": (EXCHANGE, "out[i] =", "out[l] =", r"race: writes out\[\d+\], which thread .* of group \([01], 0, 0\) wrote"),
    "shuffle from lane 32": (SHUFFLE, "thread_index_in_simdgroup ^ uint(31)", "thread_index_in_simdgroup + 1", "from lane 32 of a SIMD group of 32"),
    "shuffle in a branch": (SHUFFLE, "uint y =", "uint y = x[i];\n  if (l != 40) y =", "threads of a SIMD group part"),
    "masks that differ": (SHUFFLE, "(y, 31)", "(y, int(l & 1))", "masks [01] and [01]"),
    "threadgroup memory as a thread's": (
        "KERNEL_FUNCTION uint first(thread uint* words) { return words[0]; }\n" + EXCHANGE,
        "uint next = tile[(l + 1) & 63]",
        "uint next = first(tile)",
        "not in the dialect",
    ),
    "device memory as threadgroup memory": (EXCHANGE, "tile[l] = next;", "tile[l] = next; tile = out;", "not in the dialect"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_seeded_fault(fault):
    text, old, new, message = FAULTS[fault]
    with refused(message):
        probe(replace(text, old, new))


SANITIZED = {
    "a thread's own array": ("uint y[4]; for (int k = 0; k < 4; k++) y[k] = x[i]; out[i] = y[int(i) / 8];", r"index \d+ out of bounds|stack-buffer-overflow"),
    "a pointer into it": ("uint y[4]; uint* z = y; for (int k = 0; k <= 4; k++) z[k] = x[i]; out[i] = z[0];", "stack-buffer-overflow"),
    "signed overflow": ("int k = 2147483647; out[i] = uint(k + int(i));", "signed integer overflow"),
    "signed shift by 32": ("int k = int(size[0]) / 4; out[i] = uint(1 << k);", "shift exponent 32"),
}


@pytest.mark.skipif(not sanitizers(), reason="AddressSanitizer and UBSan are not installed")
@pytest.mark.parametrize("fault", SANITIZED)
def test_sanitizers_watch(fault):
    body, message = SANITIZED[fault]
    with refused(message) as raised:
        probe(replace(COPY, "if (i < size[0]) out[i] = x[i];", body))
    assert "kernel probe, thread (" in str(raised.value)


def test_size_of_a_group():
    with refused("groups of 2048 threads"):
        probe(EXCHANGE, count=2048, group=2048)


def test_threads_past_the_grid():
    # CUDA runs 256 threads for a grid of 100 by groups of 256 only where the kernel's grid is larger than a group.
    assert len(probe(COPY, count=300, round_up=True)) == 300
    unguarded = replace(COPY, "if (i < size[0]) ", "")
    assert len(probe(unguarded, count=300)) == 300
    with refused(r"thread \(\d+, 0, 0\), probe.metal:3: reads x\[\d+\], which has 300 words"):
        probe(unguarded, count=300, round_up=True)


def test_the_seed_decides_the_order():
    # Every thread is at fault; the one that runs first is reported.
    def first(seed):
        with refused(r"reads x\[") as raised:
            probe(replace(COPY, "x[i]", "x[i + 1000]"), seed=seed)
        return str(raised.value)

    found = [first(seed) for seed in range(4)]
    assert len(set(found)) > 1 and found == [first(seed) for seed in range(4)]


def test_both_lines_of_a_race_are_named():
    with refused("race") as raised:
        probe(replace(EXCHANGE, "GROUP_BARRIER();\n  tile[l]", "tile[l]"))
    lines = {int(line) for line in re.findall(r"probe\.metal:(\d+)", str(raised.value))}
    number = EXCHANGE.split("\n").index("  uint next = tile[(l + 1) & 63];") + 1
    assert lines == {number, number + 1}


# Real kernels


def metal(name: str) -> str:
    return (FOLDER / f"{name}.metal").read_text(encoding="utf-8")


RNG = np.random.default_rng(1)
CALLS = {
    "montgomery": (operation("to_montgomery", "montgomery"), (words(RNG, 300),), {}),
    "ntt": (operation("ntt"), (words(RNG, 256, 16),), {"log_rows": 8}),
    "compress_layers": (operation("compress_layers"), (words(RNG, 128, 8),), {}),
    "gather_rows": (operation("gather_rows"), (words(RNG, 5, 4), np.array([4, 0, 1], np.uint32)), {}),
    "eq_table": (operation("eq_table"), (words(RNG, 3, 4),), {}),
    "sumcheck_round": (operation("sumcheck_round"), (words(RNG, 64, 4), words(RNG, 64, 4)), {"log_stride": 2}),
    "ext_arithmetic": (operation("ext_mul", "ext_arithmetic"), (np.full((2, 4), 0x78000000, np.uint32),) * 2, {}),
}
MUTATIONS = {
    "montgomery: next word": ("montgomery", "(x[i], factor)", "(x[i + 1], factor)", r"reads x\[300\]"),
    "montgomery: first word left out": ("montgomery", "out[i] = field", "if (i > 0) out[i] = field", r"no thread writes output out\[0\]"),
    "ntt: no barrier": ("ntt", "GROUP_BARRIER();", "", r"(race: (reads|writes) tile|reads tile\[\d+\] before)"),
    "ntt: barrier of some threads": ("ntt", "GROUP_BARRIER();", "if (remaining > 0 || thread_position_in_threadgroup.y < 8) GROUP_BARRIER();", "has finished"),
    "ntt: tile too small": ("ntt", "(tile, TILE_WORDS)", "(tile, TILE_WORDS - 1)", r"tile\[4095\], which has 4095 words"),
    "compress_layers: lane 2 too far": ("compress_layers", "from + 1)", "from + 2)", "shuffles from lane 32"),
    "compress_layers: no guard": ("compress_layers", "lane < uint(32 >> level) && ", "", "race: writes out|writes out"),
    "gather_rows: row too far": ("gather_rows", "int(indices[q])", "(int(indices[q]) + 1)", r"reads x\[2[0-3]\], which has 20"),
    "eq_table: coordinate too far": ("eq_table", "load_quad(point, j)", "load_quad(point, j + 1)", r"eq_table.metal:\d+: reads point\[12\]"),
    "sumcheck_round: shares overlap": ("sumcheck_round", "store_quad(partial, t + threads, leading)", "store_quad(partial, t, leading)", "no thread writes"),
}


@pytest.mark.parametrize("kernel", CALLS)
def test_real_kernels_run(kernel):
    function, arrays, keywords = CALLS[kernel]
    assert np.array_equal(function(device(kernel, metal(kernel)), *arrays, **keywords), function(get_device("numpy"), *arrays, **keywords))


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_kernel(mutation):
    kernel, old, new, message = MUTATIONS[mutation]
    function, arrays, keywords = CALLS[kernel]
    with refused(message):
        function(device(kernel, replace(metal(kernel), old, new)), *arrays, **keywords)


def test_wrong_reduction_in_a_header(monkeypatch):
    # Sums of four products need wide_reduce_4; with the largest words the check build sees the bound passed.
    from whir_mlx.kernels.targets import cpu_check

    read = cpu_check.read_header
    monkeypatch.setattr(cpu_check, "read_header", lambda name: read(name).replace("wide_reduce_4(", "wide_reduce("))
    function, arrays, keywords = CALLS["ext_arithmetic"]
    with refused("ext.h:.* not below 2\\^32 p"):
        function(device("ext_arithmetic", metal("ext_arithmetic") + "\n"), *arrays, **keywords)


def test_narrow_simd_groups():
    # The text hands digests over among 32 lanes: a GPU with other SIMD groups is refused, not answered wrongly.
    function, arrays, _ = CALLS["compress_layers"]
    with refused("of a SIMD group of 16|race: writes out"):
        function(get_check_device(simd_width=16), *arrays)
