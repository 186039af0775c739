"""The one generator of test data, the same in every tool that makes or checks it.

    splitmix(seed, i) = (z ^ (z >> 31)) mod p, in 64-bit wrapping arithmetic, where
      z = seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB

Entry i of column c of table t of a random statement is splitmix(seed + 1000 t + c, i).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.field.constants import P

__all__ = ["splitmix"]

_SEED_STEP = 0xD1342543DE82EF95
_INDEX_STEP = 0x9E3779B97F4A7C15
# 64-bit temporaries of this many entries stay in the cache, and small beside the result.
_BLOCK = 1 << 16


def splitmix(seed: int, count: int, start: int = 0) -> np.ndarray:
    """splitmix(seed, i) for i in start..start+count-1: (count,) uint32, canonical.

    seed: any integer in 0..2^64-1. Raises ValueError for another seed or a negative count or start.
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed must be in 0..2^64-1, got {seed}")
    if count < 0 or start < 0:
        raise ValueError(f"count and start must not be negative, got {count} and {start}")
    result = np.empty(count, np.uint32)
    offset = np.uint64(seed * _SEED_STEP % 2**64)
    for first in range(0, count, _BLOCK):
        part = result[first : first + _BLOCK]
        index = np.arange(start + first + 1, start + first + 1 + len(part), dtype=np.uint64)
        z = index * np.uint64(_INDEX_STEP) + offset
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        part[:] = (z ^ (z >> np.uint64(31))) % np.uint64(P)
    return result
