"""Reading a proof's words back from the device: all at once, so that a lazy device evaluates and copies once."""

from __future__ import annotations

import math

import numpy as np

from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.montgomery import from_montgomery

__all__ = ["Readback"]


class Readback:
    """Collects device arrays; `read` then gives them all as canonical NumPy arrays."""

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

    def read(self) -> list[np.ndarray]:
        """Every array by slot, uint32: Montgomery words as canonical ones."""
        device = self._device
        parts = []
        if self._pools[0]:
            parts.append(from_montgomery(device, concatenate(device, self._pools[0])))
        parts += self._pools[1]
        if not parts:
            return [np.zeros(shape, np.uint32) for *_, shape in self._slots]
        words = device.numpy(concatenate(device, parts))
        offsets = (0, self._lengths[0])
        return [
            words[offsets[pool] + start : offsets[pool] + start + count].reshape(shape).copy()
            for pool, start, count, shape in self._slots
        ]
