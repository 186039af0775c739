"""Binding one variable and the next round polynomial."""

import numpy as np

from .sumcheck_fold import sumcheck_fold
from .sumcheck_round import sumcheck_round

__all__ = ["sumcheck_fold_round"]


def sumcheck_fold_round(f: np.ndarray, w: np.ndarray, r: np.ndarray, *, log_stride: int, next_log_stride: int):
    """f and w at the challenge, (N/2, 4) each, and their round polynomial as one share, (1, 2, 4)."""
    f, w = sumcheck_fold(f, w, r, log_stride=log_stride)
    return f, w, sumcheck_round(f, w, log_stride=next_log_stride)[None]
