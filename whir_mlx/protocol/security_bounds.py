"""The soundness regimes and the error bounds of Reed-Solomon proximity testing, in bits (-log2 of a probability).

Everything is double precision, evaluated in the order in which p3-security 0.8.0 (`assumption.rs`, `proximity.rs`,
`whir/mod.rs`) evaluates it: query and grinding counts are ceilings of these numbers, and part of the transcript.

Throughout: `num_variables` is log2 of the code's dimension, `log_inv_rate` minus log2 of its rate, `field_bits`
log2 of the size of the field that challenges come from.
"""

import enum
import math

__all__ = [
    "EXT_FIELD_BITS_CEIL",
    "Soundness",
    "fold_sumcheck_bits",
    "folding_pow_gap",
    "initial_claims_bits",
    "list_size_log2",
    "ood_bits",
    "ood_samples_needed",
    "proximity_gap_bits",
    "queries_bits",
    "queries_combination_bits",
    "queries_needed",
]

EXT_FIELD_BITS_CEIL = 124
"""Bit length of p^4: what the derivation credits the field with. The claims check and the report use less."""

_LOG2_10 = 3.32192809488736234787
_LOG2_21_20 = math.log2(21.0 / 20.0)
_JOHNSON_M = 10.0
"""The crate computes ceil(2^(-r/2 - 1 - log2 eta)), a power that lands two ulps below 10 for every rate 0..63.

A constant here, since a libm whose pow lands above 10 would give 11.
"""


class Soundness(str, enum.Enum):  # not StrEnum: Python 3.10
    """The regime whose proximity and list-size bounds are used (p3-security 0.8.0 `SecurityAssumption`).

    `unique` and `johnson` are proven. `capacity` is a conjecture that has been refuted near capacity
    (eprint 2025/2046). The crate's names (`UniqueDecoding`, `JohnsonBound`, `CapacityBound`) are read too.
    """

    UNIQUE = "unique"
    JOHNSON = "johnson"
    CAPACITY = "capacity"

    @property
    def label(self) -> int:
        """The byte of the transcript label: Unique 0, Johnson 1, Capacity 2."""
        return list(Soundness).index(self)

    @property
    def plonky3_name(self) -> str:
        """The crate's name of the regime."""
        return _PLONKY3_NAMES[self]

    @classmethod
    def _missing_(cls, value: object) -> "Soundness":
        for member, name in _PLONKY3_NAMES.items():
            if value == name:
                return member
        raise ValueError(f"soundness must be one of {', '.join(member.value for member in cls)}, got {value!r}")

    def __str__(self) -> str:
        return self.value


_PLONKY3_NAMES = {
    Soundness.UNIQUE: "UniqueDecoding",
    Soundness.JOHNSON: "JohnsonBound",
    Soundness.CAPACITY: "CapacityBound",
}


def _log_eta(soundness: Soundness, log_inv_rate: int) -> float:
    """log2 of the gap eta below the regime's radius: sqrt(rate)/20 or rate/20; none for unique decoding."""
    exponent = 0.5 * log_inv_rate if soundness is Soundness.JOHNSON else float(log_inv_rate)
    return -(exponent + _LOG2_10 + 1.0)


def list_size_log2(soundness: Soundness, num_variables: int, log_inv_rate: int) -> float:
    """log2 of the number of codewords within the regime's radius of any word."""
    if soundness is Soundness.UNIQUE:
        return 0.0
    if soundness is Soundness.JOHNSON:
        return log_inv_rate / 2.0 - (1.0 + _log_eta(soundness, log_inv_rate))
    return float(num_variables + log_inv_rate) - _log_eta(soundness, log_inv_rate)


def _log2_one_minus_delta(soundness: Soundness, log_inv_rate: int) -> float:
    """log2 of the chance that one query misses a word at the regime's distance."""
    if soundness is Soundness.UNIQUE:
        return math.log2(1.0 + 2.0**-log_inv_rate) - 1.0
    if soundness is Soundness.JOHNSON:
        return _LOG2_21_20 - 0.5 * log_inv_rate
    return _LOG2_21_20 - log_inv_rate


