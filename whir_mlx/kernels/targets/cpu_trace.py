"""Traces of the CPU target: functions played on arrays without words, and what they launched.

Only what the prover does to arrays is there: views, joins, launches.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..text import load
from . import cpu

__all__ = ["WORD", "Block", "HostStep", "Launch", "Recorded", "Recorder", "recorder", "tracing"]

WORD = 4
_ORIGIN = np.zeros(1, np.uint32)
_ORIGIN_ADDRESS = _ORIGIN.__array_interface__["data"][0]


@dataclass(eq=False)
class Block:
    """Memory of one array and its views.

    array: that of a constant, else None; argument: its number, else None; zeroed: whether it must be 0 at first;
    result: whether it is handed out; made, used: the first and last node that needs it.
    """

    words: int
    array: np.ndarray | None = None
    original: np.ndarray | None = None  # of a constant; as long as it lives no other array has its id
    argument: int | None = None
    zeroed: bool = False
    result: bool = False
    made: int = 0
    used: int = 0


class Recorded:
    """An array of uint32 without words: a view of a block."""

    # NumPy leaves operators to this class.
    __array_ufunc__ = None
    dtype = np.dtype(np.uint32)

    def __init__(self, recorder: Recorder, block: Block, view: np.ndarray):
        self._recorder, self.block, self._view = recorder, block, view
        self.shape = view.shape

    @property
    def size(self) -> int:
        """Number of words."""
        return self._view.size

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._view.ndim

    @property
    def whole(self) -> bool:
        """Whether its words lie together in C order."""
        return self._view.flags.c_contiguous

    @property
    def start(self) -> int:
        """Its first word in the block."""
        return (self._view.__array_interface__["data"][0] - _ORIGIN_ADDRESS) // WORD if self._view.size else 0

    def of(self, memory: np.ndarray) -> np.ndarray:
        """The array in `memory`, the words of its block."""
        if self.whole:
            return memory[self.start : self.start + self.size].reshape(self.shape)
        return as_strided(memory[self.start :], self.shape, self._view.strides)

    def reshape(self, *shape) -> Recorded:
        """A view, or one of a copy where the words do not lie together."""
        one = self if self.whole else self._recorder.copied(self)
        return Recorded(self._recorder, one.block, one._view.reshape(*shape))

    def transpose(self, *axes) -> Recorded:
        """A view."""
        return Recorded(self._recorder, self.block, self._view.transpose(*axes))

    def __getitem__(self, key) -> Recorded:
        """A view by slices."""
        keys = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(part, slice) for part in keys):
            raise TypeError(f"an array of a trace has no words to read, got index {key!r}")
        return Recorded(self._recorder, self.block, self._view[key])

    def __len__(self) -> int:
        return self.shape[0]

    def __rsub__(self, other) -> _Unread:
        return _Unread()


class _Unread:
    """A difference, which nobody needs: of a witness proofs take what the transcript says of it."""


@dataclass(frozen=True)
class Launch:
    """A kernel on buffers, each a block and its first word there."""

    kernel: cpu.CompiledKernel
    grid: tuple[int, int, int]
    threads: int
    buffers: list[tuple[Block, int]]


@dataclass(frozen=True)
class HostStep:
    """`function(*inputs, out=out)` on NumPy arrays."""

    function: object
    inputs: list
    out: Recorded


class Recorder:
    """What a trace launches."""

    def __init__(self):
        self.nodes: list[Launch | HostStep] = []
        self.blocks: list[Block] = []
        self._constants: dict[int, Block] = {}

    def new(self, shape, **block) -> Recorded:
        """A new array."""
        shape = tuple(shape)
        strides = np.cumprod((WORD, *shape[:0:-1]), dtype=np.int64)[::-1] if shape else ()
        made = Block(int(np.prod(shape, dtype=np.int64)), made=len(self.nodes), used=len(self.nodes), **block)
        self.blocks.append(made)
        return Recorded(self, made, as_strided(_ORIGIN, shape, tuple(int(x) for x in strides)))

    def copied(self, x: Recorded) -> Recorded:
        """A copy whose words lie together."""
        return self._host(_copied, [x], x.shape)

    def launch(self, name, inputs, outputs, *, grid, values, lanes, native, grouped, threads) -> list[Recorded]:
        """As `cpu.run`."""
        kernel = cpu.compile_kernel(name, tuple(sorted(values.items())), lanes, native)
        buffers = [self._buffer(x) for x in inputs]
        made = [self.new(shape, zeroed=load(name).atomic) for shape in outputs]
        buffers += [(x.block, 0) for x in made]
        self._add(Launch(kernel, kernel.threads(grid, grouped), threads, buffers), [block for block, _ in buffers])
        return made

    # What the prover asks of an array library, as NumPy does it.

    array, zeros = staticmethod(np.array), staticmethod(np.zeros)

    def concatenate(self, arrays, axis: int = 0):
        """Joined along an axis."""
        if not any(isinstance(x, Recorded) for x in arrays):
            return np.concatenate(arrays, axis=axis)
        shape = list(arrays[0].shape)
        shape[axis] = sum(x.shape[axis] for x in arrays)
        return self._host(partial(_concatenated, axis=axis), list(arrays), shape)

    def take(self, x: Recorded, indices: np.ndarray, axis: int) -> Recorded:
        """Entries along an axis."""
        shape = list(x.shape)
        shape[axis] = len(indices)
        return self._host(partial(np.take, indices=indices, axis=axis), [x], shape)

    def transpose(self, x: Recorded, axes) -> Recorded:
        """A view."""
        return x.transpose(*axes)

    def _buffer(self, x) -> tuple[Block, int]:
        if not isinstance(x, Recorded):
            return self._constant(x), 0
        one = x if x.whole else self.copied(x)
        return one.block, one.start

    def _constant(self, x: np.ndarray) -> Block:
        if x.flags.writeable:
            return Block(x.size, array=np.array(x, order="C"))  # as it is now
        if id(x) not in self._constants:
            self._constants[id(x)] = Block(x.size, array=np.ascontiguousarray(x), original=x)
        return self._constants[id(x)]

    def _host(self, function, inputs: list, shape) -> Recorded:
        out = self.new(shape)
        inputs = [x if isinstance(x, Recorded) else x.copy() for x in inputs]
        used = [x.block for x in (*inputs, out) if isinstance(x, Recorded)]
        self._add(HostStep(function, inputs, out), used)
        return out

    def _add(self, node, used: list[Block]) -> None:
        for block in used:
            block.used = len(self.nodes)
        self.nodes.append(node)


def _copied(x: np.ndarray, *, out: np.ndarray) -> None:
    out[...] = x


def _concatenated(*arrays: np.ndarray, axis: int, out: np.ndarray) -> None:
    np.concatenate(arrays, axis=axis, out=out)


class _Active(threading.local):
    recorder: Recorder | None = None


_ACTIVE = _Active()


def recorder() -> Recorder | None:
    """That of the trace that this thread is in, or None."""
    return _ACTIVE.recorder


@contextmanager
def tracing():
    """A trace of this thread, while it lasts: its `Recorder`."""
    before, _ACTIVE.recorder = _ACTIVE.recorder, Recorder()
    try:
        yield _ACTIVE.recorder
    finally:
        _ACTIVE.recorder = before
