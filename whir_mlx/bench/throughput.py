"""`whir-mlx bench --kernels`: operations by size, against the limits of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from whir_mlx.bench.cuda_trace import trace_kernels
from whir_mlx.bench.limits import Limits, measure_limits
from whir_mlx.bench.machine import machine_facts
from whir_mlx.bench.results import Measured
from whir_mlx.bench.tables import percent, rate, render
from whir_mlx.bench.work import products_of_permutation
from whir_mlx.choices import MAX_LOG_WORDS
from whir_mlx.field.constants import P
from whir_mlx.field.poseidon2_constants import WIDTHS
from whir_mlx.hardware import available_memory
from whir_mlx.kernels.challenge import challenge
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.dot import dot
from whir_mlx.kernels.eq_table import eq_table
from whir_mlx.kernels.field_arithmetic import field_mul
from whir_mlx.kernels.grind import grind
from whir_mlx.kernels.hash_leaves import hash_leaves
from whir_mlx.kernels.ntt import ntt
from whir_mlx.kernels.poseidon2 import poseidon2
from whir_mlx.kernels.sumcheck_fold import sumcheck_fold
from whir_mlx.kernels.sumcheck_round import sumcheck_round
from whir_mlx.protocol.merkle import commit_rows
from whir_mlx.protocol.merkle_config import tree_config

__all__ = ["bench_kernels", "cases", "default_cases"]

HASH_LOGS = (10, 14, 18, 20, 22)
GPU_HASH_LOGS = (10, 14, 18, 20, 22, 24, 26)
NTT_LOGS = (16, 18, 20, 21, 22, 24, 26)
TABLE_LOGS = (10, 16, 20, 22)
GRIND_BITS = (16, 20)
# Below this much time a run is repeated more often.
_LONG_S = 0.3


@dataclass(frozen=True)
class Case:
    """An operation at a size.

    count, unit: what its rate counts (per call); products: Montgomery products that no algorithm here avoids; bytes:
    read once plus written once; words: of all arrays that it needs, to skip it where memory is short. make(device)
    gives the call of no arguments that returns its arrays; `counted` gives the count from its result, if data decides.
    """

    kernel: str
    log: int
    count: int
    unit: str
    products: int
    bytes: int
    words: int
    make: Callable[[Device], Callable[[], object]]
    counted: Callable[[Device, object], int] | None = None


def _words(device: Device, *shape: int):
    """Words below p on the device, cheaply made: random ones repeated."""
    count = prod(shape)
    block = device.asarray(np.random.default_rng(5).integers(0, P, min(count, 1 << 16), dtype=np.uint32))
    array = device.array_module.tile(block, -(-count // block.shape[0]))[:count].reshape(shape)
    device.evaluate(array)
    return array


def cases(hash_logs=HASH_LOGS, ntt_logs=NTT_LOGS, table_logs=TABLE_LOGS, grind_bits=GRIND_BITS) -> Iterator[Case]:
    """Every case, by kernel and size."""
    for width in WIDTHS:
        for log in hash_logs:
            if width << log <= 1 << MAX_LOG_WORDS:
                yield _permutation_case(f"poseidon2 width {width}", log, width)
    for log in hash_logs:
        if 2 <= log and 16 << log <= 1 << MAX_LOG_WORDS:
            yield from _tree_cases(log)
    for log in ntt_logs:
        yield _ntt_case("ntt, 1 column", log, log, 1)
        if log >= 5:
            yield _ntt_case("ntt, 16 columns", log, log - 4, 16)
    for log in table_logs:
        yield from _table_cases(log)
    for bits in grind_bits:
        yield _grind_case(bits)
    yield Case("challenge, 8 in 4 out", 0, 1, "calls", 0, 0, 64, _make_challenge)


def default_cases(device: Device) -> Iterator[Case]:
    """Sizes that show the rise to full speed, and end where a run on such a device becomes long."""
    return cases(GPU_HASH_LOGS if device.lazy else HASH_LOGS)


def _permutation_case(name: str, log: int, width: int) -> Case:
    n = 1 << log

    def make(device: Device):
        states = _words(device, n, width)
        return lambda: poseidon2(device, states)

    return Case(name, log, n, "permutations", n * products_of_permutation(width), 8 * width * n, 2 * width * n, make)


def _tree_cases(log: int) -> Iterator[Case]:
    """Rows of 16 words: two permutations a leaf, then one a node; `log` is that of the rows."""
    n = 1 << log

    def leaves(device: Device):
        rows = _words(device, n, 16)
        return lambda: hash_leaves(device, rows)

    def tree(device: Device):
        rows = _words(device, n, 16)
        config = tree_config("w16", 0)
        # Traced once, as the prover's commitment is.
        program = device.compile(lambda rows: list(commit_rows(device, config, rows).stores))
        return lambda: program(rows)

    one = products_of_permutation(16)
    count = 2 * n + n // 2 + n // 4
    yield Case("hash_leaves, rows of 16", log, count, "permutations", count * one, 4 * (16 + 14) * n, 30 * n, leaves)
    yield Case("Merkle commit, rows of 16", log, 3 * n - 1, "permutations", (3 * n - 1) * one, 4 * 32 * n, 34 * n, tree)


def _ntt_case(name: str, log: int, log_rows: int, width: int) -> Case:
    n = 1 << log

    def make(device: Device):
        x = _words(device, 1 << log_rows, width)
        return lambda: ntt(device, x, log_rows=log_rows)

    # Half a product an element and level, for radix 2; higher radices save some of them.
    return Case(name, log, n, "elements", n * log_rows // 2, 8 * n, 4 * n, make)


def _table_cases(log: int) -> Iterator[Case]:
    n = 1 << log

    def two(call):
        def make(device: Device):
            f, w, r = _words(device, n, 4), _words(device, n, 4), _words(device, 4)
            return lambda: call(device, f, w, r)

        return make

    def product(device, f, w, r):
        return field_mul(device, f.reshape((4 * n,)), w.reshape((4 * n,)))

    def table(device: Device):
        point = _words(device, log, 4)
        return lambda: eq_table(device, point)

    # An extension product is 16 products in the base field (a few of them can be saved).
    yield Case("field_mul", log + 2, 4 * n, "elements", 4 * n, 48 * n, 12 * n, two(product))
    yield Case("dot", log, n, "elements", 16 * n, 32 * n, 8 * n, two(lambda d, f, w, r: dot(d, f, w)))
    yield Case(
        "sumcheck_round", log, n, "elements", 16 * n, 32 * n, 8 * n,
        two(lambda d, f, w, r: sumcheck_round(d, f, w, log_stride=0)),
    )  # fmt: skip
    yield Case(
        "sumcheck_fold", log, n, "elements", 16 * n, 48 * n, 12 * n,
        two(lambda d, f, w, r: sumcheck_fold(d, f, w, r, log_stride=0)),
    )  # fmt: skip
    yield Case("eq_table", log, n, "elements", 16 * n, 16 * n, 8 * n, table)


def _grind_case(bits: int) -> Case:
    """The rate counts the candidates up to the witness: what is searched past it in vain counts for nothing."""

    def make(device: Device):
        # A transcript state with one input waiting and no output left.
        state = device.asarray(
            np.concatenate([np.arange(1, 17, dtype=np.uint32), [7], np.zeros(7, np.uint32), [1, 0]]).astype(np.uint32)
        )
        device.evaluate(state)
        return lambda: grind(device, state, bits=bits)

    one = products_of_permutation(16)
    return Case(
        f"grind {bits} bits", 0, 1, "permutations", one, 0, 1 << 20, make,
        lambda device, witness: int(device.numpy(witness)[0]) + 1,
    )  # fmt: skip


def _make_challenge(device: Device):
    state, message = device.asarray(np.zeros(26, np.uint32)), _words(device, 8)
    device.evaluate(state)
    return lambda: challenge(device, state, [message], num_samples=4)


def _evaluate(device: Device, results) -> None:
    device.evaluate(*(results if isinstance(results, (list, tuple)) else [results]))


def _gpu_seconds(device: Device, call: Callable[[], object]) -> float | None:
    """From the start of a call's first kernel to the end of its last one, by CUDA's own record; None where there is
    none."""
    if device.name != "cuda":
        return None
    traced = trace_kernels(lambda: _evaluate(device, call()))
    return None if traced is None else max(start + length for _, start, length in traced[1]) / 1e3


def _time(device: Device, call: Callable[[], object], runs: int) -> tuple[float, object]:
    """(median seconds of warm calls, the last result)."""
    results = call()
    _evaluate(device, results)
    times: list[float] = []
    while len(times) < runs and (not times or len(times) < 3 or sum(times) < _LONG_S * runs):
        start = time.perf_counter()
        results = call()
        _evaluate(device, results)
        times.append(time.perf_counter() - start)
    return statistics.median(times), results


def bench_kernels(device: Device, chosen: Iterator[Case], *, runs: int, say: Callable[[str], None]) -> Measured:
    """Every case that memory allows: time, rate, the rate that each limit would allow, and the share of the lower."""
    facts = machine_facts(device)
    facts["threads"] = getattr(device, "threads", None)
    say("limits of the machine")
    limits = measure_limits(device)
    memory = _memory(device)
    rows = []
    for case in chosen:
        row = {"kernel": case.kernel, "log": case.log, "unit": case.unit}
        if memory is not None and 4 * case.words > memory // 2:
            rows.append({**row, "refused": f"needs {4 * case.words / 1e9:.1f} GB"})
            continue
        say(f"{case.kernel}, 2^{case.log}" if case.log else case.kernel)
        try:
            call = case.make(device)
            seconds, results = _time(device, call, runs)
            gpu_seconds = _gpu_seconds(device, call)
        except (ValueError, RuntimeError, MemoryError) as error:
            rows.append({**row, "refused": str(error)})
            continue
        count = case.counted(device, results) if case.counted else case.count
        rows.append({**row, "ms": round(1e3 * seconds, 5), "per_s": count / seconds, **_allowed(case, count, limits)})
        rows[-1]["share"] = _share(rows[-1], "per_s")
        if gpu_seconds:
            rows[-1] |= {"gpu_ms": round(1e3 * gpu_seconds, 5), "gpu_per_s": count / gpu_seconds}
            rows[-1]["gpu_share"] = _share(rows[-1], "gpu_per_s")
    header = ["kernel", "size", "ms", "rate/s", "share of limit"]
    on_gpu = any("gpu_ms" in row for row in rows)
    header += ["GPU ms", "GPU rate/s", "share of limit"] if on_gpu else []
    header += ["products allow/s", "copies allow/s"]
    lines = [
        f"limits: copy {rate(limits.bytes, 'bytes/s')} (read + written)"
        + (f", {rate(limits.products, 'Montgomery products/s')}" if limits.products else ""),
        "",
        *render(header, [_cells(row, len(header)) for row in rows]),
    ]
    return Measured("kernels", facts, {"limits": limits.values(), "rows": rows}, [("kernels", lines)])


def _memory(device: Device) -> int | None:
    if not device.lazy:
        return available_memory()
    import mlx.core as mx

    facts = mx.device_info() if hasattr(mx, "device_info") else {}
    found = facts.get("memory_size") or facts.get("total_memory")
    return int(found) if found else None


def _allowed(case: Case, count: int, limits: Limits) -> dict:
    """The rates at which either limit alone would be reached."""
    products = limits.products * case.count / case.products if limits.products and case.products else None
    return {
        "products_allow_per_s": products,
        "copies_allow_per_s": limits.bytes * case.count / case.bytes if case.bytes else None,
    }


def _share(row: dict, achieved: str) -> float | None:
    allowed = [row[key] for key in ("products_allow_per_s", "copies_allow_per_s") if row[key]]
    return round(row[achieved] / min(allowed), 4) if allowed else None


def _cells(row: dict, columns: int) -> list[str]:
    cells = [row["kernel"], f"2^{row['log']}" if row["log"] else ""]
    if "refused" in row:
        return [*cells, row["refused"], *[""] * (columns - 3)]
    cells += [f"{row['ms']:.4g}", f"{rate(row['per_s'])} {row['unit']}", percent(row["share"])]
    if "gpu_ms" in row:
        cells += [f"{row['gpu_ms']:.4g}", rate(row["gpu_per_s"]), percent(row["gpu_share"])]
    limits = [rate(row["products_allow_per_s"]), rate(row["copies_allow_per_s"])]
    return [*cells, *[""] * (columns - len(cells) - 2), *limits]