def queries_needed(soundness: Soundness, bits: int, log_inv_rate: int) -> int:
    """The number of queries that reach `bits` bits at rate 2^-log_inv_rate, log_inv_rate >= 1."""
    return max(0, math.ceil(-float(bits) / _log2_one_minus_delta(soundness, log_inv_rate)))


def queries_bits(soundness: Soundness, log_inv_rate: int, num_queries: int) -> float:
    """Error of `num_queries` queries, before grinding."""
    return -float(num_queries) * _log2_one_minus_delta(soundness, log_inv_rate)


def proximity_gap_bits(soundness: Soundness, num_variables: int, log_inv_rate: int, field_bits: float) -> float:
    """Error of one fold of two words: the chance that a far pair folds to a near word.

    Johnson: the line count 8 n (m + 1/2)^3 / (3 rho) at m = 10 (p3-security 0.8.0 `proximity.rs`, after DKT26 5.12).
    """
    if soundness is Soundness.UNIQUE:
        return field_bits - float(num_variables + log_inv_rate)
    if soundness is Soundness.CAPACITY:
        return field_bits - (float(num_variables + 2 * log_inv_rate) - _log_eta(soundness, log_inv_rate))
    rate = float(log_inv_rate)
    if num_variables == 0:
        return field_bits - (rate + (rate + math.log2(1.0 - 2.0**-rate)) - 1.0)
    log_length = float(num_variables) + rate
    log_rho_minus = math.log2(1.0 - 2.0**-num_variables) - rate
    return field_bits - (3.0 + log_length + 3.0 * math.log2(_JOHNSON_M + 0.5) - math.log2(3.0) - log_rho_minus)


def fold_sumcheck_bits(soundness: Soundness, num_variables: int, log_inv_rate: int, field_bits: float) -> float:
    """Error of one quadratic sumcheck round over the list."""
    return field_bits - (list_size_log2(soundness, num_variables, log_inv_rate) + 1.0)


def folding_pow_gap(soundness: Soundness, security_level: int, num_variables: int, log_inv_rate: int) -> float:
    """Bits that grinding must add to each fold; 0 where algebra alone suffices."""
    gap = proximity_gap_bits(soundness, num_variables, log_inv_rate, float(EXT_FIELD_BITS_CEIL))
    sumcheck = fold_sumcheck_bits(soundness, num_variables, log_inv_rate, float(EXT_FIELD_BITS_CEIL))
    return max(0.0, float(security_level) - min(gap, sumcheck))


def ood_bits(soundness: Soundness, num_variables: int, log_inv_rate: int, num_samples: int, field_bits: float) -> float:
    """Error of `num_samples` out-of-domain samples: that two codewords of the list agree on all of them.

    Not for unique decoding, whose list holds one codeword.
    """
    list_size = list_size_log2(soundness, num_variables, log_inv_rate)
    return num_samples * field_bits + 1.0 - (2.0 * list_size + float(num_variables * num_samples))


def ood_samples_needed(
    soundness: Soundness, security_level: int, num_variables: int, log_inv_rate: int
) -> "int | None":
    """The smallest number of out-of-domain samples that reaches the level; None where 63 do not."""
    if soundness is Soundness.UNIQUE:
        return 0
    for num_samples in range(1, 64):
        field_bits = float(EXT_FIELD_BITS_CEIL)
        if ood_bits(soundness, num_variables, log_inv_rate, num_samples, field_bits) >= security_level:
            return num_samples
    return None


def queries_combination_bits(
    soundness: Soundness, num_variables: int, log_inv_rate: int, num_terms: int, field_bits: float
) -> float:
    """Error of combining a round's `num_terms` out-of-domain and query constraints by powers of one challenge."""
    if num_terms == 0:
        return math.inf
    return field_bits - (math.log2(num_terms) + list_size_log2(soundness, num_variables, log_inv_rate) + 1.0)


def initial_claims_bits(
    soundness: Soundness, num_variables: int, log_inv_rate: int, num_claims: int, field_bits: float
) -> float:
    """Error of combining `num_claims` claims (openings and out-of-domain) by powers of one challenge; no grinding."""
    if num_claims <= 1:
        return math.inf
    return field_bits - math.log2(num_claims - 1) - list_size_log2(soundness, num_variables, log_inv_rate)
