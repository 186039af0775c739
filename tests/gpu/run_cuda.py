"""Run every operation on a GPU and compare with its NumPy twin; a table, and exit code 1 on any difference.

    python3 tests/gpu/run_cuda.py [--device cuda] [--sizes small,large] [--only TEXT] [--proofs] [--bench]

Plain Python, from the repository root, for machines where only MLX and NumPy are at hand. `--proofs` makes the crates'
proofs number for number, and larger ones that the verifier must accept, with their times. `--bench` times some kernels.
Times are medians with the data on the device and all kernels compiled.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import partial
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
            print(
                f"{'FAIL' if problem else 'ok':4} {1e3 * (time.perf_counter() - start):8.1f} ms  {case.label}",
                flush=True,
            )
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
        print(
            f"poseidon2 width 16, 2^{log}: {1e3 * seconds:8.3f} ms, {n / seconds / 1e9:6.2f}e9 permutations/s",
            flush=True,
        )
    for log in (17, 20, 22):
        n = 1 << log
        seconds = timed(device, operation("hash_leaves"), words(rng, n, 16))
        print(
            f"hash_leaves 2^{log} rows of 16: {1e3 * seconds:8.3f} ms, "
            f"{2.75 * n / seconds / 1e9:6.2f}e9 permutations/s",
            flush=True,
        )
    for log_rows, width in ((17, 16), (18, 16), (20, 16), (20, 1), (21, 1), (18, 4)):

        def transform(device, x, log_rows=log_rows):
            return operation("ntt")(device, x, log_rows=log_rows)

        seconds = timed(device, transform, words(rng, 1 << log_rows, width))
        print(
            f"ntt 2^{log_rows} x {width}: {1e3 * seconds:8.3f} ms, "
            f"{(width << log_rows) / seconds / 1e9:6.2f}e9 elements/s",
            flush=True,
        )
    for log in (10, 16, 20):
        f, w, r = words(rng, 1 << log, 4), words(rng, 1 << log, 4), words(rng, 4)
        seconds = timed(device, lambda d, f, w: operation("sumcheck_round")(d, f, w, log_stride=0), f, w)
        print(f"sumcheck_round 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
        seconds = timed(device, lambda d, f, w, r: operation("sumcheck_fold")(d, f, w, r, log_stride=0), f, w, r)
        print(f"sumcheck_fold 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
        seconds = timed(device, operation("eq_table"), words(rng, log, 4))
        print(f"eq_table 2^{log}: {1e3 * seconds:8.3f} ms", flush=True)
    nodes = words(rng, 1024, 8)
    call = partial(operation("tree_layers"), levels=4, sponge=False)
    print(f"tree_layers 512 pairs: {1e3 * timed(device, call, nodes):8.3f} ms", flush=True)


SHAPES = {
    "S": {"soundness": "CapacityBound", "security": 80, "pow": 16, "fold": 4, "rate": 1, "reduction": 3},
    "J": {"soundness": "JohnsonBound", "security": 100, "pow": 20, "fold": 4, "rate": 1},
    "U": {"soundness": "UniqueDecoding", "security": 100, "pow": 20, "fold": 4, "rate": 1},
}
"""Parameter sets of the larger proofs, as `tests.proving` takes them."""


def run_proofs(device, logs: list[int], shapes: str) -> int:
    """Number of proofs that differ from the crates' or that the verifier refuses; prints one line each."""
    from tests.helpers import PROOF_NAMES, load_proof
    from tests.proving import FULL_ARGS, arguments_of, commit, verify_here
    from whir_mlx.errors import ParameterError
    from whir_mlx.protocol.prover import open_proof, read_commitment

    failed = 0
    for name in PROOF_NAMES:
        case, start = load_proof(name), time.perf_counter()
        data = commit(case.args, case.arguments, device)
        same = read_commitment(data) == case.commitment
        same &= open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof
        failed += not same
        print(f"{'ok' if same else 'FAIL':4} {1e3 * (time.perf_counter() - start):8.1f} ms  proof {name}", flush=True)
    rng = np.random.default_rng(4)
    for log in logs:
        for shape in shapes:
            args = {**FULL_ARGS, **SHAPES[shape], "tables": [[log, 1]]}
            try:
                arguments = arguments_of(args)
            except ParameterError as error:
                print(f"     shape {shape} 2^{log} refused: {error}")
                continue
            tables = [device.asarray(words(rng, 1, 1 << log))]
            device.evaluate(*tables)
            times = []
            for _ in range(8):
                start = time.perf_counter()
                data = commit(args, arguments, device, tables=tables)
                built = time.perf_counter()
                proof = open_proof(data, arguments["schedule"])
                times.append((time.perf_counter() - start, built - start))
            try:
                verify_here(arguments, read_commitment(data), proof)
                problem = ""
            except Exception as error:  # whatever the verifier finds, the other shapes are still to be run
                problem, failed = repr(error)[:500], failed + 1
            first, rest = times[0][0], statistics.median(total for total, _ in times[1:])
            print(
                f"{'FAIL' if problem else 'ok':4} {1e3 * rest:8.1f} ms  proof shape {shape} 2^{log}, commit + open "
                f"(first {1e3 * first:.0f} ms) {problem}",
                flush=True,
            )
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="small,large", help="comma-separated: small, large")
    parser.add_argument("--only", default="", help="run the cases whose label contains this")
    parser.add_argument("--proofs", action="store_true", help="whole proofs as well")
    parser.add_argument("--logs", default="18,20,22", help="log sizes of the larger proofs")
    parser.add_argument("--shapes", default="SJU", help="parameter sets of the larger proofs")
    parser.add_argument("--bench", action="store_true", help="time the main kernels afterwards")
    options = parser.parse_args()
    device = get_device(options.device)
    failed = run_checks(device, options.sizes.split(","), options.only) if options.sizes else 0
    if options.proofs:
        failed += run_proofs(device, [int(log) for log in options.logs.split(",") if log], options.shapes)
    if options.bench:
        run_bench(device)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
