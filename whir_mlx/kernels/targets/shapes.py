"""A device whose arrays are shapes: it runs nothing and counts the bytes that would be taken.

The prover played on it says what memory a proof needs, since arrays come and go with the same Python objects as on a
real device. Only what the prover does to arrays is there: shapes, views, joins and launches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..device import Device
from ..tuning import tuning_for
from .buffers import BufferPool

__all__ = ["Meter", "ShapeArray", "ShapeDevice"]

WORD = 4


class Meter:
    """Bytes in use now, the most that ever were, and all that were ever taken.

    pooled: as the CPU target's memory pool, which rounds sizes up and keeps freed blocks for takers.
    """

    def __init__(self, *, pooled: bool):
        self.used = self.peak = self.total = 0
        self._pool = BufferPool() if pooled else None
        self._free: dict[int, int] = {}
        self._kept = 0
        self._foreign: set[int] = set()

    def take(self, count: int) -> int:
        """Memory for `count` bytes; returns the bytes really taken."""
        size = count if self._pool is None else self._pool.block_bytes(count)
        self.total += size
        if self._free.get(size):
            self._free[size] -= 1
            self._kept -= size
        self.used += size
        self.peak = max(self.peak, self.used + self._kept)
        return size

    def give_back(self, size: int) -> None:
        """The end of what `take` took."""
        self.used -= size
        if self._pool is not None and self._pool.keeps(size, self._kept):
            self._free[size] = self._free.get(size, 0) + 1
            self._kept += size

    def adopt(self, block: _Block) -> None:
        """Count a table that an earlier plan made and that stays: this one needs it too."""
        if block.meter is not self and id(block) not in self._foreign:
            self._foreign.add(id(block))
            self.take(block.size)

    def start_total(self) -> None:
        """Count `total` from here."""
        self.total = 0


class _Block:
    """The memory of one array and its views; given back with the last of them."""

    __slots__ = ("meter", "size")

    def __init__(self, meter: Meter, count: int):
        self.meter = meter
        self.size = meter.take(count)

    def __del__(self):
        self.meter.give_back(self.size)


@dataclass(frozen=True, eq=False)
class ShapeArray:
    """An array of uint32 without words. whole: its words lie together in C order."""

    device: ShapeDevice
    shape: tuple[int, ...]
    block: _Block
    whole: bool = True
    dtype = np.uint32

    @property
    def size(self) -> int:
        """Number of words."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def reshape(self, *shape) -> ShapeArray:
        """A view, or a copy where the words do not lie together."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if -1 in shape:
            rest = -math.prod(shape)
            shape = tuple(self.size // rest if extent == -1 else extent for extent in shape)
        if math.prod(shape) != self.size:
            raise ValueError(f"cannot reshape {self.shape} to {tuple(shape)}")
        if not self.whole:
            return self.device.new(tuple(shape))
        return ShapeArray(self.device, tuple(shape), self.block)

    def transpose(self, *axes) -> ShapeArray:
        """A view."""
        return ShapeArray(self.device, tuple(self.shape[axis] for axis in axes), self.block, False)

    def __getitem__(self, key) -> ShapeArray:
        """A view of slices and single entries."""
        keys = key if isinstance(key, tuple) else (key,)
        shape = []
        for extent, part in zip(self.shape, keys):
            if isinstance(part, slice):
                shape.append(len(range(*part.indices(extent))))
        shape += self.shape[len(keys) :]
        return ShapeArray(self.device, tuple(shape), self.block, self.whole and len(keys) == 1)

    def __len__(self) -> int:
        return self.shape[0]

    def __int__(self) -> int:
        return 0

    def __sub__(self, other) -> ShapeArray:
        return self.device.new(self.shape)


class _ShapeModule:
    """What the layout asks of an array library, on shapes."""

    def __init__(self, device: ShapeDevice):
        self._device = device

    def concatenate(self, arrays, axis: int = 0) -> ShapeArray:
        shape = list(arrays[0].shape)
        shape[axis] = sum(x.shape[axis] for x in arrays)
        return self._device.new(tuple(shape))

    def zeros(self, shape, dtype=None) -> ShapeArray:
        return self._device.new(tuple(shape))

    def array(self, x) -> np.ndarray:
        return x

    def take(self, x: ShapeArray, indices, axis: int) -> ShapeArray:
        shape = list(x.shape)
        shape[axis] = len(indices)
        return self._device.new(tuple(shape))

    def transpose(self, x: ShapeArray, axes) -> ShapeArray:
        return x.transpose(*axes)


class ShapeDevice(Device):
    """Takes the launches of a device of another target and makes shapes of their outputs.

    target: "cpu", "cuda" or "metal". `meter` counts; put a new one there before each plan.
    """

    def __init__(self, target: str):
        super().__init__("cpu" if target == "cpu" else target)
        self.tuning = tuning_for(target)
        self.meter = Meter(pooled=target == "cpu")
        if target == "cpu":
            # Any vector unit: its width moves a few hundred bytes.
            self.vector_lanes = self.reduce_width = 8
            self.simd_width = 16

    @property
    def array_module(self):
        return _ShapeModule(self)

    def new(self, shape: tuple[int, ...]) -> ShapeArray:
        """A fresh array."""
        return ShapeArray(self, shape, _Block(self.meter, WORD * math.prod(shape)))

    def asarray(self, x) -> ShapeArray:
        return x if isinstance(x, ShapeArray) else self.new(tuple(x.shape))

    def table(self, shape, build):
        return self.new(tuple(shape))

    def compile(self, function):
        return function

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, lanes=0, cost=0.0
    ):
        copies = []
        for x in map(self.asarray, inputs):
            self.meter.adopt(x.block)
            if not x.whole:
                copies.append(self.new(x.shape))  # kernels take words that lie together
        return [self.new(tuple(shape)) for shape in outputs]
