"""Many steps of the duplex challenger."""

import numpy as np

from .challenge import challenge
from .check import require

__all__ = ["replay"]


def replay(state: np.ndarray, words: np.ndarray, *, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `challenge` step by step. steps: (S, 4), words absorbed, samples, indices and index bits of each step.

    Returns the new state (26,) and the draws, in order. Source: p3-challenger 0.8.0 (`duplex_challenger.rs`).
    """
    require(steps.ndim == 2 and steps.shape[1:] == (4,) and len(steps) > 0, "steps", "of shape (S, 4)", steps.shape)
    require(bool((steps[:, 1:3].sum(axis=1) > 0).all()), "a step", "one that draws", steps.tolist())
    words = np.reshape(words, -1)
    require(words.size == steps[:, 0].sum(), "words", "as many as the steps absorb", words.size)
    drawn, read = [], 0
    for absorbed, samples, indices, bits in steps.tolist():
        state, *draws = challenge(
            state, [words[read : read + absorbed]], num_samples=samples, num_indices=indices, index_bits=bits
        )
        drawn += draws
        read += absorbed
    return state, np.concatenate(drawn)
