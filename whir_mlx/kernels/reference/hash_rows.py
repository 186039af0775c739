"""Leaf digests: the padding-free overwrite sponge over rows."""

import numpy as np

from .check import require
from .poseidon2 import poseidon2

__all__ = ["DIGEST_WORDS", "hash_rows"]

DIGEST_WORDS = 8


def hash_rows(rows: np.ndarray, *, rate: int) -> np.ndarray:
    """Digest of every row: (N, w) -> (N, 8) Montgomery words; w may be 0 (digest 0).

    `rate` is 8 (permutation of width 16) or 16 (width 24). Source: p3-symmetric 0.8.0 (`sponge.rs`,
    `PaddingFreeSponge`).
    """
    require(rows.ndim == 2, "rows", "a matrix", f"shape {rows.shape}")
    require(rate in (8, 16), "rate", "8 or 16", rate)
    count, width = rows.shape
    state = np.zeros((count, rate + 8), np.uint32)
    for start in range(0, width, rate):
        block = rows[:, start : start + rate]
        # A last partial block overwrites its own words only; the rest of the rate keeps the previous output.
        state[:, : block.shape[1]] = block
        state = poseidon2(state)
    return state[:, :DIGEST_WORDS].copy()
