"""The Montgomery form of what is absorbed or hashed: all arrays of a proof in one launch.

Source: p3-monty-31 0.8.0 (`monty_31.rs`).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.kernels.montgomery import to_montgomery

__all__ = ["MontgomeryWords"]


class MontgomeryWords:
    """The Montgomery words of `arrays`, canonical uint32 arrays that this object keeps; `joined`: their words one after
    the other."""

    def __init__(self, device, arrays: list[np.ndarray], joined: np.ndarray):
        self._arrays = arrays  # so that no id is given to another array
        self._starts = {}
        end = 0
        for array in arrays:
            self._starts[id(array)] = end
            end += array.size
        self._words = device.numpy(to_montgomery(device, device.asarray(joined)))
        self._words.setflags(write=False)

    def of(self, array: np.ndarray) -> np.ndarray:
        """The words of one of the arrays (that very object), in its shape; read-only."""
        start = self._starts[id(array)]
        return self._words[start : start + array.size].reshape(array.shape)
