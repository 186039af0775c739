"""The derivation of a WHIR configuration from a few choices. `security_config` documents every number of the result.

Source: p3-whir 0.8.0 `parameters/whir.rs` (`WhirConfig::new_with_max_domain_log`, checks in the same order).
"""

import math
import warnings
from collections.abc import Sequence

from whir_mlx.errors import ParameterError
from whir_mlx.field.constants import TWO_ADICITY
from whir_mlx.protocol import security_bounds as bounds
from whir_mlx.protocol.folding import FoldingRule, PerRound, folding_rule, index_in_range, indices_in_range
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.protocol.security_config import RoundConfig, WhirConfig
from whir_mlx.protocol.security_suggestions import Choice, budget_refusal

__all__ = [
    "MAX_POW_BITS",
    "ConjecturedSoundnessWarning",
    "RoundConfig",
    "Soundness",
    "WhirConfig",
    "derive_config",
]

MAX_POW_BITS = 30
"""A grind of b bits compares b bits of one field element, so 2^b must stay below p."""

_USIZE_BITS = 64


class ConjecturedSoundnessWarning(UserWarning):
    """The chosen soundness regime rests on a conjecture that has been refuted near capacity."""


def derive_config(
    num_variables: int,
    *,
    folding_factor: "int | Sequence[int] | FoldingRule" = 4,
    log_inv_rate: int = 1,
    round_log_inv_rates: "Sequence[int] | None" = None,
    security_level: int = 100,
    pow_bits: int = 20,
    soundness: "str | Soundness" = "johnson",
) -> WhirConfig:
    """The configuration for a polynomial in `num_variables` variables over BabyBear's quartic extension.

    folding_factor: an int (the same in every phase), a sequence (one a phase), or a FoldingRule. log_inv_rate: r_0.
    round_log_inv_rates: r_1..r_R; None or empty for r_(i+1) = r_i + k_i - 1. security_level: target of *each* error
    term (`security_report` gives their union). pow_bits: grinding budget, 0..30. soundness: unique, johnson or
    capacity, or the crate's names. Raises TypeError or ValueError for arguments of the wrong kind or range, and
    ParameterError whose `kind` is the crate's error name, in the crate's order: NonRedundantStartingRate; ZeroFactor,
    TooLarge, EmptySchedule, InsufficientFolding; InitialDomainExceedsUsize; FoldedDomainExceedsCapacity;
    RoundRateCountMismatch; NonRedundantRoundRate; FoldingFactorCountMismatch; OodSamplesInfeasible; RateGrowsDomain;
    ZeroQueries; PowBitsExceedBudget. Warns ConjecturedSoundnessWarning for capacity.
    """
    rates = () if round_log_inv_rates is None else round_log_inv_rates
    choice = Choice(
        num_variables=index_in_range("num_variables", num_variables),
        folding=folding_rule(folding_factor),
        log_inv_rate=index_in_range("log_inv_rate", log_inv_rate),
        round_log_inv_rates=indices_in_range("round_log_inv_rates", rates),
        security_level=index_in_range("security_level", security_level),
        pow_bits=index_in_range("pow_bits", pow_bits, high=MAX_POW_BITS),
        soundness=Soundness(soundness),
    )
    config = _derive(choice)
    if config.max_pow_bits > config.pow_bits:
        raise budget_refusal(choice, config, _derive, MAX_POW_BITS)
    if config.soundness is Soundness.CAPACITY:
        warnings.warn(
            "soundness 'capacity' assumes proximity gaps up to capacity; that conjecture has been refuted near "
            "capacity (eprint 2025/2046), so the stated bits are not proven; 'johnson' is",
            ConjecturedSoundnessWarning,
            stacklevel=2,
        )
    return config


