"""The queries of many trees in order, and how far neighbours are apart: what pruning and verification plan by.

Queries are sorted, tree after tree. h, the length of the exclusive or of two neighbours, is the number of index bits
in which they differ: the first of a tree differs in more bits than an index has, equal indices in none.

Source: p3-merkle-tree 0.8.0 (`pruning.rs`).
"""

from __future__ import annotations

import numpy as np

__all__ = ["INDEX_BITS", "SortedQueries"]

INDEX_BITS = 32


class SortedQueries:
    """What depends on the numbers of queries alone. queries: (trees,) int64; owner: (sum of queries,), each one's
    tree."""

    def __init__(self, queries: np.ndarray):
        self.total = int(queries.sum())
        self.owner = np.repeat(np.arange(len(queries)), queries)
        self._slot_bits = self.total.bit_length()
        self._tags = self.owner << (INDEX_BITS + self._slot_bits) | np.arange(self.total)

    def sort(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of indices, (total,) int64 below 2^32, tree after tree: in order the pairs of tree and index (its low 32
        bits), the numbers that the queries had, and h between each and the one before."""
        keys = np.sort((indices << self._slot_bits) + self._tags)
        pairs, slots = keys >> self._slot_bits, keys & ((1 << self._slot_bits) - 1)
        differing = np.empty(self.total, np.int64)
        differing[:1] = 1 << INDEX_BITS
        np.bitwise_xor(pairs[1:], pairs[:-1], out=differing[1:])
        # The exponent of a double is the length of an integer below 2^53.
        return pairs, slots, np.frexp(differing.astype(np.float64))[1]
