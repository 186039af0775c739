"""Digests of rows and several layers above them."""

import numpy as np

from .check import require
from .compress import compress
from .hash_rows import hash_rows

__all__ = ["tree_layers"]


def tree_layers(rows: np.ndarray, *, levels: int, sponge: bool, start: int = 0) -> np.ndarray:
    """The digests of leaves `rows`, (N, w) Montgomery words, or without `sponge` the parents of the digests `rows` from
    `start` on, and `levels` layers above, lowest first: (N + N/2 + ..., 8).

    Leaves are hashed at rate 8. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    require(0 <= levels <= 6, "levels", "in 0..6", levels)
    require(not sponge or start == 0, "start", "0 for leaves", start)
    layers = [hash_rows(rows, rate=8) if sponge else compress(rows[start:], arity=2)]
    count = len(layers[0])
    require(count > 0 and count % (1 << levels) == 0, "rows", f"a positive multiple of {1 << levels} rows", count)
    while len(layers) <= levels:
        layers.append(compress(layers[-1], arity=2))
    return np.concatenate(layers)
