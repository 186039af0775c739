"""The message of one sumcheck round."""

import numpy as np

from ...field.numpy_field import sub
from .check import require
from .dot import dot

__all__ = ["pairs", "sumcheck_round"]


def sumcheck_round(f: np.ndarray, w: np.ndarray, *, log_stride: int) -> np.ndarray:
    """[sum f_lo w_lo, sum (f_hi - f_lo)(w_hi - w_lo)]: the value at 0 and the leading coefficient.

    Args: f and w, (N, 4) Montgomery words, N a multiple of 2^(log_stride+1); `pairs` says which are lo and hi.
    Returns (2, 4). Source: p3-sumcheck 0.8.0 (`product_polynomial.rs`).
    """
    require(f.shape == w.shape, "w", f"of the shape of f, {f.shape}", w.shape)
    f_lo, f_hi = pairs(f, log_stride)
    w_lo, w_hi = pairs(w, log_stride)
    return np.stack([dot(f_lo, w_lo), dot(sub(f_hi, f_lo), sub(w_hi, w_lo))])


def pairs(x: np.ndarray, log_stride: int) -> tuple[np.ndarray, np.ndarray]:
    """lo and hi, (N/2, 4) each: pair i is at ((i >> s) << (s+1)) | (i mod 2^s) and 2^s further, s = log_stride.

    The suffix order binds the last variable (s = 0), the prefix order the first (2^(s+1) = N).
    """
    fits = x.ndim == 2 and x.shape[1] == 4 and len(x) % 2 ** (log_stride + 1) == 0
    require(fits, "a table", f"(N, 4), N a multiple of {2 ** (log_stride + 1)}", f"shape {x.shape}")
    blocks = x.reshape(-1, 2, 2**log_stride, 4)
    return blocks[:, 0].reshape(-1, 4), blocks[:, 1].reshape(-1, 4)


def sumcheck_round_shares(f: np.ndarray, w: np.ndarray, *, log_stride: int) -> np.ndarray:
    """The round polynomial as one share, (1, 2, 4)."""
    return sumcheck_round(f, w, log_stride=log_stride)[None]
