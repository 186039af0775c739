"""The verifier: proofs of the crates and of the oracle are accepted, and refused under any other statement."""

import copy
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, host_device, load_proof, prove, verifier_arguments
from tests.oracle.challenger import Challenger
from tests.oracle.field import ext
from tests.oracle.multilinear import evaluate
from tests.oracle.splitmix import stream
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.kernels.device import get_device
from whir_mlx.protocol.seeds import commitment_seed
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof


def verify(case, transcript=None, **changes):
    arguments = {**case.arguments, "commitment": case.commitment, "proof": case.proof, **changes}
    return verify_proof(host_device(), **arguments, transcript=transcript)


def refused(case, check=None, transcript=None, **changes):
    with pytest.raises(VerificationError) as caught:
        verify(case, transcript, **changes)
    if check is not None:
        assert caught.value.check == check
    return caught.value


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_proofs_of_the_crates(name):
    case = load_proof(name)
    assert verify(case) == case.proof.evaluations


@pytest.mark.parametrize("name", ["suffix_n8_k2_unique", "suffix_n11_ary4"])
def test_proofs_of_the_crates_without_a_compiler(name):
    # The NumPy device: every operation's twin (both arities) in place of the kernels.
    case = load_proof(name)
    arguments = {**case.arguments, "commitment": case.commitment, "proof": case.proof}
    assert verify_proof(get_device("numpy"), **arguments) == case.proof.evaluations


def test_values_are_those_of_the_committed_column():
    # 2^12 rows, one column, one prescribed point: the value computed from the data by the oracle.
    case = load_proof("suffix_n12_prescribed")
    column = [ext(x) for x in stream(case.args["seed"], 2**12)]
    point = [tuple(map(int, coordinate)) for coordinate in case.arguments["points"][0]]
    assert verify(case)[0].current.tolist() == [list(evaluate(column, point))]


