"""Leaf digests, in a cut of their own on a GPU."""

import numpy as np

from .check import require
from .hash_rows import hash_rows

__all__ = ["hash_rows_four"]


def hash_rows_four(rows: np.ndarray) -> np.ndarray:
    """(N, w) Montgomery words, N, w >= 1 -> digests (N, 8), at rate 8. Source: p3-symmetric 0.8.0 (`sponge.rs`)."""
    require(rows.ndim == 2 and min(rows.shape) > 0, "rows", "rows of at least one word", rows.shape)
    return hash_rows(rows, rate=8)
