"""Reading a proof's words back from the device: all at once, so that a lazy device evaluates and copies once."""

from __future__ import annotations

import math

import numpy as np

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.pack import pack

__all__ = ["Readback"]


class Readback:
    """Collects device arrays; `read` (or `flat` and `collect`) then gives them all as canonical NumPy arrays.

    `collect` needs shapes only, so it serves every run of a compiled program whose trace registered the arrays.
    """

    def __init__(self, device: Device):
        self._device = device
        self._parts: list[tuple] = []  # (array, whether it is Montgomery words, how many of its first words)
        self._slots: list[tuple[int, int, tuple[int, ...]]] = []
        self._length = 0

    def add(self, array, *, plain: bool = False) -> int:
        """Registers an array of Montgomery words (or, with `plain`, of words to read as they are); returns its slot."""
        shape = tuple(array.shape)
        self._register(array, math.prod(shape), plain)
        return self._slot(shape)

    def add_stack(
        self, arrays: list, shape: tuple[int, ...], *, plain: bool = False, entries: list[int] | None = None
    ) -> int:
        """Registers arrays (any number), to be read as one with a new first axis: of each as many of its first words as
        `shape` takes, or as so many `entries` of it take."""
        entries = [1] * len(arrays) if entries is None else entries
        for array, count in zip(arrays, entries, strict=True):
            self._register(array, count * math.prod(shape), plain)
        return self._slot((sum(entries), *shape))

    def add_parts(self, array, shapes) -> tuple[int, ...]:
        """Registers one array of Montgomery words whose words are several arrays' of `shapes`; returns their slots."""
        self._register(array, sum(map(math.prod, shapes)), False)
        return tuple(map(self._slot, shapes))

    def _register(self, array, words: int, plain: bool) -> None:
        if words:
            self._parts.append((array, not plain, words))

    def _slot(self, shape: tuple[int, ...]) -> int:
        start = self._length
        self._length += math.prod(shape)
        self._slots.append((start, self._length, shape))
        return len(self._slots) - 1

    def flat(self):
        """All registered words as one device array, canonical, of `Device.readback_words` words."""
        # A kept program must not keep its trace's arrays; `collect` needs none of them.
        parts, self._parts = self._parts, []
        if not parts:
            return self._device.asarray(np.zeros(0, np.uint32))
        arrays, montgomery, counts = map(list, zip(*parts))
        room = self._device.readback_words(self._length)
        return pack(self._device, arrays, montgomery, counts=counts, room=room)

    def collect(self, words) -> list[np.ndarray]:
        """Every array by slot, read from what `flat` gave."""
        return self._split(self._device.numpy(words, words=self._length))

    def _split(self, words: np.ndarray) -> list[np.ndarray]:
        return [words[start:end].reshape(shape) for start, end, shape in self._slots]

    def read(self) -> list[np.ndarray]:
        """Every array by slot, read from the device now."""
        return self.collect(self.flat())
