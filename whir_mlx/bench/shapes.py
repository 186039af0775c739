"""The statements that are measured: one column of 2^n elements, opened at one drawn point, under named parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from whir_mlx.choices import Choices, make_choices
from whir_mlx.protocol.folding import folding_rule
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning
from whir_mlx.protocol.statement import Schedule

__all__ = ["SHAPES", "Shape", "Statement", "article_grid"]

_CRATE_NAMES = {"capacity": "CapacityBound", "johnson": "JohnsonBound", "unique": "UniqueDecoding"}


@dataclass(frozen=True)
class Shape:
    """Parameters but for the size. `reduction`: bits by which the first round's domain shrinks, at most a fold."""

    name: str
    soundness: str
    security: int
    pow_bits: int
    fold: int = 4
    rate: int = 1
    reduction: int = 1

    def rates(self, n: int) -> tuple[int, ...]:
        """Log inverse rates of the rounds' codewords: every later domain halves."""
        rates, rate = [], self.rate
        for i, factor in enumerate(folding_rule(self.fold).schedule(n)[:-1]):
            rate += factor - (min(self.reduction, factor) if i == 0 else 1)
            rates.append(rate)
        return tuple(rates)

    def statement(self, n: int) -> Statement:
        """The statement of 2^n elements. Raises ParameterError or ValueError where the parameters are refused."""
        with warnings.catch_warnings():
            # Shape S is conjectured on purpose: others publish their times at it.
            warnings.simplefilter("ignore", ConjecturedSoundnessWarning)
            choices = make_choices(
                n,
                folding_factor=self.fold,
                log_inv_rate=self.rate,
                round_log_inv_rates=self.rates(n) or None,
                security_level=self.security,
                pow_bits=self.pow_bits,
                soundness=self.soundness,
            )
            choices.config.check_claims(1)
        return Statement(self, n, choices, Schedule.all_columns(choices.layout))

    def crate_args(self, n: int, seed: int) -> dict:
        """The same statement and data as `args` of the Rust crate's driver (`tests/interop/README.md`)."""
        return {
            "tables": [[n, 1]],
            "seed": seed,
            "fold": self.fold,
            "rate": self.rate,
            "rates": list(self.rates(n)),
            "security": self.security,
            "pow": self.pow_bits,
            "soundness": _CRATE_NAMES[self.soundness],
        }


@dataclass(frozen=True)
class Statement:
    """A shape at a size, with everything derived from it."""

    shape: Shape
    n: int
    choices: Choices
    schedule: Schedule


SHAPES = {
    "S": Shape("S", "capacity", 80, 16, reduction=3),
    "J": Shape("J", "johnson", 100, 20),
    "U": Shape("U", "unique", 100, 20),
}
"""S: what GPU provers publish (conjectured). J and U: the defaults, proven, by Johnson bound and unique decoding."""


def article_grid(logs: tuple[int, ...]) -> Iterator[tuple[int, Shape]]:
    """(n, shape) of the published Metal prover's grid, as shape S: folds 1 to 8, rates 1 to 3, and the two rows
    that it could not run, at n = 22."""
    for n in logs:
        cells = [(fold, rate) for fold in (1, 2, 3, 4, 6, 8) for rate in (1, 2, 3)]
        if n == 22:
            cells += [(1, 6), (6, 5)]
        for fold, rate in cells:
            yield n, replace(SHAPES["S"], name=f"fold {fold} rate {rate}", fold=fold, rate=rate)
