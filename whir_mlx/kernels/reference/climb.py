"""Opened Merkle trees from their opened rows up."""

from itertools import pairwise

import numpy as np

from .check import require
from .compress import compress
from .hash_rows import DIGEST_WORDS, hash_rows

__all__ = ["climb"]


def climb(
    words: np.ndarray,
    tables: np.ndarray,
    *,
    trees: int,
    levels: int,
    leaves: int,
    nodes: int,
    siblings: int,
    arity: int,
    rate: int,
) -> np.ndarray:
    """Digests of the opened rows in `words`, the nodes above them, and the siblings that end `words`.

    words (n,): Montgomery words; tables: of every tree its width, the first and the end of its leaves and of its
    siblings, and where its parents begin and where those of each level end; then the first word of every leaf's row;
    then every parent's children. Returns (nodes + siblings, 8). Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`).
    """
    require(arity in (2, 4), "arity", "2 or 4", arity)
    require(rate in (8, 16), "rate", "8 or 16", rate)
    require(trees >= 1 and levels >= 0 and 1 <= leaves <= nodes, "leaves", f"in 1..{nodes} of a tree", leaves)
    records = tables[: trees * (levels + 6)].astype(np.int64).reshape(trees, levels + 6)
    starts, children = np.split(tables[records.size :].astype(np.int64), [leaves])
    expected = records.size + leaves + (nodes - leaves) * arity
    require(tables.shape == (expected,), "tables", f"of shape ({expected},)", f"shape {tables.shape}")
    rows = len(words) - DIGEST_WORDS * siblings
    require(words.ndim == 1 and rows >= 1 and siblings >= 0, "words", f"rows and {siblings} digests", len(words))
    digests = np.empty((nodes + siblings, DIGEST_WORDS), np.uint32)
    digests[nodes:] = words[rows:].reshape(siblings, DIGEST_WORDS)
    for width, first, end, _, _, *bounds in records.tolist():
        row = starts[first:end, None] + np.arange(width)
        digests[first:end] = hash_rows(words[row], rate=rate)
        for begin, end in pairwise(bounds):
            below = children[(begin - leaves) * arity : (end - leaves) * arity]
            digests[begin:end] = compress(digests[below], arity=arity)
    return digests
