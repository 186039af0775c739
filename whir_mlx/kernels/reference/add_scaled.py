"""Adding multiples of one table to many."""

import numpy as np

from ...field.numpy_ext import ext_mul
from ...field.numpy_field import add
from .check import require

__all__ = ["add_scaled"]


def add_scaled(w: np.ndarray, coefficients: np.ndarray, table: np.ndarray) -> np.ndarray:
    """w[c, i] + coefficients[c] * table[i]: (C, N, 4), (C, 4) and (N, 4) -> (C, N, 4) Montgomery words."""
    expected = (len(coefficients), *table.shape)
    require(w.shape == expected, "w", f"of shape {expected}", w.shape)
    return add(w, ext_mul(coefficients[:, None], table[None]))