# Small statements of the oracle: (args, batches as (table, current, next)). Rows are small enough for plain Python, and
# each reaches a path that the vectors do not, or reaches it in another order or tree.
STATEMENTS = {
    "no round, more queries than rows": ({"tables": [[6, 1]], "security": 30, "pow": 0}, None),
    "no closing round": ({"tables": [[3, 1]], "fold": 3}, None),
    "one variable": ({"tables": [[1, 1]], "fold": 1}, None),
    "one round, no closing round": ({"tables": [[8, 1]], "folds": [1, 7]}, None),
    "two rounds of single folds": ({"tables": [[9, 1]], "fold": 1, "layout": "prefix"}, None),
    "round and final both saturated": (
        {"tables": [[8, 1]], "fold": 1, "security": 108, "pow": 0, "soundness": "UniqueDecoding"},
        None,
    ),
    "grinding before every challenge": ({"tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6}, None),
    "unique decoding": ({"tables": [[8, 1]], "fold": 2, "soundness": "UniqueDecoding"}, None),
    "capacity bound": ({"tables": [[8, 1]], "fold": 2, "soundness": "CapacityBound", "security": 24}, None),
    "arity 4, cap": ({"tables": [[8, 1]], "fold": 1, "tree": "ary4", "cap": 1}, None),
    "cap above the root": ({"tables": [[7, 1]], "fold": 1, "cap": 20}, None),
    "arity 4, cap above the root": (
        {"tables": [[8, 1]], "fold": 1, "tree": "ary4", "cap": 20, "layout": "prefix"},
        None,
    ),
    "wide leaf sponge": ({"tables": [[8, 1]], "folds": [1, 3], "tree": "w24", "layout": "prefix"}, None),
    "nothing opened": ({"tables": [[7, 2]], "fold": 2}, []),
    "nothing at all to claim": ({"tables": [[6, 1]], "soundness": "UniqueDecoding"}, []),
    "successors only": ({"tables": [[6, 2]], "fold": 2}, [(0, [], [1, 0])]),
    "successors, prefix": ({"tables": [[5, 2], [4, 1]], "layout": "prefix"}, [(0, [1], [0]), (1, [], [0])]),
    "columns in another order": ({"tables": [[5, 3]], "fold": 2}, [(0, [2, 0], [1]), (0, [1], []), (0, [1, 2], [])]),
    "equal arities": ({"tables": [[4, 1], [5, 1], [4, 2]], "fold": 1, "points": 2}, None),
    "equal arities, prefix": ({"tables": [[4, 1], [5, 1], [4, 2]], "fold": 1, "layout": "prefix", "next": True}, None),
    "padded tables": ({"tables": [[0, 1], [5, 1], [2, 2]], "fold": 4, "next": True}, None),
    "padded tables, prefix": ({"tables": [[1, 2], [5, 1]], "fold": 3, "layout": "prefix"}, None),
    "table not opened": ({"tables": [[5, 1], [4, 1]], "fold": 2}, [(1, [0], [])]),
    "prescribed, padded, prefix": (
        {"tables": [[1, 1], [5, 2]], "fold": 3, "layout": "prefix", "prescribed": True},
        None,
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_proofs_of_the_oracle(name):
    case = prove(*STATEMENTS[name])
    assert verify(case) == case.proof.evaluations
    # The same proof says nothing about another commitment.
    cap = case.commitment.cap.copy()
    cap[-1, 3] ^= 1
    refused(case, commitment=dataclasses.replace(case.commitment, cap=cap))
    # And it binds every opened value.
    for k, batch in enumerate(case.proof.evaluations):
        for side in ("current", "next"):
            values = getattr(batch, side).copy()
            if len(values):
                values[-1, 0] = (int(values[-1, 0]) + 1) % P
                changed = dataclasses.replace(batch, **{side: values})
                evaluations = (*case.proof.evaluations[:k], changed, *case.proof.evaluations[k + 1 :])
                refused(case, proof=dataclasses.replace(case.proof, evaluations=evaluations))


def test_statements_reach_what_they_say():
    configs = {
        name: prove(*STATEMENTS[name]).arguments["config"]
        for name in STATEMENTS
        if "grinding" in name or "both" in name
    }
    ground = configs["grinding before every challenge"]
    assert ground.starting_folding_pow_bits > 0 and ground.rounds[0].folding_pow_bits > 0
    saturated = configs["round and final both saturated"]
    assert saturated.rounds[0].num_draws == 0 < saturated.rounds[0].num_opened
    assert saturated.final_num_draws == 0 < saturated.final_num_opened


class LaterWitnesses(Challenger):
    """Takes the second smallest witness of every grind."""

    def grind(self, bits):
        if bits == 0:
            return 0
        log, self.log = self.log, []
        valid = (w for w in range(P) if copy.deepcopy(self)._accepts(bits, w))
        _, witness = next(valid), next(valid)
        self._accepts(bits, witness)
        self.log = [*log, ["grind", bits, witness]]
        return witness


def test_any_valid_witness_is_accepted():
    # Grinds of 1 to 4 bits in the sumchecks, before the round's queries and before the final ones.
    statement = {"tables": [[8, 1]], "fold": 1, "security": 104, "pow": 4}
    smallest, later = prove(statement), prove(statement, challenger=LaterWitnesses())
    assert verify(later) == later.proof.evaluations
    ours, theirs = smallest.proof.whir, later.proof.whir
    assert ours.initial_sumcheck.pow_witnesses[0] < theirs.initial_sumcheck.pow_witnesses[0]
    assert theirs.rounds[0].pow_witness > 0 and theirs.final_pow_witness > 0


def test_witness_of_a_sumcheck_is_checked():
    # 104 bits: a grind before every challenge; zero in place of a witness (which is not zero) does not pass.
    case = prove({"tables": [[8, 1]], "fold": 1, "security": 104, "pow": 4})
    sumcheck = case.proof.whir.initial_sumcheck
    assert sumcheck.pow_witnesses[0] != 0
    changed = dataclasses.replace(sumcheck, pow_witnesses=np.zeros_like(sumcheck.pow_witnesses))
    whir = dataclasses.replace(case.proof.whir, initial_sumcheck=changed)
    refused(case, "Sumcheck(InvalidPowWitness)", proof=dataclasses.replace(case.proof, whir=whir))


def test_sumcheck_where_none_belongs_is_refused():
    # The crate ignores it; a proof has one encoding here.
    case = prove(*STATEMENTS["no closing round"])
    assert case.proof.whir.final_sumcheck is None
    for junk in (case.proof.whir.initial_sumcheck, empty_sumcheck(case.proof.whir.initial_sumcheck)):
        whir = dataclasses.replace(case.proof.whir, final_sumcheck=junk)
        refused(case, "Sumcheck(RoundCountMismatch)", proof=dataclasses.replace(case.proof, whir=whir))


def empty_sumcheck(sumcheck):
    return dataclasses.replace(
        sumcheck, round_polynomials=sumcheck.round_polynomials[:0], pow_witnesses=sumcheck.pow_witnesses[:0]
    )


# ---- another statement than the proved one --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "check"),
    [
        ("suffix_n10_k4_johnson", {"layout": "prefix"}, None),
        ("prefix_n10_k4_johnson", {"layout": "suffix"}, None),
        ("prefix_tables", {"layout": "suffix"}, None),
        ("suffix_n11_w24leaf", {"tree": "w16"}, "MerkleProofInvalid"),
        ("suffix_n11_ary4", {"tree": "w16"}, "MerkleProofInvalid"),
        ("suffix_n11_cap2", {"tree": "w24"}, "MerkleProofInvalid"),
        ("suffix_n11_cap2", {"tree": "ary4"}, "MerkleProofInvalid"),
        ("suffix_n11_cap2", {"cap": 1}, "MerkleProofInvalid"),
        ("suffix_n11_cap2", {"cap": 3}, "MerkleProofInvalid"),
        ("suffix_n8_k2_unique", {"cap": 1}, "MerkleProofInvalid"),
        # One round more, and one less (folding 4, 4 there).
        ("suffix_n12_k4_capacity", {"folds": [4, 1, 1], "reduction": None, "pow": 30}, "RoundCountMismatch"),
        ("suffix_n12_k4_capacity", {"folds": [6], "reduction": None, "pow": 30}, "RoundCountMismatch"),
        ("suffix_n10_w4_p2", {"points": 1}, "OpeningBatchCountMismatch"),
        ("suffix_n10_w4_p2", {"points": 3}, "OpeningBatchCountMismatch"),
        ("suffix_n10_w4_p2", {"next": True}, "OpeningBatchSizeMismatch"),
        ("suffix_tables_next", {"next": False}, "OpeningBatchSizeMismatch"),
        ("suffix_n10_k4_johnson", {"soundness": "UniqueDecoding"}, "InitialOodAnswerCountMismatch"),
        ("suffix_n10_k4_johnson", {"security": 59}, None),
        ("suffix_n10_k4_johnson", {"pow": 11}, None),
        ("suffix_n12_prescribed", {"prescribed": False}, None),
        ("suffix_n12_prescribed", {"seed": 1}, None),  # another point
    ],
)
def test_another_statement_is_refused(name, changes, check):
    case = load_proof(name)
    arguments = verifier_arguments({**case.args, **changes})
    refused(stated(case, arguments), check)


def stated(case, arguments: dict):
    """The proof of `case` for another statement."""
    return SimpleNamespace(**{**vars(case), "arguments": arguments})


@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 1, 2, 3)])
def test_other_columns_are_refused(columns):
    case = load_proof("suffix_n10_w4_p2")
    batches = [(0, columns, ()), (0, (0, 1, 3, 2), ())]
    arguments = verifier_arguments(case.args, batches)
    refused(stated(case, arguments))


