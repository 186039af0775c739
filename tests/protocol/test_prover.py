"""The prover: the crates' proofs number for number, one commitment opened again, threads, refusals."""

import copy
import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, TRANSCRIPT_NAMES, host_device, load_proof, load_transcript
from tests.proving import FULL_ARGS, arguments_of, commit, config_of, prove_here, tables_of, tail_of, verify_here
from whir_mlx.errors import DeviceError, ParameterError, WhirError
from whir_mlx.kernels.challenge import challenge
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.montgomery import from_montgomery, to_montgomery
from whir_mlx.protocol import prover as prover_module
from whir_mlx.protocol import transcript as transcript_module
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


def one_launch_device():
    """The host's device, with all rounds of a sumcheck but the first in one launch."""
    device = copy.copy(host_device())
    device.tuning = replace(device.tuning, rest_values=1 << 13)
    return device


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_vectors_with_rounds_in_one_launch(name):
    case = load_proof(name)
    data = commit(case.args, case.arguments, one_launch_device())
    assert open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof


@pytest.mark.parametrize("device", [host_device, one_launch_device])
@pytest.mark.parametrize("name", TRANSCRIPT_NAMES)
def test_recorded_transcript_step_by_step(name, device):
    # The statement of a transcript is that of the proof of the same name.
    recorded, case, device = load_transcript(name), load_proof(name), device()
    transcript = Transcript(device, trace=[])
    data = commit(case.args, case.arguments, device, transcript)
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


@pytest.fixture
def fresh():
    """No opening is replayed that was traced in another test, and none of this test's later."""
    prover_module._OpeningProgram.of.cache_clear()
    yield
    prover_module._OpeningProgram.of.cache_clear()


@pytest.fixture
def played(monkeypatch, fresh):
    """Openings play the prover each time, and do not replay what it launched before."""
    monkeypatch.setattr(type(host_device()), "compile", lambda device, function: function)


@pytest.mark.parametrize("lost", range(4))
def test_a_grind_that_found_nothing_is_an_error(monkeypatch, fresh, lost):
    # A GPU searches a bounded number of windows and then says 0, which stands for a witness of 2^32 - 1. Four grinds
    # here: before the challenge of the initial sumcheck, the queries of the round, the challenge of its sumcheck, the
    # final queries.
    args = {**FULL_ARGS, "tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6}
    arguments = arguments_of(args)
    data, calls = commit(args, arguments), []

    def grind(device, state, *, bits):
        calls.append(bits)
        return device.asarray(np.array([0 if len(calls) % 4 == (lost + 1) % 4 else 2**32 - 1], np.uint32))

    monkeypatch.setattr(transcript_module, "grind_found", grind)
    for _ in range(2):  # where openings are traced, the second one replays the first
        with pytest.raises(WhirError, match="no witness"):
            open_proof(data, arguments["schedule"])
    assert len(calls) >= 4


# Where a grind is followed by a challenge, by queries, by another phase's seed, and (every position opened, no closing
# sumcheck) by nothing at all.
GRINDING = {
    "every place": {"tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6},
    "nothing after the last": {"tables": [[3, 1]], "fold": 3, "security": 30, "pow": 6},
}


@pytest.mark.parametrize("label", GRINDING)
def test_a_wrong_witness_is_found_before_the_proof_is_given_out(monkeypatch, played, label):
    """Each grind in turn answers with a word that misses the difficulty; the right word keeps the proof as it was."""
    args = {**FULL_ARGS, **GRINDING[label]}
    arguments = arguments_of(args)
    data, grind, calls, wrong = commit(args, arguments), transcript_module.grind_found, [], -1

    def tampered(device, state, *, bits):
        found = grind(device, state, bits=bits)
        calls.append(bits)
        if len(calls) - 1 != wrong:
            return found
        for other in range(int(~found[0]) + 1, 1 << 20):
            word = np.array([other], np.uint32)
            _, sample, _ = challenge(device, state, [to_montgomery(device, word)], num_samples=1)
            if int(from_montgomery(device, sample)[0]) & ((1 << bits) - 1):
                return ~word
        raise AssertionError("every word meets the difficulty")

    monkeypatch.setattr(transcript_module, "grind_found", tampered)
    expected, count = open_proof(data, arguments["schedule"]), len(calls)
    assert count
    for wrong in range(count):
        calls.clear()
        with pytest.raises(DeviceError, match=rf"grind {wrong} of {count} misses its \d bits"):
            open_proof(data, arguments["schedule"])
    calls.clear()
    wrong = -1
    assert open_proof(data, arguments["schedule"]) == expected
