"""NumPy twin of `gather_paths`."""

import numpy as np

from .check import require

__all__ = ["gather_paths"]


def gather_paths(layers: list[np.ndarray], indices: np.ndarray, *, arity: int) -> np.ndarray:
    """The group of each layer on each query's path: L arrays (nodes, 8) and (Q,) plain integers -> (Q, L, 8 *
    arity)."""
    require(arity in (2, 4), "arity", "2 or 4", arity)
    paths = np.zeros((len(indices), len(layers), 8 * arity), np.uint32)
    groups = indices.astype(np.int64)
    for number, layer in enumerate(layers):
        groups = groups // arity
        paths[:, number] = layer.reshape(-1, 8 * arity)[groups]
    return paths
