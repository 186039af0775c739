"""Sums of multiples of tables."""

import numpy as np

from ...field.numpy_ext import ext_mul
from ...field.numpy_field import add
from .check import require

__all__ = ["add_scaled"]


def add_scaled(w: np.ndarray | None, coefficients: np.ndarray, tables: list[np.ndarray], *, places) -> np.ndarray:
    """w[c, i] + the sum over s of coefficients[places[s][c]] * tables[s][i], places of None left out.

    Args: w, (C, N, 4) or None for 0; coefficients (T, 4); tables of (N, 4), Montgomery words; places, C for each table.
    """
    expected = (len(places[0]), *tables[0].shape)
    out = np.zeros(expected, np.uint32) if w is None else w.copy()
    require(out.shape == expected, "w", f"of shape {expected}", out.shape)
    for table, row in zip(tables, places, strict=True):
        for c, place in enumerate(row):
            if place is not None:
                out[c] = add(out[c], ext_mul(coefficients[place], table))
    return out
