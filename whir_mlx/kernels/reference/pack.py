"""NumPy twin of `pack`."""

import numpy as np

from ...field.numpy_field import from_montgomery
from .check import require

__all__ = ["pack"]


def pack(
    arrays: list[np.ndarray], montgomery: list[bool], *, counts: list[int] | None = None, room: int = 0
) -> np.ndarray:
    """The words of `arrays` (the first counts[k] of each) one after the other, those with a true flag in canonical
    form: (N,), or (room,) with zeros after them."""
    require(len(arrays) == len(montgomery), "montgomery", f"of {len(arrays)} entries", len(montgomery))
    counts = [x.size for x in arrays] if counts is None else counts
    require(len(arrays) == len(counts), "counts", f"of {len(arrays)} entries", len(counts))
    require(any(counts), "arrays", "of at least one word", 0)
    parts = [x.reshape(-1)[:count] for x, count in zip(arrays, counts)]
    words = np.concatenate([from_montgomery(x) if flag else x for x, flag in zip(parts, montgomery)])
    return np.append(words, np.zeros(max(0, room - len(words)), np.uint32))
