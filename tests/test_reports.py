"""Faults that others reported in public, ruled out here: each test names the report and holds the right value.

Reports on parameters, files, the verifier's checks and single kernels are tested beside those; here are the ones on the
prover and on what it absorbs. Those on running it many times are in `test_repeated_runs.py`.
"""

import copy
import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import host_device
from tests.kernels.words import ints, words
from tests.proving import FULL_ARGS, arguments_of, commit, prove_here, tables_of, verify_here
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.dot import dot
from whir_mlx.kernels.eq_table import eq_table, eq_tables
from whir_mlx.kernels.ntt import ntt
from whir_mlx.protocol.prover import open_proof, read_commitment
from whir_mlx.protocol.transcript import Transcript

ROOT = Path(__file__).parents[1]


# ---- the grind (Plonky3 issues 556 and 200, miden-vm issue 3813) -----------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("observed", "bits", "witness", "after"),
    [
        ([42], 16, 127313, 1487695673),
        (list(range(7)), 8, 225, 337245294),  # the witness completes the block
        ([42], 1, 2, None),
        ([42], 5, 14, None),
        ([42], 10, 30, None),
    ],
)
def test_the_smallest_witness_whatever_finds_it_first(threads, observed, bits, witness, after):
    device = copy.copy(host_device())
    device.threads = threads
    for _ in range(3):
        transcript = Transcript(device)
        transcript.observe(words(observed))
        assert device.numpy(transcript.grind(bits)).tolist() == [witness]
        sample = ints(device.numpy(transcript.sample(1)))
        assert after is None or sample == [after]


