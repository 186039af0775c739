"""The powers of one extension element."""

import numpy as np

from ...field.numpy_ext import ext_powers

__all__ = ["powers"]


def powers(x: np.ndarray, *, count: int) -> np.ndarray:
    """1, x, x^2, ..., x^(count-1): (4,) -> (count, 4) Montgomery words."""
    return ext_powers(x, count)