def _derive(choice: Choice) -> WhirConfig:
    """The schedule of a checked choice, less the comparison with the grinding budget."""
    n, soundness, security_level = choice.num_variables, choice.soundness, choice.security_level
    rate = choice.log_inv_rate
    if rate == 0:
        raise ParameterError("NonRedundantStartingRate", "log_inv_rate must be at least 1 (rate 1/2 or lower), got 0")
    schedule = choice.folding.schedule(n)
    log_domain = n + rate
    if log_domain >= _USIZE_BITS:
        raise ParameterError(
            "InitialDomainExceedsUsize",
            f"num_variables + log_inv_rate must be below {_USIZE_BITS}, got {n} + {rate}",
        )
    if log_domain - schedule[0] > TWO_ADICITY:
        raise ParameterError(
            "FoldedDomainExceedsCapacity",
            f"num_variables + log_inv_rate - first folding factor must be at most {TWO_ADICITY} (the two-adicity of "
            f"the field), got {n} + {rate} - {schedule[0]} = {log_domain - schedule[0]}; fold more at first",
        )
    num_rounds = len(schedule) - 1
    rates = _effective_rates(choice, schedule)
    if isinstance(choice.folding, PerRound) and len(choice.folding.factors) != num_rounds + 1:
        raise ParameterError(
            "FoldingFactorCountMismatch",
            f"{n} variables take the {num_rounds + 1} folding factors {list(schedule)}, "
            f"got {len(choice.folding.factors)}: {list(choice.folding.factors)}",
        )

    query_level = max(0, security_level - choice.pow_bits)
    commitment_ood_samples = _ood_samples(choice, n, rate)
    starting_folding_pow = _whole(bounds.folding_pow_gap(soundness, security_level, n, rate))
    variables = n - schedule[0]
    records = []
    for i, new_rate in enumerate(rates):
        fold, next_fold = schedule[i], schedule[i + 1]
        if new_rate > rate + fold:
            raise ParameterError(
                "RateGrowsDomain",
                f"round {i}: log inverse rate {new_rate} would make the domain grow; at most {rate + fold} is possible",
            )
        # What is queried is the old codeword; what is sampled out of domain and combined belongs to the new one.
        num_queries = bounds.queries_needed(soundness, query_level, rate)
        ood_samples = _ood_samples(choice, variables, new_rate)
        bits = min(
            bounds.queries_bits(soundness, rate, num_queries),
            bounds.queries_combination_bits(
                soundness, variables, new_rate, ood_samples + num_queries, float(bounds.EXT_FIELD_BITS_CEIL)
            ),
        )
        records.append(
            RoundConfig(
                pow_bits=_whole(security_level - bits),
                folding_pow_bits=_whole(bounds.folding_pow_gap(soundness, security_level, variables, new_rate)),
                num_queries=num_queries,
                ood_samples=ood_samples,
                num_variables=variables,
                folding_factor=fold,
                log_inv_rate=new_rate,
                log_domain_size=log_domain,
                log_folded_domain_size=log_domain - fold,
                next_folding_factor=next_fold,
            )
        )
        variables -= next_fold
        log_domain -= rate + fold - new_rate
        rate = new_rate

    final_queries = bounds.queries_needed(soundness, query_level, rate)
    if final_queries == 0 and all(record.num_queries == 0 for record in records):
        raise ParameterError(
            "ZeroQueries",
            f"pow_bits {choice.pow_bits} reaches security_level {security_level}, so no query would be made and any "
            f"word accepted; pow_bits must be below security_level",
        )
    return WhirConfig(
        num_variables=n,
        log_inv_rate=choice.log_inv_rate,
        security_level=security_level,
        pow_bits=choice.pow_bits,
        soundness=soundness,
        folding=choice.folding,
        folding_schedule=schedule,
        round_log_inv_rates=rates,
        commitment_ood_samples=commitment_ood_samples,
        starting_folding_pow_bits=starting_folding_pow,
        rounds=tuple(records),
        final_queries=final_queries,
        final_pow_bits=_whole(security_level - bounds.queries_bits(soundness, rate, final_queries)),
        final_sumcheck_rounds=variables,
        final_folding_pow_bits=max(0, security_level - (bounds.EXT_FIELD_BITS_CEIL - 1)),
        final_log_domain_size=log_domain,
        final_log_folded_domain_size=log_domain - schedule[-1],
    )


def _effective_rates(choice: Choice, schedule: tuple[int, ...]) -> tuple[int, ...]:
    num_rounds = len(schedule) - 1
    rates = choice.round_log_inv_rates
    if not rates:
        return tuple(choice.log_inv_rate + sum(schedule[: i + 1]) - (i + 1) for i in range(num_rounds))
    if len(rates) != num_rounds:
        raise ParameterError(
            "RoundRateCountMismatch",
            f"round_log_inv_rates must hold one rate for each of the {num_rounds} rounds, got {len(rates)}",
        )
    if 0 in rates:
        raise ParameterError(
            "NonRedundantRoundRate",
            f"round_log_inv_rates[{rates.index(0)}] must be at least 1 (rate 1/2 or lower), got 0",
        )
    return rates


def _ood_samples(choice: Choice, num_variables: int, log_inv_rate: int) -> int:
    count = bounds.ood_samples_needed(choice.soundness, choice.security_level, num_variables, log_inv_rate)
    if count is None:
        raise ParameterError(
            "OodSamplesInfeasible",
            f"no number of out-of-domain samples below 64 reaches security_level {choice.security_level} "
            f"with a field of {bounds.EXT_FIELD_BITS_CEIL} bits",
        )
    return count


def _whole(bits: float) -> int:
    """Grinding comes in whole bits; rounding down would miss the target."""
    return max(0, math.ceil(bits))
