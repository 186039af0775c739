"""The prover: the crates' proofs number for number, and the oracle's wherever the vectors do not reach."""

import copy
import json
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers import PROOF_NAMES, TRANSCRIPT_NAMES, host_device, load_proof, load_transcript
from tests.oracle import protocol
from tests.oracle.challenger import Challenger
from tests.oracle.parameters import Refused
from tests.proving import FULL_ARGS, arguments_of, commit, config_of, prove_here, tables_of, tail_of, verify_here
from whir_mlx.errors import ParameterError
from whir_mlx.kernels.device import get_device
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json
from whir_mlx.protocol.prover import commit_tables, open_proof, read_commitment
from whir_mlx.protocol.statement import OpeningBatch, Schedule
from whir_mlx.protocol.transcript import Transcript

# ---- the crates' vectors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_vectors_number_for_number(name):
    case = load_proof(name)
    data = commit(case.args, case.arguments)
    assert read_commitment(data) == case.commitment
    assert open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof


# Both layouts, all trees and a cap, several tables with successors, prescribed points, two rounds.
NUMPY_NAMES = (
    "prefix_tables",
    "suffix_n11_ary4",
    "suffix_n11_cap2",
    "suffix_n11_w24leaf",
    "suffix_n12_k3_pow0",
    "suffix_n12_prescribed",
    "suffix_n8_k2_unique",
    "suffix_tables_next",
)


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_vectors_without_a_compiler(name):
    case, device = load_proof(name), get_device("numpy")
    data = commit(case.args, case.arguments, device)
    assert read_commitment(data) == case.commitment
    assert open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof


@pytest.mark.parametrize("name", TRANSCRIPT_NAMES)
def test_recorded_transcript_step_by_step(name):
    # The statement of a transcript is that of the proof of the same name.
    recorded, case = load_transcript(name), load_proof(name)
    transcript = Transcript(host_device(), trace=[])
    data = commit(case.args, case.arguments, transcript=transcript)
    assert transcript.steps() == recorded.commit
    open_proof(data, case.arguments["schedule"], transcript=transcript)
    steps = transcript.steps()
    # What commit absorbed last and what open absorbs first is one run here.
    last, first = recorded.commit[-1], recorded.open[0]
    assert last[0] == first[0] == "observe"
    assert steps == [*recorded.commit[:-1], ["observe", last[1] + first[1]], *recorded.open[1:]]


# ---- one commitment, many openings ----------------------------------------------------------------------------------

TWO_TABLES = {"tables": [[6, 2], [5, 3]], "next": True, "fold": 2}


def snapshot(data) -> list:
    """Copies of every array that the prover keeps, and what its transcript would draw next."""
    arrays = [*data.tables, data.f, data.tree.rows, *data.tree.layers]
    return [data.device.numpy(array).copy() for array in arrays] + [np.array(tail_of(data.transcript.fork()))]


def test_opening_leaves_the_data_as_it_was():
    arguments = arguments_of({**FULL_ARGS, **TWO_TABLES})
    data = commit({**FULL_ARGS, **TWO_TABLES}, arguments)
    before = snapshot(data)
    first = open_proof(data, arguments["schedule"])
    # Another opening of the same commitment in between, at other columns.
    other = Schedule(((OpeningBatch((1,)),), (OpeningBatch((), (2, 0)), OpeningBatch((0,)))))
    second = open_proof(data, other)
    assert open_proof(data, arguments["schedule"]) == first != second
    for ours, theirs in zip(before, snapshot(data), strict=True):
        assert np.array_equal(ours, theirs)
    assert read_commitment(data) == prove_here(TWO_TABLES).commitment
    verify_here({**arguments, "schedule": other}, read_commitment(data), second)


def test_tables_may_change_after_the_commitment():
    args = {**FULL_ARGS, "tables": [[7, 1], [2, 1]]}
    arguments, tables = arguments_of(args), tables_of(args)
    data = commit(args, arguments, tables=tables)
    for table in tables:
        table[:] = 1
    assert open_proof(data, arguments["schedule"]) == prove_here({"tables": args["tables"]}).proof


def test_one_commitment_opened_by_several_threads():
    args = {**FULL_ARGS, **TWO_TABLES}
    arguments = arguments_of(args)
    expected = prove_here(TWO_TABLES).proof
    for _ in range(5):
        data = commit(args, arguments)
        start, proofs = threading.Barrier(4), []

        def work(data=data, start=start, proofs=proofs):
            start.wait()
            proofs.append(open_proof(data, arguments["schedule"]))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert proofs == [expected] * 4


