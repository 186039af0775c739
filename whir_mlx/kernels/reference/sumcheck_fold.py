"""Binding one variable of the two sumcheck tables."""

import numpy as np

from ...field.numpy_ext import ext_mul
from ...field.numpy_field import add, sub
from .sumcheck_round import pairs

__all__ = ["sumcheck_fold"]


def sumcheck_fold(f: np.ndarray, w: np.ndarray, r: np.ndarray, *, log_stride: int) -> tuple[np.ndarray, np.ndarray]:
    """f and w at the challenge: lo + r * (hi - lo) over the pairs of `sumcheck_round`.

    Args: f and w, (N, 4) Montgomery words; r (4,). Returns two arrays (N/2, 4).
    Source: p3-sumcheck 0.8.0 (`product_polynomial.rs`).
    """

    def fold(x: np.ndarray) -> np.ndarray:
        lo, hi = pairs(x, log_stride)
        return add(lo, ext_mul(sub(hi, lo), r))

    return fold(f), fold(w)
