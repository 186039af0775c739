"""The weights of claims."""

import numpy as np

from ...field.numpy_ext import ext_mul, ext_powers

__all__ = ["claim_weights"]


def claim_weights(alpha: np.ndarray, tables: np.ndarray, *, claims: tuple[tuple[int, int], ...]) -> np.ndarray:
    """alpha^e * tables[t] for each claim (t, e): (4,) and (T, B, 4) -> (R, B, 4) Montgomery words."""
    powers = ext_powers(alpha, 1 + max(exponent for _, exponent in claims))
    return np.stack([ext_mul(tables[table], powers[exponent]) for table, exponent in claims])