def test_every_folding_challenge_is_ground():
    # whir-p3 issue 240: here a grind stands before each challenge of the initial sumcheck and of the rounds'.
    case = prove_here({"tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6})
    config, whir = case.arguments["config"], case.proof.whir
    assert config.starting_folding_pow_bits > 0 and config.rounds[0].folding_pow_bits > 0
    runs = {"initial_sumcheck": whir.initial_sumcheck, "rounds": whir.rounds[0].sumcheck}
    for place, run in runs.items():
        assert len(run.pow_witnesses) == len(run.round_polynomials) > 0
        for i in np.flatnonzero(run.pow_witnesses):
            witnesses = run.pow_witnesses.copy()
            witnesses[i] = 0
            changed = dataclasses.replace(run, pow_witnesses=witnesses)
            if place == "rounds":
                changed = (dataclasses.replace(whir.rounds[0], sumcheck=changed), *whir.rounds[1:])
            proof = dataclasses.replace(case.proof, whir=dataclasses.replace(whir, **{place: changed}))
            with pytest.raises(VerificationError):
                verify_here(case.arguments, case.commitment, proof)
    assert whir.initial_sumcheck.pow_witnesses.any() or whir.rounds[0].sumcheck.pow_witnesses.any()


# ---- what the prover absorbs (Plonky3 issue 358, openvm PR 1449, binius64 issue 1350, jolt PR 981) -------------------


@pytest.mark.parametrize("layout", ["suffix", "prefix"])
def test_everything_sent_is_absorbed_in_order(layout):
    args = {**FULL_ARGS, "tables": [[7, 2], [5, 1]], "fold": 1, "security": 104, "pow": 6, "next": True, "rate": 2}
    args["layout"] = layout
    arguments = arguments_of(args)
    transcript = Transcript(host_device(), trace=[])
    data = commit(args, arguments, transcript=transcript)
    proof = open_proof(data, arguments["schedule"], transcript=transcript)
    sent = [read_commitment(data).cap, *proof.whir.initial_ood_answers]
    for batch in proof.evaluations:
        sent += [batch.current, batch.next]
    sent += sumcheck_messages(proof.whir.initial_sumcheck)
    for record in proof.whir.rounds:
        sent += [record.commitment, *record.ood_answers, record.pow_witness, *sumcheck_messages(record.sumcheck)]
    sent += [proof.whir.final_poly, proof.whir.final_pow_witness, *sumcheck_messages(proof.whir.final_sumcheck)]
    assert len(proof.whir.rounds) >= 1 and len(proof.whir.initial_ood_answers) >= 1
    # A grind's witness is a step of its own; everything else must stand in a run of absorbed elements.
    absorbed = []
    for step in transcript.steps():
        absorbed += step[1] if step[0] == "observe" else [("witness", step[2])] if step[0] == "grind" else [None]
    start = 0
    for message in sent:
        run = np.asarray(message).reshape(-1).tolist()
        if not isinstance(message, np.ndarray):
            run = [("witness", message)]
        start = find(absorbed, run, start)
    assert len(sent) >= 20


def sumcheck_messages(sumcheck) -> list:
    """Each round's pair, then its witness where there is one, as a plain int."""
    messages = []
    for i, pair in enumerate(sumcheck.round_polynomials):
        messages.append(pair)
        messages += [int(word) for word in sumcheck.pow_witnesses[i : i + 1]]
    return messages


def find(absorbed: list, run: list, start: int) -> int:
    """The position behind the first `run` at or after `start`; fails where there is none."""
    for at in range(start, len(absorbed) - len(run) + 1):
        if absorbed[at : at + len(run)] == run:
            return at + len(run)
    raise AssertionError(f"not absorbed after element {start}: {run[:8]}")


@pytest.mark.parametrize("layout", ["suffix", "prefix"])
def test_another_value_in_the_data_moves_every_draw(layout):
    # One entry changed by one: the commitment differs, and with it the first challenge and everything after it.
    args = {**FULL_ARGS, "tables": [[7, 2]], "layout": layout}
    arguments, tables = arguments_of(args), tables_of(args)
    draws = []
    for change in (0, 1):
        tables[0][1, 77] = (int(tables[0][1, 77]) + change) % P
        transcript = Transcript(host_device(), trace=[])
        data = commit(args, arguments, transcript=transcript, tables=tables)
        open_proof(data, arguments["schedule"], transcript=transcript)
        draws.append([step[1] for step in transcript.steps() if step[0] == "sample"])
    assert len(draws[0]) == len(draws[1]) >= 40
    assert all(first != second for first, second in zip(*draws, strict=True))


# ---- order of evaluations, points, domains (leanVM PR 219) -----------------------------------------------------------


@pytest.mark.parametrize("name", ["host", "numpy"])
def test_orders_of_points_tables_and_transforms(name):
    device = host_device() if name == "host" else get_device("numpy")

    def ext(*values):
        return device.asarray(words([[value, 0, 0, 0] for value in values]))

    # A challenge 3 stands for the point (81, 9, 3).
    of_challenge, of_point = eq_tables(device, ext(3)[0], lengths=(3,))[0], eq_table(device, ext(81, 9, 3))
    assert ints(device.numpy(of_challenge)) == ints(device.numpy(of_point))
    # Evaluations 1..8 at (2, 3, 5): the first coordinate belongs to the highest bit of the index.
    table = eq_table(device, ext(2, 3, 5))
    assert ints(device.numpy(dot(device, ext(*range(1, 9)), table))) == [20, 0, 0, 0]
    column = device.asarray(words([[1], [2], [3], [4]]))
    assert ints(device.numpy(ntt(device, column, log_rows=2))) == [[10], [569722814], [2013265919], [1443543103]]


@pytest.mark.parametrize("layout", ["suffix", "prefix"])
def test_a_proof_of_one_order_is_not_one_of_the_other(layout):
    case = prove_here({"tables": [[6, 2], [4, 1]], "layout": layout})
    other = arguments_of({**case.args, "layout": {"suffix": "prefix", "prefix": "suffix"}[layout]})
    with pytest.raises(VerificationError):
        verify_here(other, case.commitment, case.proof)


def test_values_are_those_of_the_callers_statement():
    # provekit PR 361, zisk PR 1303: what is opened, and how often, is the caller's to say.
    two = prove_here({"tables": [[6, 2]], "points": 2})
    one = arguments_of({**two.args, "points": 1})
    with pytest.raises(VerificationError) as caught:
        verify_here(one, two.commitment, two.proof)
    assert caught.value.check == "OpeningBatchCountMismatch"
    column = arguments_of({**two.args, "schedule": [[{"current": [0]}, {"current": [0, 1]}]]})
    with pytest.raises(VerificationError) as caught:
        verify_here(column, two.commitment, two.proof)
    assert caught.value.check == "OpeningBatchSizeMismatch"


# ---- python -O -------------------------------------------------------------------------------------------------------


def test_prover_and_its_refusals_survive_optimisation():
    # `python -O` drops asserts: none may carry a check, nor work that the proof needs.
    script = """
import numpy as np
from tests.helpers import load_proof
from tests.proving import FULL_ARGS, arguments_of, commit, tables_of, verify_here
from whir_mlx.protocol.prover import open_proof, read_commitment
from whir_mlx.protocol.statement import OpeningBatch, Schedule
if __debug__:
    raise SystemExit("asserts are on")
case = load_proof("prefix_tables")
data = commit(case.args, case.arguments)
same = read_commitment(data) == case.commitment and open_proof(data, case.arguments["schedule"]) == case.proof
args = {**FULL_ARGS, "tables": [[5, 2]]}
arguments, tables = arguments_of(args), tables_of(args)
data = commit(args, arguments)
point = np.zeros((5, 4), np.uint32)
refused = 0
for call in (
    lambda: commit(args, arguments, tables=tables * 2),
    lambda: commit(args, arguments, tables=[tables[0][:, :8]]),
    lambda: open_proof(data, Schedule(((OpeningBatch((2,)),),))),
    lambda: open_proof(data, Schedule(())),
    lambda: open_proof(data, arguments["schedule"], points=[]),
    lambda: open_proof(data, arguments["schedule"], points=[point[1:]]),
    lambda: open_proof(data, arguments["schedule"], points=[point + 2013265921]),
):
    try:
        call()
    except (ValueError, IndexError):
        refused += 1
print(same, refused)
"""
    done = subprocess.run([sys.executable, "-O", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "7"]
