"""What a configuration is worth: every error term of the opening, their minimum and their union.

Source of the terms: p3-whir 0.8.0 `pcs/security.rs` (`prescribed_security`) over p3-security 0.8.0 `whir/mod.rs`.
The target of a configuration holds for each term by itself; an attacker may try all of them, so what the protocol
as a whole is worth is the union bound, a few bits less.

Two things differ from the crate on purpose. The field is credited with log2(p^4) = 123.63 bits (the crate's report
takes 123, its derivation 124, which is why a term may read up to 0.37 bits below the target). And the crate's extra bit
of reserve on Johnson proximity gaps, which its own comment calls superfluous, is left out.

Not in the report: the hash (a digest of 8 elements resists collisions to about 2^123.6 work) and the loss of the
Fiat-Shamir transform beyond one query a challenge, which is the reader's to choose.
"""

import math
from dataclasses import dataclass

from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.protocol import security_bounds as bounds
from whir_mlx.protocol.folding import index_in_range
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.protocol.security_config import WhirConfig

__all__ = ["EXT_FIELD_BITS", "SecurityReport", "SecurityTerm", "security_report"]

EXT_FIELD_BITS = EXT_DEGREE * math.log2(P)
"""log2 of the size of the extension field: 123.628."""


@dataclass(frozen=True)
class SecurityTerm:
    """One kind of error in one phase.

    phase: "commitment", "initial", "round 0", ..., "final". error: what can go wrong. bits: -log2 of the probability of
    *one* occurrence, `pow_bits` of grinding included. count: occurrences (one a fold, for folding terms).
    """

    phase: str
    error: str
    bits: float
    pow_bits: int
    count: int = 1

    @property
    def total_bits(self) -> float:
        """-log2 of the union over the `count` occurrences."""
        return self.bits - math.log2(self.count)


@dataclass(frozen=True)
class SecurityReport:
    """The terms of a configuration and a number of claims, and what they come to.

    security_level: the target that each term was derived for. conjectured: the bits rest on a refuted conjecture
    (capacity). min_bits: the weakest term. union_bits: -log2 of the sum of all error probabilities.
    """

    security_level: int
    soundness: Soundness
    num_claims: int
    conjectured: bool
    terms: tuple[SecurityTerm, ...]
    min_bits: float
    union_bits: float

    @property
    def bits(self) -> float:
        """The headline: the union bound, never above the weakest term and never below 0."""
        return max(0.0, self.union_bits)

    @property
    def weakest(self) -> SecurityTerm:
        """The term that `min_bits` comes from."""
        return min(self.terms, key=lambda term: term.bits)

    @property
    def short_by(self) -> float:
        """Bits by which the headline misses the target; 0 if it does not."""
        return max(0.0, self.security_level - self.bits)


def security_report(config: WhirConfig, num_claims: int = 1) -> SecurityReport:
    """The report for opening `num_claims` columns (current and next, all batches; out-of-domain claims not counted).

    Does not refuse a number of claims that misses the target (`WhirConfig.check_claims` does): it shows it.
    Raises TypeError or ValueError for a bad `num_claims`.
    """
    num_claims = index_in_range("num_claims", num_claims, high=2**63)
    terms = tuple(term for term in _terms(config, num_claims) if term.bits != math.inf)
    return SecurityReport(
        security_level=config.security_level,
        soundness=config.soundness,
        num_claims=num_claims,
        conjectured=config.soundness is Soundness.CAPACITY,
        terms=terms,
        min_bits=min(term.bits for term in terms),
        union_bits=_union([term.total_bits for term in terms]),
    )


def _terms(config: WhirConfig, num_claims: int) -> list[SecurityTerm]:
    """In transcript order."""
    soundness, n, rate = config.soundness, config.num_variables, config.log_inv_rate
    total_claims = num_claims + config.commitment_ood_samples
    batching = bounds.initial_claims_bits(soundness, n, rate, total_claims, EXT_FIELD_BITS)
    terms = [
        *_ood_terms("commitment", soundness, n, rate, config.commitment_ood_samples),
        SecurityTerm("initial", "claim batching", batching, 0),
        *_fold_terms("initial", soundness, n, rate, config.starting_folding_pow_bits, config.folding_schedule[0]),
    ]
    for i, record in enumerate(config.rounds):
        phase, pow_bits = f"round {i}", record.pow_bits
        new_rate, num_variables = record.log_inv_rate, record.num_variables
        # The grind stands in front of the indices and, with nothing but them in between, of the combination challenge.
        num_terms = record.ood_samples + record.num_queries
        combination = bounds.queries_combination_bits(soundness, num_variables, new_rate, num_terms, EXT_FIELD_BITS)
        queries = bounds.queries_bits(soundness, rate, record.num_queries)
        terms += [
            *_ood_terms(phase, soundness, num_variables, new_rate, record.ood_samples),
            SecurityTerm(phase, "queries", queries + pow_bits, pow_bits),
            SecurityTerm(phase, "combination", combination + pow_bits, pow_bits),
            *_fold_terms(
                phase, soundness, num_variables, new_rate, record.folding_pow_bits, record.next_folding_factor
            ),
        ]
        rate = new_rate
    queries = bounds.queries_bits(soundness, rate, config.final_queries)
    terms.append(SecurityTerm("final", "queries", queries + config.final_pow_bits, config.final_pow_bits))
    if config.final_sumcheck_rounds:
        # The polynomial is known by now: no list, only the two roots of a quadratic.
        pow_bits = config.final_folding_pow_bits
        sumcheck = EXT_FIELD_BITS - 1.0 + pow_bits
        terms.append(SecurityTerm("final", "sumcheck", sumcheck, pow_bits, config.final_sumcheck_rounds))
    return terms


def _ood_terms(
    phase: str, soundness: Soundness, num_variables: int, log_inv_rate: int, samples: int
) -> list[SecurityTerm]:
    if soundness is Soundness.UNIQUE:
        return []
    bits = bounds.ood_bits(soundness, num_variables, log_inv_rate, samples, EXT_FIELD_BITS)
    return [SecurityTerm(phase, "out-of-domain samples", bits, 0)]


def _fold_terms(
    phase: str, soundness: Soundness, num_variables: int, log_inv_rate: int, pow_bits: int, folds: int
) -> list[SecurityTerm]:
    """Both errors of each of the phase's folds, all charged at the phase's first (largest) size."""
    gap = bounds.proximity_gap_bits(soundness, num_variables, log_inv_rate, EXT_FIELD_BITS)
    sumcheck = bounds.fold_sumcheck_bits(soundness, num_variables, log_inv_rate, EXT_FIELD_BITS)
    return [
        SecurityTerm(phase, "folding proximity gap", gap + pow_bits, pow_bits, folds),
        SecurityTerm(phase, "folding sumcheck", sumcheck + pow_bits, pow_bits, folds),
    ]


def _union(bits: list[float]) -> float:
    """-log2 of the sum of 2^-b, scaled by the largest summand so that nothing underflows."""
    lowest = min(bits)
    return lowest - math.log2(math.fsum(2.0 ** (lowest - b) for b in bits))
