"""Folding rules: how many variables each WHIR phase folds, and the concrete schedule a rule gives.

Source: p3-whir 0.8.0 `parameters/folding.rs`.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from whir_mlx.errors import ParameterError

__all__ = [
    "MAX_VARIABLES_IN_CLEAR",
    "Constant",
    "ConstantFromSecondRound",
    "FoldingRule",
    "PerRound",
    "folding_rule",
    "index_in_range",
    "indices_in_range",
]

MAX_VARIABLES_IN_CLEAR = 6
"""Folding stops as soon as at most this many variables remain; the polynomial is then sent in clear."""

MAX_INPUT = 2**16
"""Bound on every integer parameter: far above what any rule accepts, low enough that each check ends at once."""


def index_in_range(name: str, value: object, low: int = 0, high: int = MAX_INPUT) -> int:
    """`value` as a Python int in low..high.

    Takes anything with `__index__` (NumPy integers too) except bools. Raises TypeError or ValueError naming `name`.
    """
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got the bool {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be in {low}..{high}, got {number}")
    return number


def indices_in_range(name: str, values: object) -> tuple[int, ...]:
    """A sequence (or 1-d array) of integers as a tuple of Python ints. Raises TypeError or ValueError naming `name`."""
    unordered = isinstance(values, str | bytes | Mapping | Set)
    if unordered or not isinstance(values, Iterable) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a sequence of integers, got {type(values).__name__}")
    return tuple(index_in_range(f"{name}[{i}]", value) for i, value in enumerate(values))


@dataclass(frozen=True)
class FoldingRule:
    """Base of the three folding rules: `Constant`, `ConstantFromSecondRound`, `PerRound`."""

    @property
    def label(self) -> tuple[int, ...]:
        """The numbers by which the WHIR transcript label names this rule (p3-whir 0.8.0 `transcript/mod.rs`)."""
        raise NotImplementedError

    def schedule(self, num_variables: int) -> tuple[int, ...]:
        """Folding factors k_0..k_R of every phase before the polynomial is sent in clear; never empty.

        Raises ParameterError with kind ZeroFactor, TooLarge, EmptySchedule or InsufficientFolding.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Constant(FoldingRule):
    """The same factor in every phase; the last fold is clamped to what remains."""

    factor: int

    def __post_init__(self):
        object.__setattr__(self, "factor", index_in_range("folding_factor", self.factor))

    @property
    def label(self) -> tuple[int, ...]:
        return (0, self.factor)

    def schedule(self, num_variables: int) -> tuple[int, ...]:
        return _clamped_schedule(self.factor, self.factor, num_variables)


@dataclass(frozen=True)
class ConstantFromSecondRound(FoldingRule):
    """`first` in the initial phase, then `rest`, clamped to what remains."""

    first: int
    rest: int

    def __post_init__(self):
        object.__setattr__(self, "first", index_in_range("first folding factor", self.first))
        object.__setattr__(self, "rest", index_in_range("later folding factor", self.rest))

    @property
    def label(self) -> tuple[int, ...]:
        return (1, self.first, self.rest)

    def schedule(self, num_variables: int) -> tuple[int, ...]:
        return _clamped_schedule(self.first, self.rest, num_variables)


@dataclass(frozen=True)
class PerRound(FoldingRule):
    """One factor a phase, the initial fold first; nothing is clamped.

    The schedule may end before the list does; `derive_config` refuses the factors left over
    (FoldingFactorCountMismatch), as the crate does.
    """

    factors: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "factors", indices_in_range("folding_factor", self.factors))

    @property
    def label(self) -> tuple[int, ...]:
        return (2, len(self.factors), *self.factors)

    def schedule(self, num_variables: int) -> tuple[int, ...]:
        if not self.factors:
            raise ParameterError("EmptySchedule", "the folding schedule is empty; at least one fold is needed")
        for factor in self.factors:
            _check_factor(factor, num_variables)
        remaining = num_variables
        for count, factor in enumerate(self.factors, 1):
            _check_factor(factor, remaining)
            remaining -= factor
            if remaining <= MAX_VARIABLES_IN_CLEAR:
                return self.factors[:count]
        raise ParameterError(
            "InsufficientFolding",
            f"the folding schedule {list(self.factors)} leaves {remaining} of {num_variables} variables, "
            f"at most {MAX_VARIABLES_IN_CLEAR} may remain; fold {remaining - MAX_VARIABLES_IN_CLEAR} more",
        )


def folding_rule(value: "int | Sequence[int] | FoldingRule") -> FoldingRule:
    """The rule that `value` stands for: an integer is `Constant`, a sequence is `PerRound`, a rule is itself.

    Raises TypeError or ValueError for anything else; whether the rule fits a size is `schedule`'s question.
    """
    if isinstance(value, FoldingRule):
        return value
    if isinstance(value, Iterable):
        return PerRound(value)  # type: ignore[arg-type]
    return Constant(value)  # type: ignore[arg-type]


def _check_factor(factor: int, remaining: int) -> None:
    if factor == 0:
        raise ParameterError("ZeroFactor", "a folding factor must be at least 1, got 0")
    if factor > remaining:
        raise ParameterError("TooLarge", f"folding factor {factor} is greater than the {remaining} variables it folds")


def _clamped_schedule(first: int, rest: int, num_variables: int) -> tuple[int, ...]:
    if first == 0 or rest == 0:
        raise ParameterError("ZeroFactor", "a folding factor must be at least 1, got 0")
    _check_factor(first, num_variables)
    schedule = [first]
    remaining = num_variables - first
    while remaining > MAX_VARIABLES_IN_CLEAR:
        schedule.append(min(rest, remaining))
        remaining -= schedule[-1]
    return tuple(schedule)
