"""The prover against the oracle, number for number, wherever the crates' vectors do not reach."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers import host_device
from tests.oracle import protocol
from tests.oracle.challenger import Challenger
from tests.oracle.parameters import Refused
from tests.proving import FULL_ARGS, arguments_of, commit, config_of, prove_here, tail_of, verify_here
from whir_mlx.errors import ParameterError
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json
from whir_mlx.protocol.prover import open_proof, read_commitment
from whir_mlx.protocol.transcript import Transcript


def read_json(commitment: dict, proof: dict):
    return from_plonky3_json(json.dumps({"format": FORMAT, "commitment": commitment, "proof": proof}))


def oracle_proof(changes: dict) -> tuple:
    """((commitment, proof), tail) of the oracle. Raises Refused."""
    challenger = Challenger()
    statement, tables = protocol.vector_statement({**FULL_ARGS, **changes})
    made = read_json(*protocol.prove(statement, tables, challenger))
    return made, [challenger.sample() for _ in range(8)]


def check_against_oracle(changes: dict) -> None:
    """Commitment, proof and the transcript's end are the oracle's, and the proof verifies. Raises Refused."""
    made, tail = oracle_proof(changes)
    case = prove_here(changes)
    assert (case.commitment, case.proof) == made
    assert case.tail == tail
    verified = verify_here(case.arguments, case.commitment, case.proof)
    assert verified.evaluations == case.proof.evaluations
    assert verified.tail == tail


# n variables from 1 up; 2^log_rows rows below the fold are padded. What each reaches is its name.
EDGES = {
    "one row, padded to two": {"tables": [[0, 1]], "fold": 1},
    "one row, padded to sixteen": {"tables": [[0, 1]], "fold": 4},
    "one row, padded, prefix": {"tables": [[0, 1]], "fold": 3, "layout": "prefix", "next": True},
    "one row of several columns": {"tables": [[0, 5]], "fold": 1, "next": True},
    "one row of several columns, prefix": {"tables": [[0, 5]], "fold": 2, "layout": "prefix", "points": 2},
    "n 1": {"tables": [[1, 1]], "fold": 1, "next": True},
    "n 2": {"tables": [[2, 1]], "fold": 1},
    "n 3, all folded": {"tables": [[3, 1]], "fold": 3, "next": True},
    "n 4, all folded, prefix": {"tables": [[4, 1]], "fold": 4, "layout": "prefix", "next": True},
    "n 5": {"tables": [[5, 1]], "fold": 2, "layout": "prefix"},
    "n 6, six in clear": {"tables": [[7, 1]], "fold": 1, "soundness": "UniqueDecoding"},
    "six equal tables": {"tables": [[3, 1]] * 6, "fold": 2, "points": 2},
    "six equal tables, prefix": {"tables": [[3, 1]] * 6, "fold": 2, "layout": "prefix", "next": True},
    "equal after padding": {"tables": [[1, 1], [2, 2], [0, 1]], "fold": 2, "next": True},
    "columns of sizes between": {"tables": [[2, 3], [5, 1], [2, 1], [4, 2]], "fold": 1, "layout": "prefix"},
    "column subsets": {
        "tables": [[5, 4], [4, 2]],
        "schedule": [
            [{"current": [3, 0], "next": [1]}, {"current": [2]}],
            [{"next": [1, 0]}],
        ],
    },
    "column subsets, prefix": {
        "tables": [[4, 3], [5, 2]],
        "layout": "prefix",
        "schedule": [[{"current": [2], "next": [2]}], [{"next": [1]}, {"current": [1, 0], "next": [0]}]],
    },
    "successors only": {"tables": [[6, 2]], "schedule": [[{"next": [0]}, {"next": [1, 0]}]]},
    "one table not opened": {"tables": [[5, 1], [4, 2]], "schedule": [[], [{"current": [1]}]]},
    "nothing opened": {"tables": [[6, 2]], "schedule": [[]]},
    "nothing to claim at all": {"tables": [[6, 1]], "schedule": [[]], "soundness": "UniqueDecoding"},
    "nothing to claim, prefix": {
        "tables": [[7, 1]],
        "fold": 1,
        "schedule": [[]],
        "soundness": "UniqueDecoding",
        "layout": "prefix",
    },
    "prescribed, padded": {"tables": [[1, 1], [5, 2]], "fold": 3, "prescribed": True, "next": True},
    "prescribed, prefix": {"tables": [[6, 2]], "fold": 2, "layout": "prefix", "prescribed": True, "points": 2},
    "fold 8": {"tables": [[8, 1]], "fold": 8},
    "fold 8, padded, prefix": {"tables": [[5, 1]], "fold": 8, "layout": "prefix"},
    "fold 7": {"tables": [[8, 1]], "fold": 7, "next": True},
    "fold 6": {"tables": [[8, 1]], "fold": 6, "layout": "prefix"},
    "fold 5": {"tables": [[7, 2]], "fold": 5},
    "round of fold 1, nothing in clear": {"tables": [[8, 1]], "folds": [1, 7], "layout": "prefix"},
    "three rounds": {"tables": [[10, 1]], "folds": [1, 1, 1, 1], "security": 12},
    "second fold": {"tables": [[9, 1]], "fold": 1, "second_fold": 2},
    "rates of its own": {"tables": [[9, 1]], "folds": [2, 1], "rates": [3], "rate": 2},
    "round and final both saturated": {
        "tables": [[8, 1]],
        "fold": 1,
        "security": 108,
        "pow": 0,
        "soundness": "UniqueDecoding",
    },
    "final saturated, prefix": {"tables": [[6, 1]], "security": 30, "pow": 0, "layout": "prefix"},
    "grinding before every challenge": {"tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6},
    "capacity bound": {"tables": [[8, 1]], "fold": 2, "soundness": "CapacityBound", "security": 24},
    "arity 4, cap in the padding": {"tables": [[8, 1]], "fold": 1, "tree": "ary4", "cap": 1},
    "cap above the root": {"tables": [[7, 1]], "fold": 1, "tree": "ary4", "cap": 20, "layout": "prefix"},
    "wide leaf sponge": {"tables": [[8, 1]], "folds": [1, 3], "tree": "w24", "layout": "prefix", "cap": 2},
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_number_for_number(name):
    check_against_oracle(EDGES[name])


def test_edges_reach_what_they_say():
    def config(name):
        args = {**FULL_ARGS, **EDGES[name]}
        return config_of(args, arguments_of(args)["layout"].num_variables)

    both = config("round and final both saturated")
    assert both.rounds[0].num_draws == both.final_num_draws == 0 < min(both.rounds[0].num_opened, both.final_num_opened)
    final = config("final saturated, prefix")
    assert final.final_num_draws == 0 < final.final_num_opened and not final.rounds
    ground = config("grinding before every challenge")
    assert ground.starting_folding_pow_bits > 0 and ground.rounds[0].folding_pow_bits > 0
    assert config("n 3, all folded").final_sumcheck_rounds == 0
    assert config("n 6, six in clear").final_sumcheck_rounds == 6
    assert config("round of fold 1, nothing in clear").final_sumcheck_rounds == 0
    assert len(config("three rounds").rounds) == 3
    assert config("nothing to claim at all").commitment_ood_samples == 0
    sizes = {config(name).num_variables for name in EDGES}
    assert sizes >= {1, 2, 3, 4, 5, 6}


@st.composite
def statements(draw) -> dict:
    """`args` of 1 to 3 tables, at most 2^9 cells; the parameters may be refused."""
    fold = draw(st.integers(1, 4))
    tables, cells = [], 0
    for _ in range(draw(st.integers(1, 3))):
        log_rows, columns = draw(st.integers(0, 8)), draw(st.integers(1, 3))
        cells += columns << max(log_rows, fold)
        if cells <= 2**9:
            tables.append([log_rows, columns])
    tables = tables or [[draw(st.integers(0, 9)), 1]]

    def side(columns):
        return st.lists(st.integers(0, columns - 1), unique=True, max_size=columns)

    def batch(columns):
        both = st.fixed_dictionaries({"current": side(columns), "next": side(columns)})
        return both.filter(lambda b: b["current"] or b["next"])

    args = {
        "tables": tables,
        "schedule": [draw(st.lists(batch(columns), max_size=2)) for _, columns in tables],
        "prescribed": draw(st.booleans()),
        "fold": fold,
        "layout": draw(st.sampled_from(["suffix", "prefix"])),
        "tree": draw(st.sampled_from(["w16", "w24", "ary4"])),
        "cap": draw(st.integers(0, 3)),
        "rate": draw(st.integers(1, 2)),
        "soundness": draw(st.sampled_from(["JohnsonBound", "UniqueDecoding", "CapacityBound"])),
        # From 100 bits on challenges are ground too; the oracle's grinding is slow.
        "security": draw(st.sampled_from([8, 16, 30, 104])),
        "pow": draw(st.integers(0, 6)),
        "seed": draw(st.integers(0, 2**32)),
    }
    kind = draw(st.sampled_from(["constant", "second", "per round"]))
    if kind == "second":
        args["second_fold"] = draw(st.integers(1, 4))
    elif kind == "per round":
        args["folds"] = [fold, *draw(st.lists(st.integers(1, 3), max_size=2))]
    return args


@settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(statements())
def test_random_statements_number_for_number(changes):
    try:
        check_against_oracle(changes)
    except Refused as refusal:
        with pytest.raises(ParameterError) as caught:
            prove_here(changes)
        assert caught.value.kind == refusal.kind


def test_shared_transcript():
    # What an outer protocol absorbed before, and what it draws afterwards, are the oracle's.
    oracle, transcript = Challenger(), Transcript(host_device())
    oracle.observe([1, 2, 3])
    transcript.observe_seed([1, 2, 3])
    args = {**FULL_ARGS, "tables": [[6, 2], [5, 3]], "next": True}
    arguments = arguments_of(args)
    statement, tables = protocol.vector_statement(args)
    commitment, proof = protocol.prove(statement, tables, oracle)
    data = commit(args, arguments, transcript=transcript)
    ours = open_proof(data, arguments["schedule"], transcript=transcript)
    assert (read_commitment(data), ours) == read_json(commitment, proof)
    assert tail_of(transcript) == [oracle.sample() for _ in range(8)]
