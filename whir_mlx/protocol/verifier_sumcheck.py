"""Replay of one sumcheck.

Source: p3-sumcheck 0.8.0 (`data.rs`, `lagrange.rs`, `transcript.rs`).
"""

from __future__ import annotations

from whir_mlx.errors import VerificationError
from whir_mlx.protocol.multilinear import ONE, add, mul, scalar, sub
from whir_mlx.protocol.proof import SumcheckProof
from whir_mlx.protocol.seeds import sumcheck_seed
from whir_mlx.protocol.transcript import Transcript

__all__ = ["verify_sumcheck"]


def verify_sumcheck(
    transcript: Transcript,
    claim: tuple,
    sumcheck: SumcheckProof,
    words: SumcheckProof,
    *,
    rounds: int,
    pow_bits: int,
    where: str,
) -> tuple[tuple, list[tuple]]:
    """Reduces `claim`, the sum over 2^rounds points, to a claim at the drawn point.

    `claim`: a scalar of `multilinear`. `sumcheck`: canonical; `words`: the same in Montgomery form. Returns the new
    claim and the `rounds` challenges in draw order, all scalars. Nothing can fail for the values sent: the reduced
    claim is only as good as the check that the caller makes of it at last.

    Raises `VerificationError`: ``Sumcheck(RoundCountMismatch)``, ``Sumcheck(PowWitnessCountMismatch)``,
    ``Sumcheck(InvalidPowWitness)``.
    """
    got = len(sumcheck.round_polynomials)
    if got != rounds:
        raise VerificationError("Sumcheck(RoundCountMismatch)", where=where, expected=rounds, got=got)
    witnesses = rounds if pow_bits > 0 else 0
    got = len(sumcheck.pow_witnesses)
    if got != witnesses:
        raise VerificationError("Sumcheck(PowWitnessCountMismatch)", where=where, expected=witnesses, got=got)
    if rounds == 0:
        return claim, []
    transcript.observe_seed(sumcheck_seed(rounds, pow_bits))
    challenges = []
    for i in range(rounds):
        transcript.observe(words.round_polynomials[i])
        witness = int(sumcheck.pow_witnesses[i]) if pow_bits > 0 else 0
        valid, r = transcript.check_pow_and_sample(pow_bits, witness)
        if not valid:
            raise VerificationError(
                "Sumcheck(InvalidPowWitness)",
                where=f"{where}, sumcheck round {i}",
                expected=f"{pow_bits} bits of grinding",
                got=f"witness {witness}",
            )
        at_zero, leading = map(scalar, sumcheck.round_polynomials[i])
        claim = _reduced(claim, at_zero, leading, r)
        challenges.append(r)
    return claim, challenges


def _reduced(claim: tuple, at_zero: tuple, leading: tuple, r: tuple) -> tuple:
    """h(r) of the quadratic with h(0) = at_zero, h(0) + h(1) = claim and the given leading coefficient.

    h(r) = h(0)(1 - r) + h(1) r + leading r (r - 1).
    """
    slope = sub(sub(claim, at_zero), at_zero)
    return add(at_zero, mul(r, add(slope, mul(leading, sub(r, ONE)))))
