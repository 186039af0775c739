"""Launches on arrays that would not fit the memory: the check build (`cpu_check.py`) with stand-ins for them.

A stand-in has a shape and a formula for its words. A launch runs some of its groups, the first and the last among
them, with every index checked; the outputs are stand-ins again, and what was written to them is kept for a look. So
index arithmetic is seen at sizes of gigabytes, for some megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ...field.constants import P
from .cpu_check import CheckDevice, CheckError
from .gpu import choose_group

__all__ = ["SparseDevice", "SparseLaunch", "StandIn"]

_ANY_GROUPS = 2


class StandIn:
    """An array of `shape` whose word i is ((2654435761 i + salt) mod 2^32) mod `modulus`."""

    def __init__(self, shape: tuple[int, ...], modulus: int = P, salt: int = 0):
        self.shape, self.modulus, self.salt = tuple(shape), modulus, salt
        self.size, self.ndim = prod(shape), len(shape)

    def words(self, places: np.ndarray) -> np.ndarray:
        """Its words at flat `places`."""
        return (places.astype(np.uint32) * np.uint32(2654435761) + np.uint32(self.salt)) % np.uint32(self.modulus)

    def reshape(self, shape: tuple[int, ...]) -> StandIn:
        if prod(shape) != self.size:
            raise ValueError(f"shape {shape} has not the {self.size} words of {self.shape}")
        return StandIn(shape, self.modulus, self.salt)

    def __getitem__(self, rows: slice) -> StandIn:
        """Rows of the first axis; their words start anew."""
        return StandIn((len(range(*rows.indices(self.shape[0]))), *self.shape[1:]), self.modulus, self.salt)

    def __array_function__(self, function, types, arguments, keywords):
        if function is not np.concatenate:
            return NotImplemented
        parts = arguments[0]
        return StandIn((sum(x.shape[0] for x in parts), *parts[0].shape[1:]))


@dataclass(frozen=True)
class SparseLaunch:
    """A launch that ran: its inputs, and of each output the length, and the flat places that were written with their
    words."""

    name: str
    size: tuple[int, ...]
    inputs: list
    lengths: list[int]
    written: list[tuple[np.ndarray, np.ndarray]]


class SparseDevice(CheckDevice):
    """A check device whose launches take stand-ins and run some of their groups; `launches` keeps what they did."""

    def __init__(self, seed: int = 0, tuning: str = "cuda", round_up: bool = True, texts: dict[str, str] | None = None):
        super().__init__(seed, 32, round_up, tuning)
        self.texts = texts or {}
        self.launches: list[SparseLaunch] = []

    def asarray(self, x):
        return x if isinstance(x, StandIn) else super().asarray(x)

    def numpy(self, x, *, words=None):
        return x

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, lanes=0, cost=0.0
    ):
        """As `Device.launch`, on some of the groups. Raises `CheckError`."""
        arrays = [np.array(size, np.uint32), *(self.asarray(x) for x in inputs)]
        lengths = [prod(shape) for shape in outputs]
        formulas = [(x.modulus, x.salt) if isinstance(x, StandIn) else (0, 0) for x in arrays]
        formulas += [(0, 0)] * len(outputs)
        counts = groups
        if grid is not None:
            across = choose_group(tuple(grid), self.tuning)
            counts = tuple(-(-extent // each) for extent, each in zip(grid, across))
        done = self.run(name, values, grid, groups, group, arrays, lengths, formulas, self._choose(prod(counts)))
        self.launches.append(SparseLaunch(name, tuple(size), arrays[1:], lengths, _read(name, done, len(outputs))))
        return [StandIn(shape, salt=1 + k) for k, shape in enumerate(outputs)]

    def _choose(self, count: int) -> list[int]:
        """The first group, the last, and a few between."""
        rng = np.random.default_rng(self.seed)
        return sorted({0, count - 1, *(int(g) for g in rng.integers(0, count, _ANY_GROUPS))})


def _read(name: str, done: bytes, outputs: int) -> list[tuple[np.ndarray, np.ndarray]]:
    found, at = [], 0
    for _ in range(outputs):
        count = int(np.frombuffer(done, np.int64, 1, at)[0])
        places = np.frombuffer(done, np.int64, count, at + 8)
        words = np.frombuffer(done, np.uint32, count, at + 8 + 8 * count)
        found.append((places, words))
        at += 8 + 12 * count
    if at != len(done):
        raise CheckError(f"kernel {name}: {len(done)} bytes came back, not {at}")
    return found
