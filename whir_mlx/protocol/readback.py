"""Reading a proof's words back from the device: all at once, so that a lazy device evaluates and copies once."""

from __future__ import annotations

import math

import numpy as np

from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.montgomery import from_montgomery

__all__ = ["Readback"]


class Readback:
    """Collects device arrays; `read` (or `flat` and `split`) then gives them all as canonical NumPy arrays.

    `split` needs shapes only, so it serves every run of a compiled program whose trace registered the arrays.
    """

    def __init__(self, device: Device):
        self._device = device
        self._pools: tuple[list, list] = ([], [])  # Montgomery words, plain words
        self._slots: list[tuple[int, int, int, tuple[int, ...]]] = []
        self._lengths = [0, 0]

    def add(self, array, *, plain: bool = False) -> int:
        """Registers an array of Montgomery words (or, with `plain`, of words to read as they are); returns its slot."""
        pool = int(plain)
        count = math.prod(array.shape)
        self._slots.append((pool, self._lengths[pool], count, tuple(array.shape)))
        if count:
            self._pools[pool].append(array.reshape((count,)))
            self._lengths[pool] += count
        return len(self._slots) - 1

    def flat(self):
        """All registered words as one device array, canonical: the Montgomery ones converted, then the plain ones."""
        device = self._device
        parts, pools = [], self._pools
        # A kept program must not keep its trace's arrays; `split` needs none of them.
        self._pools = ([], [])
        if pools[0]:
            parts.append(from_montgomery(device, concatenate(device, pools[0])))
        parts += pools[1]
        if not parts:
            return device.asarray(np.zeros(0, np.uint32))
        return parts[0] if len(parts) == 1 else concatenate(device, parts)

    def split(self, words: np.ndarray) -> list[np.ndarray]:
        """Every array by slot, uint32, out of the words that `flat` gave (read to the host)."""
        offsets = (0, self._lengths[0])
        return [
            words[offsets[pool] + start : offsets[pool] + start + count].reshape(shape).copy()
            for pool, start, count, shape in self._slots
        ]

    def read(self) -> list[np.ndarray]:
        """Every array by slot, read from the device now."""
        return self.split(self._device.numpy(self.flat()))
