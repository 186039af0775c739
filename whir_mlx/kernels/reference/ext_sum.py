"""Sums of extension elements over a middle axis."""

import numpy as np

from ...field.numpy_field import field_sum
from .check import require

__all__ = ["ext_sum"]


def ext_sum(x: np.ndarray) -> np.ndarray:
    """sum over c of x[g, c, b]: (G, C, B, 4) -> (G, B, 4) Montgomery words."""
    require(x.ndim == 4 and x.shape[-1] == 4, "x", "of shape (G, C, B, 4)", x.shape)
    return field_sum(x, axis=1)
