"""Rows of a matrix by index."""

import numpy as np

from .check import require

__all__ = ["gather_rows"]


def gather_rows(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """x[indices[q]] for every q, repeats allowed: (R, width) and (Q,) plain integers below R -> (Q, width)."""
    largest = int(np.max(indices, initial=0))
    require(largest < len(x) or len(indices) == 0, "indices", f"below {len(x)}", largest)
    return x[indices]
