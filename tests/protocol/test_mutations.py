"""No changed proof is accepted: structural changes at every place of the proof tree, single numbers all over it.

The tree is walked generically over the dataclasses, so a new field is changed too. Every mutant differs from the honest
proof, and each must be refused with `VerificationError`, never with another exception and never silently.
"""

import dataclasses
import random
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import host_device, load_proof, prove
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof

# A proof of the crates without rounds; one round with everything ground, successors, several tables; arity 4 under a cap in
# the prefix order with two rounds; every row opened. Small, since each is verified several hundred times.
CASES = {
    "no round": lambda: load_proof("suffix_n8_k2_unique"),
    "ground, two tables": lambda: prove(
        {"tables": [[6, 2], [5, 1]], "fold": 1, "security": 104, "pow": 6, "rate": 2, "next": True}
    ),
    "prefix, arity 4, cap": lambda: prove(
        {"tables": [[9, 1]], "folds": [2, 1], "layout": "prefix", "tree": "ary4", "cap": 1, "points": 2}
    ),
    "saturated": lambda: prove(
        {"tables": [[8, 1]], "fold": 1, "security": 108, "pow": 0, "soundness": "UniqueDecoding", "tree": "w24"}
    ),
}




@lru_cache(maxsize=None)
def made(name: str):
    return CASES[name]()


@pytest.fixture(params=CASES)
def case(request):
    return made(request.param)


def verify(case, proof, commitment=None, transcript=None):
    commitment = case.commitment if commitment is None else commitment
    return verify_proof(
        host_device(), **case.arguments, commitment=commitment, proof=proof, transcript=transcript
    )


def check_refused(case, name: str, proof, commitment=None) -> str:
    try:
        verify(case, proof, commitment)
    except VerificationError as error:
        assert error.check, name
        return error.check
    raise AssertionError(f"accepted: {name}")


# ---- walking -----------------------------------------------------------------------------------------------------------------


def leaves(value, path=()):
    """(path, value) of every array, number, text, tuple and None below a proof object, the objects themselves included."""
    yield path, value
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield from leaves(getattr(value, f.name), (*path, f.name))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))