def test_commitment_of_another_polynomial_is_refused():
    first, second = prove({}), prove({"seed": 5})
    refused(first, commitment=second.commitment)


def test_claims_below_the_target():
    # More bits than batching these claims keeps: checked before the run starts, with the crate's name.
    case = load_proof("suffix_n10_w4_p2")
    config = dataclasses.replace(case.arguments["config"], security_level=124)
    error = refused(case, "Config(InitialClaimsBelowTarget)", config=config)
    assert error.where == "initial"


def test_arguments_that_do_not_fit_each_other():
    case, other = load_proof("suffix_n12_prescribed"), load_proof("suffix_n10_k4_johnson")
    with pytest.raises(ValueError, match="variables"):
        verify(case, config=other.arguments["config"])
    with pytest.raises(ValueError, match="first"):
        verify(case, config=verifier_arguments({**case.args, "fold": 3, "pow": 20})["config"])
    with pytest.raises(ValueError, match="points"):
        verify(case, points=[])
    with pytest.raises(ValueError, match="shape"):
        verify(case, points=[case.arguments["points"][0][1:]])
    with pytest.raises(ValueError, match="tables"):
        verify(case, schedule=dataclasses.replace(case.arguments["schedule"], batches=()))


# ---- shared transcripts ---------------------------------------------------------------------------------------------


def absorbed(case) -> Transcript:
    transcript = Transcript(host_device())
    transcript.observe_seed(commitment_seed())
    transcript.observe((case.commitment.cap.astype(np.uint64) * MONTY_ONE % P).astype(np.uint32))
    return transcript


def test_who_absorbs_the_commitment():
    drawn, chosen = load_proof("suffix_n8_k2_unique"), load_proof("suffix_n12_prescribed")
    verify(drawn, Transcript(host_device()))
    refused(drawn, transcript=absorbed(drawn))
    verify(chosen, absorbed(chosen))
    refused(chosen, transcript=Transcript(host_device()))


def test_transcript_continues_after_the_proof():
    # What an outer protocol draws next is what the oracle's challenger draws.
    oracle, transcript = Challenger(), Transcript(host_device())
    oracle.observe([1, 2, 3])
    transcript.observe_seed([1, 2, 3])
    case = prove({}, challenger=oracle)
    verify(case, transcript)
    assert transcript.sample_scalar() == oracle.sample_ext()
    refused(case)
