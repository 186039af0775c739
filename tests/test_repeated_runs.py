"""The same work many times over: one result and one amount of memory, whatever ran before or beside it.

Others met races in kernels and twiddle caches, reads past the end that showed only sometimes, and provers that grew
with every proof (pil2-proofman PR 529, Plonky3 PR 1561, risc0 PR 3542, whir-p3-metal b5cb4a3; memory: below).
"""

import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.proving import FULL_ARGS, arguments_of, commit, tables_of
from whir_mlx.field.constants import P
from whir_mlx.protocol.prover import open_proof, read_commitment

ROOT = Path(__file__).parents[1]

# Both layouts, a leaf layer of 2^13 rows (long enough for several threads of the CPU target), two arities.
REPEATED = {
    "suffix": {"tables": [[14, 1]], "fold": 2, "security": 40, "pow": 8},
    "prefix, arity 4": {"tables": [[12, 3]], "fold": 2, "layout": "prefix", "tree": "ary4", "security": 40, "pow": 8},
}


def roots(changes: dict, count: int, tables=None, garbage=False) -> set[bytes]:
    """The commitments of `count` runs on the same data; with `garbage` the allocator's state differs for each."""
    args = {**FULL_ARGS, **changes}
    arguments, tables = arguments_of(args), tables_of(args) if tables is None else tables
    rng, kept, found = np.random.default_rng(0), [], set()
    for _ in range(count):
        if garbage:
            kept = [*kept[-8:], rng.integers(0, 2**32, rng.integers(1, 2**17), dtype=np.uint32)]
        found.add(read_commitment(commit(args, arguments, tables=tables)).cap.tobytes())
    return found


@pytest.mark.parametrize("name", REPEATED)
def test_fifty_commitments_have_one_root(name):
    assert len(roots(REPEATED[name], 50)) == 1


@pytest.mark.parametrize("name", REPEATED)
def test_four_threads_have_one_root(name):
    found, start = [], threading.Barrier(4)

    def work():
        start.wait()
        found.append(roots(REPEATED[name], 12))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4 and set.union(*found) == roots(REPEATED[name], 1)


def test_four_processes_have_one_root():
    script = (
        "from tests.test_repeated_runs import REPEATED, roots\nprint(next(iter(roots(REPEATED['suffix'], 1))).hex())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    found = {process.communicate(timeout=300)[0].strip() for process in running}
    assert found == {root.hex() for root in roots(REPEATED["suffix"], 1)}


def test_garbage_in_the_heap_changes_nothing():
    # 200 commitments to 2^8 values with random allocations freed in between.
    assert len(roots({"tables": [[8, 1]], "fold": 2}, 200, garbage=True)) == 1


# ---- memory (mopro issue 60, self issue 195, imp1 issue 3, jolt PR 1733) ---------------------------------------------

LARGE = {"tables": [[16, 1]], "fold": 4, "security": 40, "pow": 8}


def prove_seed(seed: int, arguments) -> None:
    args = {**FULL_ARGS, **LARGE, "seed": seed}
    table = (np.arange(1 << 16, dtype=np.uint64) * (2 * seed + 1) % P).astype(np.uint32)
    data = commit(args, arguments, tables=[table.reshape(1, -1)])
    open_proof(data, arguments["schedule"])


def test_twenty_proofs_need_the_memory_of_two():
    # NumPy reports its allocations to tracemalloc: what one proof leaves behind adds to the next one's peak.
    arguments = arguments_of({**FULL_ARGS, **LARGE})
    tracemalloc.start()
    peaks = []
    for seed in range(20):
        tracemalloc.reset_peak()
        prove_seed(seed, arguments)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] > 2**16 * 4 * 2
    assert peaks[19] <= 1.1 * peaks[1], peaks


def test_twenty_proofs_keep_the_process_small():
    # The whole process, the kernels' own memory included: its peak after 20 proofs against that after 2.
    script = """
import resource
from tests.test_repeated_runs import FULL_ARGS, LARGE, arguments_of, prove_seed
arguments = arguments_of({**FULL_ARGS, **LARGE})
for seed in range(20):
    prove_seed(seed, arguments)
    if seed in (1, 19):
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    second, twentieth = map(int, done.stdout.split())
    assert twentieth <= 1.1 * second