def replaced(value, path, new):
    """`value` with `new` at `path`."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*value[:step], replaced(value[step], rest, new), *value[step + 1 :])
    return dataclasses.replace(value, **{step: replaced(getattr(value, step), rest, new)})


def restructured(value):
    """(what, new value): the list mutations of an array (on every axis) or tuple, and None for anything."""
    if value is not None:
        yield "null", None
    if isinstance(value, tuple):
        yield from _changed_lists(list(value), lambda items: tuple(items))
    if isinstance(value, np.ndarray):
        for axis in range(value.ndim):
            items = [np.take(value, i, axis=axis) for i in range(value.shape[axis])]
            shape = value.shape[:axis] + value.shape[axis + 1 :]

            def join(items, axis=axis, shape=shape):
                if items:
                    return np.ascontiguousarray(np.stack(items, axis=axis))
                return np.zeros((*shape[:axis], 0, *shape[axis:]), np.uint32)

            for what, new in _changed_lists(items, join, np.zeros(shape, np.uint32)):
                yield f"{what} on axis {axis}", new


def _changed_lists(items: list, join, filler=None):
    count = len(items)
    if filler is not None:
        yield "extend by zeros", join([*items, filler])
    if count == 0:
        return
    yield "empty", join([])
    for i in sorted({0, count // 2, count - 1}):
        yield f"drop {i}", join(items[:i] + items[i + 1 :])
        yield f"duplicate {i}", join(items[: i + 1] + items[i:])
        j = (i + 1) % count
        swapped = list(items)
        swapped[i], swapped[j] = items[j], items[i]
        yield f"swap {i} and {j}", join(swapped)
    if count > 2:
        yield "truncate", join(items[: count // 2])
        yield "reverse", join(items[::-1])
        yield "rotate", join(items[1:] + items[:1])
    yield "repeat", join(items + items)


# ---- structure -----------------------------------------------------------------------------------------------------------


def test_honest_proof(case):
    assert verify(case, case.proof) == case.proof.evaluations


def test_structural_mutations(case):
    checks, count = set(), 0
    for path, value in leaves(case.proof):
        for what, new in restructured(value):
            mutant = replaced(case.proof, path, new)
            if mutant == case.proof:
                continue  # equal neighbours swapped, an empty list kept empty
            checks.add(check_refused(case, f"{what} at {path}", mutant))
            count += 1
    assert count >= 150
    # The mutants reach past the form check, into each phase.
    assert {"MalformedProof", "OpeningBatchCountMismatch", "OpeningBatchSizeMismatch"} <= checks
    assert {"Sumcheck(RoundCountMismatch)", "MerkleProofInvalid", "StirQueryCountMismatch"} <= checks
    assert {"MissingFinalPoly", "FinalPolyLengthMismatch", "Sumcheck(MissingSumcheckData)"} <= checks
    if case.proof.whir.rounds:
        assert {"RoundCountMismatch", "MissingRoundCommitment"} <= checks


def test_parts_moved_elsewhere(case):
    # Any part in the place of any other part of the same type: rounds swapped, openings exchanged, batches exchanged.
    places = [(path, value) for path, value in leaves(case.proof) if path]
    count = 0
    for path, value in places:
        for other, moved in places:
            if path != other and type(value) is type(moved) and not isinstance(value, (int, str)):
                mutant = replaced(case.proof, path, moved)
                if mutant != case.proof:
                    check_refused(case, f"{other} moved to {path}", mutant)
                    count += 1
    assert count >= 50


def test_wrong_variant_of_rows(case):
    for path, value in leaves(case.proof):
        if path and path[-1] == "kind":
            other = {"base": "extension", "extension": "base"}[value]
            check = check_refused(case, f"{other} at {path}", replaced(case.proof, path, other))
            assert check in ("MerkleProofInvalid", "MalformedProof")


@pytest.mark.parametrize("what", ["null", "empty", "3 digests", "doubled", "zeros", "halved", "swapped"])
def test_commitment_mutations(case, what):
    cap = case.commitment.cap
    changed = {
        "null": None,
        "empty": cap[:0],
        "3 digests": np.resize(cap, (3, 8)),
        "doubled": np.concatenate([cap, cap]),
        "zeros": np.zeros_like(cap),
        "halved": cap[: len(cap) // 2],
        "swapped": cap[:, ::-1].copy(),
    }[what]
    check_refused(case, what, case.proof, dataclasses.replace(case.commitment, cap=changed))


# ---- numbers -----------------------------------------------------------------------------------------------------------------


def numbers(proof, rng, per_array: int):
    """(path, index or None, value) of numbers all over the proof: both ends and random places of every array."""
    for path, value in leaves(proof):
        if isinstance(value, np.ndarray) and value.size:
            flat = {0, value.size - 1} | {rng.randrange(value.size) for _ in range(per_array)}
            for index in sorted(flat):
                yield path, np.unravel_index(index, value.shape), int(value.flat[index])
        elif isinstance(value, int):
            yield path, None, value


def with_number(proof, path, index, array, new: int):
    if index is None:
        return replaced(proof, path, new)
    changed = array.copy()
    changed[index] = new
    return replaced(proof, path, changed)


def test_single_numbers(case):
    rng = random.Random(7)
    arrays = dict(leaves(case.proof))
    count = 0
    for path, index, value in numbers(case.proof, rng, per_array=8):
        for new in {(value + 1) % P, (value - 1) % P, rng.randrange(P), 0, P - 1 - value} - {value}:
            check_refused(case, f"{new} for {value} at {path} {index}", with_number(case.proof, path, index, arrays[path], new))
            count += 1
        for new in (P, value + P, 2**32 - 1):
            if new < 2**32:
                mutant = with_number(case.proof, path, index, arrays[path], new)
                assert check_refused(case, f"{new} at {path} {index}", mutant) == "MalformedProof"
    assert count >= 250


def test_single_numbers_of_the_commitment(case):
    for row, column in np.ndindex(case.commitment.cap.shape):
        cap = case.commitment.cap.copy()
        cap[row, column] = (int(cap[row, column]) + 1) % P
        check_refused(case, f"cap {row}, {column}", case.proof, dataclasses.replace(case.commitment, cap=cap))


@pytest.mark.parametrize("name", ["ground, two tables", "prefix, arity 4, cap"])
def test_two_changes_that_cancel(name):
    # A claim raised in one value and lowered in another: batching weighs them apart.
    case = made(name)
    evaluations = case.proof.evaluations
    values = [(("evaluations", k, "current"), i) for k, batch in enumerate(evaluations) for i in range(len(batch.current))]
    (first, i), (last, j) = values[0], values[-1]
    mutant = case.proof
    for path, row, change in ((first, i, 1), (last, j, P - 1)):
        array = dict(leaves(mutant))[path].copy()
        array[row, 0] = (int(array[row, 0]) + change) % P
        mutant = replaced(mutant, path, array)
    check_refused(case, "cancelling values", mutant)


# ---- binding -----------------------------------------------------------------------------------------------------------------


def test_everything_sent_changes_the_next_draw(case):
    """Each value that the transcript must bind: the first step to differ is an observation, and the next draw differs."""
    honest = steps_of(case, case.proof)
    bound = ("cap", "commitment", "ood_answers", "initial_ood_answers", "current", "next", "round_polynomials", "final_poly")
    places = [(path, value) for path, value in leaves(case.proof) if path and path[-1] in bound]
    places.append((None, case.commitment.cap))
    for path, array in places:
        if array is None or not len(array):
            continue
        changed = array.copy()
        changed[(-1,) * array.ndim] = (int(changed[(-1,) * array.ndim]) + 1) % P
        if path is None:
            steps = steps_of(case, case.proof, dataclasses.replace(case.commitment, cap=changed))
        else:
            steps = steps_of(case, replaced(case.proof, path, changed))
        at = next(i for i, (ours, theirs) in enumerate(zip(honest, steps, strict=False)) if ours != theirs)
        assert honest[at][0] == "observe" and steps[at][0] == "observe", path
        following = [step for step in steps[at + 1 :] if step[0] != "grind"]
        if following:  # nothing is drawn where the changed value also spoils the grind that follows it
            expected = next(step for step in honest[at + 1 :] if step[0] == following[0][0])
            assert following[0] != expected, path


def steps_of(case, proof, commitment=None) -> list:
    transcript = Transcript(host_device(), trace=[])
    try:
        verify(case, proof, commitment, transcript)
    except VerificationError:
        pass
    return transcript.steps()


# ---- python -O -------------------------------------------------------------------------------------------------------------------


def test_checks_survive_optimisation():
    # `python -O` drops asserts: the honest proof passes, and one mutant of each kind of check is still refused.
    script = """
import numpy as np
from tests.helpers import load_proof
from tests.protocol.test_mutations import leaves, replaced, verify
from whir_mlx.errors import VerificationError
if __debug__:
    raise SystemExit("asserts are on")
case = load_proof("suffix_n8_k2_unique")
verify(case, case.proof)
refused = total = 0
for path, value in leaves(case.proof):
    if isinstance(value, np.ndarray) and value.size:
        wrong = value.copy()
        wrong.flat[-1] = 2013265921
        other = value.copy()
        other.flat[-1] ^= 1
        for mutant in (value[:-1], value[:0], np.concatenate([value, value]), wrong, other):
            total += 1
            try:
                verify(case, replaced(case.proof, path, mutant))
            except VerificationError:
                refused += 1
print(refused, total)
"""
    root = Path(__file__).parents[2]
    result = subprocess.run([sys.executable, "-O", "-c", script], cwd=root, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    refused, total = map(int, result.stdout.split())
    assert refused == total >= 30
