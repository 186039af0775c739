"""Faults that others reported in public, ruled out here: each test names the report and holds the right value.

Reports on parameters, files, the verifier's checks and single kernels are tested beside those; here are the ones on the
prover, on what it absorbs, and on running it many times.
"""

import copy
import resource
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import host_device
from tests.kernels.words import ints, words
from tests.oracle.splitmix import stream
from tests.proving import FULL_ARGS, arguments_of, commit, prove_here, tables_of, verify_here
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.dot import dot
from whir_mlx.kernels.eq_table import eq_table
from whir_mlx.kernels.expand_point import expand_point
from whir_mlx.kernels.ntt import ntt
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.prover import open_proof, read_commitment
from whir_mlx.protocol.transcript import Transcript

ROOT = Path(__file__).parents[1]

# Both layouts, a leaf layer of 2^13 rows (long enough for several threads of the CPU target), two arities.
REPEATED = {
    "suffix": {"tables": [[14, 1]], "fold": 2, "security": 40, "pow": 8},
    "prefix, arity 4": {"tables": [[12, 3]], "fold": 2, "layout": "prefix", "tree": "ary4", "security": 40, "pow": 8},
}


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
    # whir-p3 issue 240: 106 bits need a grind before each challenge of the initial sumcheck and of the round's.
    case = prove_here({"tables": [[8, 1]], "fold": 2, "folds": [2, 3], "security": 106, "pow": 10, "rate": 2})
    config, whir = case.arguments["config"], case.proof.whir
    assert config.starting_folding_pow_bits > 0 and config.rounds == ()
    assert len(whir.initial_sumcheck.pow_witnesses) == len(whir.initial_sumcheck.round_polynomials) == 2
