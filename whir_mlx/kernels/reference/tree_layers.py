"""Digests of rows and several layers above them."""

import numpy as np

from .check import require
from .compress import compress
from .hash_rows import hash_rows

__all__ = ["tree_layers"]


def tree_layers(rows: np.ndarray, *, levels: int, sponge: bool) -> list[np.ndarray]:
    """The digests of `rows`, (N, w) Montgomery words, and `levels` layers above, lowest first: (N, 8), (N/2, 8), ...

    With `sponge` rows are leaves (rate 8), else pairs of digests. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    count, width = rows.shape
    require(0 <= levels <= 6, "levels", "in 0..6", levels)
    require(count > 0 and count % (1 << levels) == 0, "rows", f"a positive multiple of {1 << levels} rows", count)
    require(width >= 1 and (sponge or width == 16), "rows", "of a word or more, or of 16 to compress", width)
    layers = [hash_rows(rows, rate=8) if sponge else compress(rows.reshape(2 * count, 8), arity=2)]
    while len(layers) <= levels:
        layers.append(compress(layers[-1], arity=2))
    return layers
