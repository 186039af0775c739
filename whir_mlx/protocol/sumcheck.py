"""The prover's side of the quadratic sumcheck: rounds over the sum of f * w.

Source: p3-sumcheck 0.8.0 (`strategy.rs`, `data.rs`, `transcript.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.sumcheck_draw_fold import sumcheck_draw_fold
from whir_mlx.kernels.sumcheck_fold import sumcheck_fold
from whir_mlx.kernels.sumcheck_fold_round import sumcheck_fold_round
from whir_mlx.kernels.sumcheck_rest import sumcheck_phase, sumcheck_rest
from whir_mlx.kernels.sumcheck_round import sumcheck_round_shares
from whir_mlx.protocol.seeds import sumcheck_seed
from whir_mlx.protocol.transcript import Transcript

__all__ = ["SumcheckRun", "run_sumcheck"]


@dataclass
class SumcheckRun:
    """What a sumcheck phase sent, on the device.

    messages: arrays whose first words are messages of 8 words, (2, 4), of as many rounds as `rounds` says for each;
    grinds: how many it took; point: arrays (4,) or (m, 4), joined the challenges in the order of the variables bound.
    """

    messages: list = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    grinds: int = 0
    point: list = field(default_factory=list)


def run_sumcheck(
    device: Device, transcript: Transcript, f, w, *, rounds: int, pow_bits: int, order: str, log_block: int
):
    """Binds `rounds` variables of f and w, (N, 4) Montgomery words.

    order: "suffix" binds the last variable first, "prefix" the first one of each block of 2^log_block values.
    Returns (f, w, SumcheckRun). A phase of 0 rounds absorbs no seed. Where few values are left, the rounds left are one
    launch if nothing is ground, and else a round's challenge and fold are.
    """
    run, prefix = SumcheckRun(), order == "prefix"
    if not rounds:
        return f, w, run
    transcript.observe_seed(sumcheck_seed(rounds, pow_bits))
    strides = [log_block - 1 - number if prefix else 0 for number in range(rounds)]
    few = 0 if pow_bits else device.tuning.rest_values
    waiting = transcript.waiting() if f.shape[0] <= few else None
    if waiting is not None:
        made = sumcheck_phase(device, *waiting, f, w, rounds=rounds, log_stride=strides[0], falling=prefix)
        return *_taken_over(transcript, run, prefix, made), run
    shares = sumcheck_round_shares(device, f, w, log_stride=strides[0])
    for number, log_stride in enumerate(strides):
        message = transcript.observe_shares(shares)
        if pow_bits:
            transcript.grind(pow_bits)
            run.grinds += 1
        left = rounds - number - 1
        following = strides[number + 1] if left else None
        run.rounds.append(1)
        if pow_bits and f.shape[0] <= device.tuning.draw_values:
            find, strided = transcript.ground(), {"log_stride": log_stride, "next_log_stride": following}
            state, outcome, r, f, w, shares = sumcheck_draw_fold(device, *find, f, w, **strided)
            transcript.resume(state, [("sample", r)], outcome)
            run.messages.append(message.words)
            run.point.append(r)
            continue
        r = transcript.sample_ext()
        run.messages.append(message.words)
        if left and f.shape[0] <= few:
            state = transcript.state()
            made = sumcheck_rest(device, state, f, w, r, rounds=left, log_stride=log_stride, falling=prefix)
            f, w = _taken_over(transcript, run, prefix, made)
            break
        run.point.append(r)
        if left:
            f, w, shares = sumcheck_fold_round(device, f, w, r, log_stride=log_stride, next_log_stride=following)
        else:
            f, w = sumcheck_fold(device, f, w, r, log_stride=log_stride)
    if not prefix:
        run.point.reverse()
    return f, w, run


def _taken_over(transcript: Transcript, run: SumcheckRun, prefix: bool, made: tuple):
    """f and w of what `sumcheck_phase` or `sumcheck_rest` made; the rest of it goes to the transcript and the run."""
    state, sent, bound, f, w = made
    rounds = (sent.shape[0] - state.shape[0]) // 8
    first = bound.shape[0] - rounds  # one challenge was drawn before, or none
    rows = range(first, first + rounds) if prefix else range(rounds - 1, -1, -1)
    steps = (("observe", sent[8 * k : 8 * k + 8], "sample", bound[row]) for k, row in enumerate(rows))
    transcript.resume(state, (step[at : at + 2] for step in steps for at in (0, 2)))
    run.messages.append(sent)
    run.rounds.append(rounds)
    run.point.append(bound)
    return f, w
