"""NumPy twin of `gather_opening`."""

import numpy as np

from .check import require

__all__ = ["gather_opening"]


def gather_opening(
    rows: np.ndarray, layers: list[np.ndarray], indices: np.ndarray, *, arity: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows at `indices`, and the other nodes of the group of each layer on each query's path: (R, w), L arrays
    (nodes, 8) and (Q,) plain integers -> (Q, w) and (Q, L, 8 * (arity - 1))."""
    require(arity in (2, 4), "arity", "2 or 4", arity)
    paths = np.zeros((len(indices), len(layers), 8 * (arity - 1)), np.uint32)
    nodes = indices.astype(np.int64)
    for number, layer in enumerate(layers):
        others = np.arange(arity - 1) + (np.arange(arity - 1) >= nodes[:, None] % arity)
        paths[:, number] = layer[nodes[:, None] // arity * arity + others].reshape(len(nodes), -1)
        nodes = nodes // arity
    return rows[indices], paths