def test_shared_transcript():
    # What an outer protocol absorbed before, and what it draws afterwards, are the oracle's.
    oracle, transcript = Challenger(), Transcript(host_device())
    oracle.observe([1, 2, 3])
    transcript.observe_seed([1, 2, 3])
    args = {**FULL_ARGS, **TWO_TABLES}
    arguments = arguments_of(args)
    statement, tables = protocol.vector_statement(args)
    commitment, proof = protocol.prove(statement, tables, oracle)
    data = commit(args, arguments, transcript=transcript)
    ours = open_proof(data, arguments["schedule"], transcript=transcript)
    assert (read_commitment(data), ours) == read_json(commitment, proof)
    assert tail_of(transcript) == [oracle.sample() for _ in range(8)]


# ---- threads of the CPU target --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        # Long enough that every kernel of the big layers wakes its threads (some 50 us of work): 2^15 rows.
        {"tables": [[15, 1]], "fold": 3, "security": 60, "pow": 10},
        {"tables": [[12, 3], [13, 2]], "layout": "prefix", "next": True, "tree": "ary4", "cap": 1, "security": 40},
        {"tables": [[14, 1]], "tree": "w24", "folds": [5, 4], "soundness": "UniqueDecoding", "security": 40},
    ],
    ids=["suffix", "prefix, tables", "wide leaves"],
)
def test_number_of_threads_changes_nothing(changes):
    device = copy.copy(host_device())
    made = []
    for threads in (1, 2, 3, 8):
        device.threads = threads
        made.append(prove_here(changes, device))
    for case in made[1:]:
        assert (case.commitment, case.proof, case.tail) == (made[0].commitment, made[0].proof, made[0].tail)
    verify_here(made[0].arguments, made[0].commitment, made[0].proof)


# ---- the oracle's proofs --------------------------------------------------------------------------------------------


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


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit_each_other():
    args = {**FULL_ARGS, "tables": [[5, 2], [3, 1]]}
    arguments, tables = arguments_of(args), tables_of(args)
    device, layout, config, tree = host_device(), arguments["layout"], arguments["config"], arguments["tree"]
    with pytest.raises(ValueError, match="one matrix for each of 2 tables, got 1"):
        commit_tables(device, layout, config, tree, tables[:1])
    with pytest.raises(ValueError, match="one matrix for each of 2 tables, got 3"):
        commit_tables(device, layout, config, tree, [*tables, tables[1]])
    for wrong in (tables[0][:, :16], tables[0][:1], tables[0].T, tables[0].reshape(-1), tables[1]):
        with pytest.raises(ValueError, match=r"table 0 must have shape \(2, 32\)"):
            commit_tables(device, layout, config, tree, [wrong, tables[1]])
    with pytest.raises(ValueError, match="config is for 9 variables, the layout has 7"):
        commit_tables(device, layout, config_of(args, 9), tree, tables)
    with pytest.raises(ValueError, match="config folds 3 variables first, the layout pads for 2"):
        commit_tables(device, layout, config_of({**args, "fold": 3}, 7), tree, tables)


def test_schedule_and_points_that_do_not_fit():
    args = {**FULL_ARGS, "tables": [[5, 2]]}
    arguments = arguments_of(args)
    data = commit(args, arguments)
    with pytest.raises(IndexError, match=r"column of table 0 must be in 0\.\.1, got 2"):
        open_proof(data, Schedule(((OpeningBatch((2,)),),)))
    with pytest.raises(ValueError, match="1 tables, got 2"):
        open_proof(data, Schedule(((), ())))
    point = np.ones((5, 4), np.uint32)
    for points, text in (([], "expected 1 points"), ([point[1:]], "shape"), ([point * 2013265921], "values in")):
        with pytest.raises(ValueError, match=text):
            open_proof(data, arguments["schedule"], points=points)
    with pytest.raises(TypeError, match="integers"):
        open_proof(data, arguments["schedule"], points=[point * 1.0])


def test_too_many_claims_are_refused_before_anything_is_drawn():
    # 123 - log2(claims - 1) bits are left for batching: the crate's name, and the transcript has not moved.
    args = {**FULL_ARGS, "tables": [[2, 8]], "security": 118, "pow": 20, "soundness": "UniqueDecoding"}
    arguments = arguments_of(args)
    transcript = Transcript(host_device(), trace=[])
    data = commit(args, arguments, transcript=transcript)
    steps = transcript.steps()
    many = Schedule.all_columns(arguments["layout"], points=5)
    with pytest.raises(ParameterError) as caught:
        open_proof(data, many, transcript=transcript)
    assert caught.value.kind == "InitialClaimsBelowTarget"
    assert transcript.steps() == steps
    assert open_proof(data, arguments["schedule"], transcript=transcript).evaluations[0].current.shape == (8, 4)
