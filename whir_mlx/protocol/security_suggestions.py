"""What a refusal for too much grinding says: where, by how many bits, and which nearby choices are accepted.

Nothing is guessed: every choice named here has been derived, and keeps the target for one opened column.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from whir_mlx.errors import ParameterError
from whir_mlx.protocol.folding import Constant, FoldingRule
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.protocol.security_config import WhirConfig

__all__ = ["Choice", "budget_refusal"]

# The search is one axis at a time and a few steps along it, so a refusal costs a few dozen derivations at most.
_REACH = 4


@dataclass(frozen=True)
class Choice:
    """The checked arguments of `derive_config`; `round_log_inv_rates` empty for the default rates."""

    num_variables: int
    folding: FoldingRule
    log_inv_rate: int
    round_log_inv_rates: tuple[int, ...]
    security_level: int
    pow_bits: int
    soundness: Soundness


Derive = Callable[[Choice], WhirConfig]


def budget_refusal(choice: Choice, config: WhirConfig, derive: Derive, max_pow_bits: int) -> ParameterError:
    """The error for a `config` (derived from `choice` by `derive`) that grinds more than its budget."""
    over = [(phase, bits) for phase, bits in config.pow_by_phase if bits > choice.pow_bits]
    worst_phase, worst = max(over, key=lambda item: item[1])
    others = [f"{phase} {bits}" for phase, bits in over if phase != worst_phase]
    if len(others) > 4:
        others[4:] = [f"and {len(others) - 4} more"]
    message = (
        f"a target of {choice.security_level} bits for {choice.num_variables} variables under soundness "
        f"{choice.soundness} needs {worst} bits of grinding in the {worst_phase}, "
        f"{worst - choice.pow_bits} more than the budget pow_bits={choice.pow_bits}"
    )
    if others:
        message += f" (also over it: {', '.join(others)})"
    found = _nearest_accepted(choice, config, derive, max_pow_bits)
    message += f"; nearest accepted: {'; '.join(found)}" if found else "; no nearby choice is accepted"
    return ParameterError("PowBitsExceedBudget", message)


def _accepted(choice: Choice, derive: Derive) -> bool:
    try:
        config = derive(choice)
        config.check_claims(1)
    except ParameterError:
        return False
    return config.max_pow_bits <= choice.pow_bits


def _nearest_accepted(choice: Choice, config: WhirConfig, derive: Derive, max_pow_bits: int) -> list[str]:
    """One suggestion an axis, the nearest that is accepted, as keyword arguments of `derive_config`.

    The capacity regime is never suggested: its conjecture has been refuted near capacity.
    """

    def first(field: str, values: Iterable[Any]) -> Any:
        return next((value for value in values if _accepted(replace(choice, **{field: value}), derive)), None)

    # Grinding before folds does not depend on the budget, and follows the target bit for bit: both bound the search.
    folding = max(bits for phase, bits in config.pow_by_phase if phase.endswith("folding"))
    found = []
    pow_bits = first("pow_bits", range(max(choice.pow_bits + 1, folding), max_pow_bits + 1))
    if pow_bits is not None:
        found.append(f"pow_bits={pow_bits}")
    level = first("security_level", _levels(config, folding, choice.pow_bits))
    if level is not None:
        found.append(f"security_level={level}")
    if pow_bits is None and choice.pow_bits < max_pow_bits:
        most = replace(choice, pow_bits=max_pow_bits)
        levels = _levels(config, folding, max_pow_bits)
        both = next((value for value in levels if _accepted(replace(most, security_level=value), derive)), None)
        if both is not None:
            found.append(f"security_level={both} with pow_bits={max_pow_bits}")
    others = [regime for regime in (Soundness.JOHNSON, Soundness.UNIQUE) if regime is not choice.soundness]
    regime = first("soundness", others)
    if regime is not None:
        found.append(f"soundness='{regime}'")
    rate = first("log_inv_rate", _around(choice.log_inv_rate))
    if rate is not None:
        found.append(f"log_inv_rate={rate}")
    if isinstance(choice.folding, Constant) and config.starting_folding_pow_bits <= choice.pow_bits:
        rule = first("folding", (Constant(factor) for factor in _around(choice.folding.factor)))
        if rule is not None:
            found.append(f"folding_factor={rule.factor}")
    return found


def _levels(config: WhirConfig, folding: int, pow_bits: int) -> range:
    """Lower targets that may fit the budget `pow_bits`, the highest first.

    One bit less of target saves one bit of grinding before folds, and at least one before queries. The claims check is
    the other bound: a lower target may take fewer out-of-domain samples, down to one.
    """
    level = config.security_level
    fewest_claims = 1 + min(1, config.commitment_ood_samples)
    highest = min(level - 1, level - (folding - pow_bits), config.claims_bits(fewest_claims))
    lowest = min(level - (config.max_pow_bits - pow_bits), config.claims_bits(1 + config.commitment_ood_samples))
    return range(math.floor(highest), max(0, math.floor(lowest) - _REACH), -1)


def _around(value: int) -> list[int]:
    """The values from 1 up within reach of `value`, the nearest first, the smaller of two equally near first."""
    near = [value + sign * step for step in range(1, _REACH + 1) for sign in (-1, 1)]
    return [other for other in near if other >= 1]
