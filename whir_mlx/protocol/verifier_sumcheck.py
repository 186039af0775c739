"""Replay of one sumcheck.

Source: p3-sumcheck 0.8.0 (`data.rs`, `lagrange.rs`, `transcript.rs`).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.protocol.multilinear import ONE, add, mul, sub
from whir_mlx.protocol.proof import SumcheckProof
from whir_mlx.protocol.replay import Replay
from whir_mlx.protocol.verifier_words import MontgomeryWords

__all__ = ["reduce_claim", "replay_sumcheck"]


def replay_sumcheck(
    replay: Replay,
    sumcheck: SumcheckProof,
    words: MontgomeryWords,
    *,
    seed: np.ndarray,
    rounds: int,
    pow_bits: int,
    where: str,
) -> list[slice]:
    """The places of the challenges of a sumcheck over `rounds` variables, in draw order; `seed`: Montgomery words.

    Raises `VerificationError`: ``Sumcheck(RoundCountMismatch)``, ``Sumcheck(PowWitnessCountMismatch)``; leaves
    ``Sumcheck(InvalidPowWitness)`` to `replay`.
    """
    got = len(sumcheck.round_polynomials)
    if got != rounds:
        raise VerificationError("Sumcheck(RoundCountMismatch)", where=where, expected=rounds, got=got)
    witnesses = rounds if pow_bits > 0 else 0
    got = len(sumcheck.pow_witnesses)
    if got != witnesses:
        raise VerificationError("Sumcheck(PowWitnessCountMismatch)", where=where, expected=witnesses, got=got)
    if rounds == 0:
        return []
    replay.observe(seed)

    def invalid(number: int) -> VerificationError:
        return VerificationError(
            "Sumcheck(InvalidPowWitness)",
            where=f"{where}, sumcheck round {number}",
            expected=f"{pow_bits} bits of grinding",
            got=f"witness {sumcheck.pow_witnesses[number]}",
        )

    messages = words.of(sumcheck.round_polynomials).reshape(rounds, -1)
    return replay.sample_rounds(messages, pow_bits, words.of(sumcheck.pow_witnesses), invalid)


def reduce_claim(claim: tuple, sumcheck: SumcheckProof, challenges: list[tuple]) -> tuple:
    """The claim, a sum over 2^rounds points, as a claim at the drawn point; all scalars.

    Nothing can fail here: the reduced claim is only as good as the check that the caller makes of it at last.
    """
    for (at_zero, leading), r in zip(sumcheck.round_polynomials.tolist(), challenges):
        # The quadratic with h(0) = at_zero, h(0) + h(1) = claim: h(r) = h(0)(1 - r) + h(1) r + leading r (r - 1).
        slope = sub(sub(claim, at_zero), at_zero)
        claim = add(at_zero, mul(r, add(slope, mul(leading, sub(r, ONE)))))
    return claim
