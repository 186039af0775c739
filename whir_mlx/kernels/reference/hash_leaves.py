"""Leaf digests together with the first two layers of a binary tree."""

import numpy as np

from .check import require
from .compress import compress
from .hash_rows import hash_rows

__all__ = ["hash_leaves"]


def hash_leaves(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leaves (N, 8) and the layers (N/2, 8) and (N/4, 8) above them, of rows (N, w), N a multiple of 4.

    Montgomery words; sponge of rate 8, 2-to-1 compression. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    require(len(rows) % 4 == 0, "rows", "a multiple of 4 rows", len(rows))
    leaves = hash_rows(rows, rate=8)
    first = compress(leaves, arity=2)
    return leaves, first, compress(first, arity=2)
