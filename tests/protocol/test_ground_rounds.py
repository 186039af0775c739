"""Sumcheck rounds with grinding by a GPU's launches, which draw their challenges as they fold: the numbers, traces and
grinds of the host's, which are checked against the crates and the oracle."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers import host_device
from tests.kernels.cuda_emulator import EmulatedCuda
from tests.kernels.words import words
from tests.proving import prove_here
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.kernels.targets.cpu_check import get_check_device
from whir_mlx.protocol.sumcheck import run_sumcheck
from whir_mlx.protocol.transcript import Transcript

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")

# 3 bits are sixteen lanes' on the emulated GPU and the check build, 5 threads'.
BITS = (3, 5)


def device_of(name: str, few: int):
    """A device whose rounds of `few` values and fewer draw their challenges as they fold."""
    device = EmulatedCuda() if name == "cuda" else checked() if name == "check" else copy(get_device(name))
    device.tuning = replace(device.tuning, draw_values=few)
    return device


def checked():
    return copy(get_check_device(seed=3, round_up=True, tuning="cuda"))


def ground_phase(device, order: str, bits: int, outcomes: bool) -> list:
    """All that a phase of five rounds on 160 values, with a draw before and after, leaves behind: as lists."""
    f, w = (device.asarray(np.random.default_rng(seed).integers(0, 2**30, (160, 4), np.uint32)) for seed in (1, 2))
    transcript = Transcript(device, trace=[])
    transcript.observe(words([4, 5]))
    transcript.sample(1)
    if outcomes:
        transcript.keep_grinds()
    f, w, run = run_sumcheck(device, transcript, f, w, rounds=5, pow_bits=bits, order=order, log_block=5)
    after = transcript.sample(3)
    kept = transcript.take_grinds() if outcomes else []
    made = [f, w, *(x[:8] for x in run.messages), *run.point, after, *(outcome for _, outcome in kept)]
    read = [device.numpy(x).reshape(-1).tolist() for x in made]
    return [read, transcript.steps(), run.rounds, run.grinds, [bits for bits, _ in kept]]


# From the first round on, from the third on (40 values), and in no round; threads on the check build take half a minute
# to grind.
@pytest.mark.parametrize("few", [160, 79, 9])
@pytest.mark.parametrize("order", ["suffix", "prefix"])
@pytest.mark.parametrize("name", ["numpy", *(pytest.param(x, marks=needs_compiler) for x in ("cuda", "check"))])
def test_a_ground_phase(name, order, few):
    for bits in BITS if name != "check" else BITS[: few == 79]:
        outcomes = bits == BITS[0] or few == 79
        expected = ground_phase(host_device(), order, bits, outcomes)
        assert expected[2:] == [[1] * 5, 5, [bits] * 5 * outcomes]
        assert ground_phase(device_of(name, few), order, bits, outcomes) == expected


@needs_compiler
@pytest.mark.parametrize("layout, tables", [("suffix", [[12, 1]]), ("prefix", [[11, 1], [9, 3]])])
def test_whole_proofs(layout, tables):
    """With grinding in the first phase and in a round's: with few values in all, and in the last rounds alone."""
    args = {"tables": tables, "layout": layout, "fold": 4, "security": 100, "pow": 6}
    case = prove_here(args)
    config = case.arguments["config"]
    assert config.starting_folding_pow_bits > 0 and config.rounds[0].folding_pow_bits > 3
    assert config.rounds[0].folding_pow_bits != config.starting_folding_pow_bits
    for few in (1 << 16, 40):
        device = device_of("cpu", few)
        launched, launch = [], device.launch
        device.launch = lambda name, *rest, launched=launched, launch=launch, **more: (
            launched.append(name) or launch(name, *rest, **more)
        )
        assert prove_here(args, device).proof == case.proof
        assert launched.count("sumcheck_draw_fold") == 8 if few > 40 else 0 < launched.count("sumcheck_draw_fold") < 8


@needs_compiler
def test_a_whole_proof_of_a_gpu():
    """The rounds' grinds by sixteen lanes, 3 bits, and those before queries by threads, 6 bits."""
    args = {"tables": [[8, 1]], "fold": 1, "security": 106, "pow": 6}
    device = device_of("cuda", 1 << 16)
    assert prove_here(args, device).proof == prove_here(args).proof
