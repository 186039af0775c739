"""The weights of claims at one point."""

import numpy as np

from ...field.constants import MONTY_ONE
from ...field.numpy_ext import ext_mul
from ...field.numpy_field import add, sub
from .check import require

__all__ = ["point_weights"]


def point_weights(x: np.ndarray, y: np.ndarray, factors: np.ndarray, *, shapes: np.ndarray) -> np.ndarray:
    """factors[k] times the weight at x of claim k, whose shape is (v, first of its rows of x, kind).

    Args: x, (n, 4) Montgomery words; y and factors (K, 4). Kind 0: eq of (y^(2^(v-1)), ..., y^2, y) and those rows;
    kind 1: the multilinear extension of b -> y^b there. Returns (K, 4).
    Source: p3-sumcheck 0.8.0 (`constraints/statement/{eq,select}.rs`).
    """
    require(shapes.shape == (len(y), 3) and len(y) > 0, "shapes", f"of shape ({len(y)}, 3)", shapes.shape)
    require(bool((shapes[:, 0] + shapes[:, 1] <= len(x)).all()), "shapes", f"of rows below {len(x)}", shapes.tolist())
    require(bool((shapes[:, 2] <= 1).all()), "a kind", "0 or 1", shapes[:, 2].tolist())
    one = np.array([MONTY_ONE, 0, 0, 0], np.uint32)
    out = np.array(factors)
    for k, (variables, first, powers) in enumerate(shapes.tolist()):
        for coordinate in x[first : first + variables][::-1]:
            complement = sub(one, coordinate)
            slope = coordinate if powers else sub(coordinate, complement)
            out[k] = ext_mul(out[k], add(complement, ext_mul(slope, y[k])))
            y = y.copy()
            y[k] = ext_mul(y[k], y[k])
    return out
