"""What a transcript draws and grinds at most, and the words of a witness.

Source: p3-challenger 0.8.0 (`duplex_challenger.rs`, `grinding_challenger.rs`).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.field.numpy_field import montgomery_word
from whir_mlx.kernels.challenge import MAX_INDEX_BITS
from whir_mlx.kernels.grind import MAX_GRINDING_BITS

__all__ = ["check_index_bits", "no_grinding", "witness_words"]


def check_index_bits(bits: int) -> None:
    """Raises `ValueError` for bits that no index is drawn of."""
    if not 0 <= bits <= MAX_INDEX_BITS:
        raise ValueError(f"index bits must be in 0..{MAX_INDEX_BITS}, got {bits}")


def no_grinding(bits: int) -> bool:
    """Whether so many bits need no witness. Raises `ValueError` for bits that no witness is found for."""
    if not 0 <= bits <= MAX_GRINDING_BITS:
        raise ValueError(f"grinding bits must be in 0..{MAX_GRINDING_BITS}, got {bits}")
    return bits == 0


def witness_words(witness: int) -> np.ndarray:
    """(1,) Montgomery words: what is absorbed of a canonical witness."""
    return np.array([montgomery_word(int(witness))])
