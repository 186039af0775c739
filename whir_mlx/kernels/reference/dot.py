"""Inner product of extension vectors."""

import numpy as np

from ...field.numpy_ext import dot_rows
from .check import require

__all__ = ["dot"]


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """sum of a[i] * b[i]: (N, 4) and (N, 4) -> (4,) Montgomery words."""
    require(a.shape == b.shape and a.ndim == 2, "b", f"of the shape of a, {a.shape}", b.shape)
    return dot_rows(a[:, None], b[:, None], ext=True)[0]


def dot_shares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The inner product as one share, (1, 4)."""
    return dot(a, b)[None]
