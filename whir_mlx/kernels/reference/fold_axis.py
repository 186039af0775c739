"""Contraction of one axis of a matrix with extension weights."""

import numpy as np

from ...field.numpy_ext import dot_rows
from .check import require

__all__ = ["fold_axis"]


def fold_axis(f: np.ndarray, weights: np.ndarray, *, axis: int, ext: bool) -> np.ndarray:
    """sum over a of f[a, b] * weights[a] (axis 0), or over b of f[a, b] * weights[b] (axis 1).

    Args: f, (A, B) base or with `ext` (A, B, 4); weights (A, 4) for axis 0, (B, 4) for axis 1. A leading batch axis,
    f (C, A, B[, 4]), uses the same weights for every entry. Montgomery words.
    Returns (B, 4) for axis 0, (A, 4) for axis 1, after the batch axis if there is one.
    """
    require(axis in (0, 1), "axis", "0 or 1", axis)
    require(f.ndim - ext in (2, 3) and (not ext or f.shape[-1] == 4), "f", "([C,] A, B[, 4])", f"shape {f.shape}")
    length = f.shape[f.ndim - ext - 2 + axis]
    require(weights.shape == (length, 4), "weights", f"of shape ({length}, 4)", weights.shape)
    batched = f.ndim == 3 + ext
    matrices = f if batched else f[None]
    if axis == 1:
        matrices = matrices.swapaxes(1, 2)
    result = np.stack([dot_rows(matrix, weights[:, None], ext=ext) for matrix in matrices])
    return result if batched else result[0]
