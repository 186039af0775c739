"""No changed proof is accepted: structural changes at every place of the proof tree, single numbers all over it.

The tree is walked generically over the dataclasses, so a new field is changed too. Every mutant differs from the honest
proof, and each must be refused with `VerificationError`, never with another exception and never silently.
"""

import contextlib
import dataclasses
import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import host_device, load_proof, prove
from tests.mutants import leaves, numbers, replaced, restructured, with_number
from tests.oracle import protocol
from tests.oracle.verifier import Rejected
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.plonky3_json import to_plonky3_json
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof

# A proof of the crates without rounds; one round with everything ground, successors, several tables; arity 4 under a
# cap in the prefix order with two rounds; every row opened. Small, since each is verified several hundred times.
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


@cache
def made(name: str):
    return CASES[name]()


@pytest.fixture(params=CASES)
def case(request):
    return made(request.param)


def verify(case, proof, commitment=None, transcript=None):
    commitment = case.commitment if commitment is None else commitment
    return verify_proof(host_device(), **case.arguments, commitment=commitment, proof=proof, transcript=transcript)


def check_refused(case, name: str, proof, commitment=None) -> str:
    try:
        verify(case, proof, commitment)
    except VerificationError as error:
        assert error.check, name
        return error.check
    raise AssertionError(f"accepted: {name}")


# ---- structure ------------------------------------------------------------------------------------------------------


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


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_single_numbers(case):
    rng = random.Random(7)
    arrays = dict(leaves(case.proof))
    count = 0
    for path, index, value in numbers(case.proof, rng, per_array=8):
        for new in {(value + 1) % P, (value - 1) % P, rng.randrange(P), 0, P - 1 - value} - {value}:
            check_refused(
                case, f"{new} for {value} at {path} {index}", with_number(case.proof, path, index, arrays[path], new)
            )
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
    values = [
        (("evaluations", k, "current"), i) for k, batch in enumerate(evaluations) for i in range(len(batch.current))
    ]
    (first, i), (last, j) = values[0], values[-1]
    mutant = case.proof
    for path, row, change in ((first, i, 1), (last, j, P - 1)):
        array = dict(leaves(mutant))[path].copy()
        array[row, 0] = (int(array[row, 0]) + change) % P
        mutant = replaced(mutant, path, array)
    check_refused(case, "cancelling values", mutant)


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ground, two tables", "prefix, arity 4, cap", "saturated"])
def test_failed_checks_are_named_in_the_order_of_the_crate(name):
    # The oracle makes the same checks in the crate's order; it takes longer caps, so caps are left out here.
    case, rng = made(name), random.Random(11)
    statement, _ = protocol.vector_statement(case.args)
    arrays = dict(leaves(case.proof))
    mutants = [
        replaced(case.proof, path, new)
        for path, value in leaves(case.proof)
        for _, new in restructured(value)
        if path and path[-1] != "commitment"
    ]
    mutants += [with_number(case.proof, p, i, arrays[p], (v + 1) % P) for p, i, v in numbers(case.proof, rng, 1)]
    compared = set()
    for mutant in rng.sample(mutants, 60):
        ours = None if mutant == case.proof else check_refused(case, "sampled", mutant)
        if ours in (None, "MalformedProof"):
            continue  # no JSON says this
        document = json.loads(to_plonky3_json(case.commitment, mutant))
        with pytest.raises(Rejected) as caught:
            protocol.verify(statement, document["commitment"], document["proof"])
        assert caught.value.check == ours
        compared.add(ours)
    assert len(compared) >= 6


# ---- binding --------------------------------------------------------------------------------------------------------


def test_everything_sent_changes_the_next_draw(case):
    """Each value that the transcript must bind: the first step to differ is an observation, then the next draw."""
    honest = steps_of(case, case.proof)
    bound = (
        "cap",
        "commitment",
        "ood_answers",
        "initial_ood_answers",
        "current",
        "next",
        "round_polynomials",
        "final_poly",
    )
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
        # Four draws, since one of a few bits may be the same by chance; of what is ground the trace has the proof's own
        # witness, right or wrong.
        ours, theirs = (
            [step for step in steps[at + 1 :] if step[0] not in ("grind", "observe")][:4] for steps in (honest, steps)
        )
        assert len(ours) == len(theirs) and (not ours or ours != theirs), path


def steps_of(case, proof, commitment=None) -> list:
    transcript = Transcript(host_device(), trace=[])
    with contextlib.suppress(VerificationError):
        verify(case, proof, commitment, transcript)
    return transcript.steps()


# ---- python -O ------------------------------------------------------------------------------------------------------


def test_checks_survive_optimisation():
    # `python -O` drops asserts: the honest proof passes, and one mutant of each kind of check is still refused.
    script = """
import numpy as np
from tests.helpers import load_proof
from tests.mutants import leaves, replaced
from tests.protocol.test_mutations import verify
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
