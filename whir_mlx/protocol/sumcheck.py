"""The prover's side of the quadratic sumcheck: rounds over the sum of f * w.

Source: p3-sumcheck 0.8.0 (`strategy.rs`, `data.rs`, `transcript.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.sumcheck_fold import sumcheck_fold
from whir_mlx.kernels.sumcheck_fold_round import sumcheck_fold_round
from whir_mlx.kernels.sumcheck_round import sumcheck_round_shares
from whir_mlx.protocol.seeds import sumcheck_seed
from whir_mlx.protocol.transcript import Transcript

__all__ = ["SumcheckRun", "run_sumcheck"]


@dataclass
class SumcheckRun:
    """What a sumcheck phase sent, on the device, per round: messages of 8 words, (2, 4), and (4,) challenges; and how
    many grinds it took."""

    round_polynomials: list = field(default_factory=list)
    grinds: int = 0
    challenges: list = field(default_factory=list)


def run_sumcheck(
    device: Device, transcript: Transcript, f, w, *, rounds: int, pow_bits: int, order: str, log_block: int
):
    """Binds `rounds` variables of f and w, (N, 4) Montgomery words.

    order: "suffix" binds the last variable first, "prefix" the first one of each block of 2^log_block values.
    Returns (f, w, SumcheckRun). A phase of 0 rounds absorbs no seed.
    """
    run = SumcheckRun()
    if not rounds:
        return f, w, run
    transcript.observe_seed(sumcheck_seed(rounds, pow_bits))
    strides = [0 if order == "suffix" else log_block - 1 - number for number in range(rounds)]
    shares = sumcheck_round_shares(device, f, w, log_stride=strides[0])
    for number, log_stride in enumerate(strides):
        message = transcript.observe_shares(shares)
        if pow_bits:
            transcript.grind(pow_bits)
            run.grinds += 1
        r = transcript.sample_ext()
        run.round_polynomials.append(message.words)
        run.challenges.append(r)
        if number + 1 < rounds:
            f, w, shares = sumcheck_fold_round(
                device, f, w, r, log_stride=log_stride, next_log_stride=strides[number + 1]
            )
        else:
            f, w = sumcheck_fold(device, f, w, r, log_stride=log_stride)
    return f, w, run
