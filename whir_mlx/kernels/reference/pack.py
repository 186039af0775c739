"""NumPy twin of `pack`."""

import numpy as np

from ...field.numpy_field import from_montgomery
from .check import require

__all__ = ["pack"]


def pack(arrays: list[np.ndarray], montgomery: list[bool]) -> np.ndarray:
    """The words of `arrays` one after the other, (N,), those with a true flag in canonical form."""
    require(len(arrays) == len(montgomery), "montgomery", f"of {len(arrays)} entries", len(montgomery))
    require(any(x.size for x in arrays), "arrays", "of at least one word", 0)
    parts = [from_montgomery(x) if flag else x for x, flag in zip(arrays, montgomery)]
    return np.concatenate([part.reshape(-1) for part in parts])
