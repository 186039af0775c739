"""What the crate refuses is refused here under the same name: parameters, statements, changed proofs."""

import json
import random

import pytest

from tests.interop.test_interop import configuration, refusal, written
from tests.mutants import leaves, numbers, replaced, restructured, with_number
from tests.proving import FULL_ARGS, config_of, prove_here, verify_here
from whir_mlx.errors import ParameterError, ProofFormatError, VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.plonky3_json import from_plonky3_json, to_plonky3_json
from whir_mlx.protocol.proof import find_fault

pytestmark = pytest.mark.interop

# ---- parameters -----------------------------------------------------------------------------------------------------


def random_parameters(rng: random.Random) -> tuple[int, dict]:
    n, rate = rng.randint(1, 40), rng.choice([0, 1, 1, 1, 2, 3, 8, 30])
    args = {
        "fold": rng.randint(0, 9),
        "rate": rate,
        "security": rng.randint(1, 128),
        "pow": rng.randint(0, 30),
        "soundness": rng.choice(["JohnsonBound", "UniqueDecoding", "CapacityBound"]),
    }
    kind = rng.choice(["constant", "second", "per round"])
    if kind == "second":
        args["second_fold"] = rng.randint(0, 9)
    elif kind == "per round":
        args["folds"] = [rng.choice([rng.randint(0, 9), 4]) for _ in range(rng.randint(1, 8))]
    if rng.random() < 0.3:
        args["rates"] = [rng.randint(0, 12) for _ in range(rng.randint(1, 6))]
    return n, args


@pytest.mark.parametrize("seed", range(4))
def test_random_configurations_and_refusals(crate, seed):
    rng, classes, derived = random.Random(seed), set(), 0
    for _ in range(400):
        n, changes = random_parameters(rng)
        args = {**FULL_ARGS, **changes}
        answer = crate.config({**args, "n": n, "tables": []})
        if answer["ok"]:
            assert configuration(config_of(args, n)) == answer["config"], (n, changes)
            derived += 1
        else:
            with pytest.raises(ParameterError) as caught:
                config_of(args, n)
            assert caught.value.kind == refusal(answer), (n, changes)
            classes.add(caught.value.kind)
    assert derived >= 20
    assert classes >= {"ZeroFactor", "TooLarge", "NonRedundantStartingRate", "PowBitsExceedBudget"}
    assert classes >= {"RoundRateCountMismatch", "FoldedDomainExceedsCapacity", "InsufficientFolding"}


def test_too_many_claims(crate):
    # 24 columns at 2 points, and their successors: 96 claims leave less than 118 bits.
    changes = {"tables": [[4, 24]], "points": 2, "next": True, "security": 118, "pow": 28}
    changes["soundness"] = "UniqueDecoding"
    with pytest.raises(ParameterError) as caught:
        prove_here(changes)
    assert caught.value.kind == "InitialClaimsBelowTarget"
    assert refusal(crate.prove({**FULL_ARGS, **changes})) == "InitialClaimsBelowTarget"


# ---- changed proofs --------------------------------------------------------------------------------------------------

# Small proofs with every part: a round, successors, several tables, grinding before every challenge; and one with
# prescribed points, no round and a capped tree of arity 4.
MUTATED = {
    "ground": {"tables": [[7, 2], [5, 1]], "fold": 1, "security": 104, "pow": 8, "rate": 2, "next": True},
    "prescribed": {"tables": [[6, 2]], "layout": "prefix", "tree": "ary4", "cap": 1, "prescribed": True},
}


@pytest.mark.parametrize("name", MUTATED)
def test_changed_proofs_are_refused_by_both(crate, name):
    case, rng = prove_here(MUTATED[name]), random.Random(3)
    arrays = dict(leaves(case.proof))
    mutants = [replaced(case.proof, path, new) for path, value in leaves(case.proof) for _, new in restructured(value)]
    mutants += [with_number(case.proof, p, i, arrays[p], (v + 1) % P) for p, i, v in numbers(case.proof, rng, 3)]
    mutants = [mutant for mutant in mutants if find_fault(mutant) is None and mutant != case.proof]
    compared = set()
    for mutant in rng.sample(mutants, 150):
        with pytest.raises(VerificationError) as caught:
            verify_here(case.arguments, case.commitment, mutant)
        answer = crate.verify(case.args, *written(case.commitment, mutant))
        assert not answer["ok"] and "panic" not in answer, (caught.value, answer)
        if answer["error"] != "Unreadable":
            assert answer["error"] == caught.value.check
            compared.add(caught.value.check)
    assert len(compared) >= 8


def slots(value, path=()):
    """Paths of all integers of a JSON value."""
    if isinstance(value, int):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from slots(item, (*path, key))


def with_item(value, path, new):
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = with_item(value[path[0]], path[1:], new)
    return copied


def test_words_of_p_and_more_are_unreadable_to_both(crate):
    case, rng = prove_here(MUTATED["prescribed"]), random.Random(5)
    document = json.loads(to_plonky3_json(case.commitment, case.proof))
    places = rng.sample(list(slots(document)), 40)
    for path in places:
        for word in (P, P + 1, 2**32 - 1, 2**32, -1):
            changed = with_item(document, path, word)
            with pytest.raises(ProofFormatError):
                from_plonky3_json(json.dumps(changed))
            answer = crate.verify(case.args, changed["commitment"], changed["proof"])
            assert answer["error"] == "Unreadable", (path, word)
    assert {path[0] for path in places} == {"commitment", "proof"}
