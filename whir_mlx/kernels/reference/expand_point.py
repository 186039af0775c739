"""The point of a univariate challenge."""

import numpy as np

from ...field.numpy_ext import ext_mul

__all__ = ["expand_point"]


def expand_point(y: np.ndarray, *, num_variables: int) -> np.ndarray:
    """(y^(2^(n-1)), ..., y^4, y^2, y) for n variables: (4,) -> (n, 4) Montgomery words, n >= 0.

    Source: p3-multilinear-util 0.8.0 (`point.rs`, `expand_from_univariate`).
    """
    point = np.empty((num_variables, 4), np.uint32)
    for k in reversed(range(num_variables)):
        point[k] = y
        y = ext_mul(y, y)
    return point
