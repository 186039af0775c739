"""Discrete Fourier transform down the rows of a matrix, natural order in and out."""

import numpy as np

from ...field.constants import TWO_ADICITY, P
from ...field.numpy_field import add, mont_mul, montgomery_word, root_powers, sub
from .check import require

__all__ = ["ntt"]


def ntt(x: np.ndarray, *, log_rows: int, inverse: bool = False) -> np.ndarray:
    """y[i, j] = sum over b of x[b, j] * g(log_rows)^(i*b), rows zero-extended to N = 2^log_rows.

    Args: x, (R, width) Montgomery words, R a power of two <= N; with `inverse` R == N, the root is 1/g and the result
    is divided by N. Returns (N, width). Source: p3-dft 0.8.0 (`traits.rs`, `dft_batch`).
    """
    require(x.ndim == 2 and x.shape[1] > 0, "x", "a matrix of at least one column", f"shape {x.shape}")
    require(0 <= log_rows <= TWO_ADICITY, "log_rows", f"in 0..{TWO_ADICITY}", log_rows)
    fits = x.shape[0] in ([2**log_rows] if inverse else [2**k for k in range(log_rows + 1)])
    require(fits, "x", f"of {'' if inverse else 'a power of two of at most '}{2**log_rows} rows", f"{x.shape[0]}")
    rows, width = x.shape
    size = 2**log_rows
    roots = root_powers(log_rows)
    if inverse:
        roots = np.roll(roots[::-1], 1)  # g^-k = g^(N - k)
    # Stockham's decimation in frequency: before a level y[p, q] holds, for every residue q of the output index mod s,
    # the coefficients p of a transform of size N / s; a level halves p and appends one more (low) bit to q. The levels
    # that would meet only zero rows all multiply row p by g^(p*q), so they are one product.
    s = size // rows
    if s == 1:
        y = x.reshape(rows, 1, width)
    else:
        exponents = np.outer(np.arange(rows), np.arange(s))  # below N
        y = mont_mul(x[:, None, :], roots[exponents][:, :, None])
    while s < size:
        half = size // (2 * s)
        low, high = y[:half], y[half:]
        y = np.empty((half, 2, s, width), np.uint32)
        y[:, 0] = add(low, high)
        y[:, 1] = mont_mul(sub(low, high), roots[: half * s : s, None, None])
        s *= 2
        y = y.reshape(half, s, width)
    y = y.reshape(size, width)
    return mont_mul(y, montgomery_word(pow(size, -1, P))) if inverse else y.copy()
