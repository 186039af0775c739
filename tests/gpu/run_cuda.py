"""Run every operation on a GPU and compare with its NumPy twin; a table, and exit code 1 on any difference.

    python3 tests/gpu/run_cuda.py [--device cuda] [--sizes small,large] [--only TEXT] [--bench]

Plain Python, from the repository root, for machines where only MLX and NumPy are at hand. `--bench` times some kernels
with their data on the device (median of 11).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from tests.kernels.operation_cases import Case, large_cases, operation, small_cases, words
from whir_mlx.kernels.device import get_device

MAKERS = {"small": small_cases, "large": large_cases}


def expected_results(size: str, index: int) -> list[np.ndarray]:
    """What NumPy says of one case; runs in a worker process."""
    global _CASES
    if size not in _CASES:
        _CASES[size] = MAKERS[size]()
    return _CASES[size][index].run(get_device("numpy"))


_CASES: dict[str, list[Case]] = {}


def check(device, case: Case, expected: list[np.ndarray]) -> str:
    """Empty where `case` gives `expected` twice in a row (the second time from cached kernels), else what differs."""
    for _ in range(2):
        got = [device.numpy(x) for x in case.run(device)]
        for number, (have, want) in enumerate(zip(got, expected, strict=True)):
            if have.shape != want.shape:
                return f"output {number}: shape {have.shape}, expected {want.shape}"
            wrong = np.flatnonzero(have.reshape(-1) != want.reshape(-1))
            if len(wrong):
                at = wrong[0]
                return (
                    f"output {number}: {len(wrong)} of {have.size} words differ, first at {at}: "
                    f"{have.reshape(-1)[at]}, expected {want.reshape(-1)[at]}"
                )
    return ""


def run_checks(device, sizes: list[str], only: str) -> int:
    """Number of cases that failed; prints one line each."""
    failed = total = 0
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        pending = [
            (case, pool.submit(expected_results, size, index))
            for size in sizes
            for index, case in enumerate(MAKERS[size]())
            if only in case.label
        ]
        for case, expected in pending:
            want = expected.result()
            start = time.perf_counter()
            try:
                problem = check(device, case, want)
            except Exception as error:  # a compiler's refusal must not hide the other kernels' results
                problem = "".join(traceback.format_exception_only(error))[:3000]
            total += 1
            failed += bool(problem)
            print(f"{'FAIL' if problem else 'ok':4} {1e3 * (time.perf_counter() - start):8.1f} ms  {case.label}", flush=True)
            if problem:
                print(f"     {problem}", flush=True)
    print(f"{total - failed} of {total} cases agree with NumPy on {device.name}")
    return failed


def timed(device, call, *arrays) -> float:
    """Median seconds of `call(device, *arrays)` with its arrays on the device, compiled beforehand."""
    arrays = [device.asarray(x) for x in arrays]
    device.evaluate(*arrays)
    times = []
    for _ in range(13):
        start = time.perf_counter()
        out = call(device, *arrays)
        device.evaluate(*(out if isinstance(out, (list, tuple)) else [out]))
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def run_bench(device) -> None:
    """Times of the kernels that a proof spends its time in."""
    rng = np.random.default_rng(3)
    for log in (16, 20, 22):
        n = 1 << log
        seconds = timed(device, operation("poseidon2"), words(rng, n, 16))
        print(f"poseidon2 width 16, 2^{log}: {1e3 * seconds:8.3f} ms, {n / seconds / 1e9:6.2f}e9 permutations/s", flush=True)
    for log in (17, 20, 22):
        n = 1 << log
        seconds = timed(device, operation("hash_leaves"), words(rng, n, 16))
        print(f"hash_leaves 2^{log} rows of 16: {1e3 * seconds:8.3f} ms, {2.75 * n / seconds / 1e9:6.2f}e9 permutations/s", flush=True)
    for log_rows, width in ((17, 16), (18, 16), (20, 16), (20, 1), (21, 1), (18, 4)):
        def transform(device, x, log_rows=log_rows):
            return operation("ntt")(device, x, log_rows=log_rows)

        seconds = timed(device, transform, words(rng, 1 << log_rows, width))
        print(f"ntt 2^{log_rows} x {width}: {1e3 * seconds:8.3f} ms, {(width << log_rows) / seconds / 1e9:6.2f}e9 elements/s", flush=True)
    for log in (10, 16, 20):
        f, w, r = words(rng, 1 << log, 4), words(rng, 1 << log, 4), words(rng, 4)
        seconds = timed(device, lambda d, f, w: operation("sumcheck_round")(d, f, w, log_stride=0), f, w)
        print(f"sumcheck_round 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
        seconds = timed(device, lambda d, f, w, r: operation("sumcheck_fold")(d, f, w, r, log_stride=0), f, w, r)
        print(f"sumcheck_fold 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
        seconds = timed(device, operation("eq_table"), words(rng, log, 4))
        print(f"eq_table 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
    nodes = words(rng, 1024, 8)
    print(f"compress_layers 1024: {1e3 * timed(device, operation('compress_layers'), nodes):8.3f} ms", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="small,large", help="comma-separated: small, large")
    parser.add_argument("--only", default="", help="run the cases whose label contains this")
    parser.add_argument("--bench", action="store_true", help="time the main kernels afterwards")
    options = parser.parse_args()
    device = get_device(options.device)
    failed = run_checks(device, options.sizes.split(","), options.only)
    if options.bench:
        run_bench(device)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
