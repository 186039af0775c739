"""The values of eq(point, .) over the hypercube."""

import numpy as np

from ...field.numpy_ext import ext_mul, ext_one
from ...field.numpy_field import sub
from .check import require

__all__ = ["eq_table", "eq_tables", "expand_point"]


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


def eq_tables(point: np.ndarray, *, lengths: tuple[int, ...]) -> list[np.ndarray]:
    """`eq_table` of runs of `lengths` coordinates of a point (n, 4), or of the one that a challenge (4,) stands for."""
    if point.ndim == 1:
        point = expand_point(point, sum(lengths))
    require(len(point) == sum(lengths), "lengths", f"{len(point)} coordinates", lengths)
    ends = np.cumsum(lengths)
    return [eq_table(point[end - length : end]) for end, length in zip(ends, lengths)]


def expand_point(y: np.ndarray, num_variables: int) -> np.ndarray:
    """(y^(2^(n-1)), ..., y^4, y^2, y) for n variables: (4,) -> (n, 4) Montgomery words, n >= 0.

    Source: p3-multilinear-util 0.8.0 (`point.rs`, `expand_from_univariate`).
    """
    point = np.empty((num_variables, 4), np.uint32)
    for k in reversed(range(num_variables)):
        point[k] = y
        y = ext_mul(y, y)
    return point
