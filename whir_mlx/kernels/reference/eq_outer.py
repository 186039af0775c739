"""The table of a product of two tables."""

import numpy as np

from ...field.numpy_ext import ext_mul

__all__ = ["eq_outer"]


def eq_outer(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """high[a] * low[b] at index a * B + b: (A, 4) and (B, 4) -> (A * B, 4) Montgomery words."""
    return ext_mul(high[:, None], low[None]).reshape(-1, 4)
