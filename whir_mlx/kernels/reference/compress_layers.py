"""All the upper layers of a binary tree."""

import numpy as np

from .check import require
from .compress import compress

__all__ = ["compress_layers"]


def compress_layers(nodes: np.ndarray) -> np.ndarray:
    """Every layer above `nodes`, lowest first, concatenated: (N, 8) -> (N - 1, 8) Montgomery words, N a power of two.

    The root is the last row. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    count = len(nodes)
    require(count > 0 and count & (count - 1) == 0, "nodes", "a power of two of digests", count)
    layers = [nodes[:0]]
    while len(nodes) > 1:
        nodes = compress(nodes, arity=2)
        layers.append(nodes)
    return np.concatenate(layers)
