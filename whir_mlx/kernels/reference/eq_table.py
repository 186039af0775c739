"""The values of eq(point, .) over the hypercube."""

import numpy as np

from ...field.numpy_ext import ext_mul, ext_one
from ...field.numpy_field import sub
from .check import require

__all__ = ["eq_table"]


def eq_table(point: np.ndarray) -> np.ndarray:
    """eq(point, b) = prod of (b_i ? x_i : 1 - x_i), coordinate 0 at the most significant bit of b.

    Args: point, (n, 4) Montgomery words, n >= 0. Returns (2^n, 4). Source: p3-multilinear-util 0.8.0 (`point.rs`).
    """
    require(point.ndim == 2 and point.shape[1] == 4, "point", "(n, 4)", f"shape {point.shape}")
    table = ext_one()[None]
    for coordinate in point:
        ones = ext_mul(table, coordinate)
        table = np.stack([sub(table, ones), ones], axis=1).reshape(-1, 4)
    return table
