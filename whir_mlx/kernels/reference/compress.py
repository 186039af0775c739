"""One Merkle layer from the layer below: truncated permutations."""

import numpy as np

from .check import require
from .hash_rows import DIGEST_WORDS
from .poseidon2 import poseidon2

__all__ = ["compress"]


def compress(nodes: np.ndarray, *, arity: int) -> np.ndarray:
    """The parents of groups of `arity` consecutive digests: (N * arity, 8) -> (N, 8) Montgomery words.

    `arity` is 2 (permutation of width 16) or 4 (width 32). Source: p3-symmetric 0.8.0 (`compression.rs`,
    `TruncatedPermutation`).
    """
    require(arity in (2, 4), "arity", "2 or 4", arity)
    fits = nodes.ndim == 2 and nodes.shape[1] == DIGEST_WORDS and len(nodes) % arity == 0
    require(fits, "nodes", f"(N * {arity}, {DIGEST_WORDS})", f"shape {nodes.shape}")
    return poseidon2(nodes.reshape(-1, arity * DIGEST_WORDS))[:, :DIGEST_WORDS].copy()
