"""NumPy twin of `pack`."""

import numpy as np

from ...field.numpy_field import from_montgomery
from .check import require

__all__ = ["pack"]


def pack(arrays: list[np.ndarray], montgomery: list[bool], *, room: int = 0) -> np.ndarray:
    """The words of `arrays` one after the other, those with a true flag in canonical form: (N,), or (room,) with zeros
    after them."""
    require(len(arrays) == len(montgomery), "montgomery", f"of {len(arrays)} entries", len(montgomery))
    require(any(x.size for x in arrays), "arrays", "of at least one word", 0)
    parts = [from_montgomery(x) if flag else x for x, flag in zip(arrays, montgomery)]
    words = np.concatenate([part.reshape(-1) for part in parts])
    return np.append(words, np.zeros(max(0, room - len(words)), np.uint32))
