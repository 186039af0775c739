"""NumPy twin of `gather_opening`."""

import numpy as np

from .check import require

__all__ = ["gather_opening"]


def gather_opening(
    rows: np.ndarray, stores: list[np.ndarray], indices: np.ndarray, *, layers: tuple[tuple[int, int], ...], arity: int
) -> np.ndarray:
    """The rows at `indices`, and the other nodes of the group of each layer on each query's path: (R, w), arrays
    (nodes, 8), (Q,) plain integers, and of L layers the store and first node -> the words of (Q, w) and (Q, L, 8 *
    (arity - 1))."""
    require(arity in (2, 4), "arity", "2 or 4", arity)
    paths = np.zeros((len(indices), len(layers), 8 * (arity - 1)), np.uint32)
    nodes = indices.astype(np.int64)
    for number, (store, start) in enumerate(layers):
        others = np.arange(arity - 1) + (np.arange(arity - 1) >= nodes[:, None] % arity)
        group = stores[store][start + nodes[:, None] // arity * arity + others]
        paths[:, number] = group.reshape(len(nodes), 8 * (arity - 1))
        nodes = nodes // arity
    return np.concatenate([rows[indices].reshape(-1), paths.reshape(-1)])
