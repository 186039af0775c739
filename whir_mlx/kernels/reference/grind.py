"""Proof of work on the duplex challenger."""

import numpy as np

from ...errors import WhirError
from ...field.constants import P
from ...field.numpy_field import add, from_montgomery, montgomery_word, to_montgomery
from .challenge import RATE, STATE_WORDS, challenge_shares
from .check import require
from .poseidon2 import poseidon2

__all__ = ["grind", "grind_found", "grind_shares", "meets"]

_FIRST_BLOCK = 2**6
_LAST_BLOCK = 2**15
"""Candidates tried together: growing, so that few bits stay cheap, up to where a permutation costs no less."""


def grind(state: np.ndarray, *, bits: int) -> np.ndarray:
    """The smallest canonical w such that after observing w the low `bits` bits of the next canonical sample are 0.

    Args: state (26,); bits in 0..30. Returns (1,), a **canonical** word; 0 for bits = 0. The caller observes it and
    draws the sample. Raises WhirError if no word below p will do.
    Source: p3-challenger 0.8.0 (`grinding_challenger.rs`).
    """
    require(state.shape == (STATE_WORDS,), "state", f"of shape ({STATE_WORDS},)", state.shape)
    require(0 <= bits <= 30, "bits", "in 0..30", bits)
    if bits == 0:
        return np.zeros(1, np.uint32)
    start, size = 0, _FIRST_BLOCK
    while start < P:
        candidates = np.arange(start, min(start + size, P), dtype=np.uint32)
        hits = np.flatnonzero(meets(state, candidates, bits))
        if hits.size:
            return candidates[hits[:1]]
        start, size = start + size, min(2 * size, _LAST_BLOCK)
    raise WhirError(f"grind: no witness of {bits} bits exists for this transcript")


def grind_found(state: np.ndarray, *, bits: int) -> np.ndarray:
    """The complement of `grind`."""
    return ~grind(state, bits=bits)


def grind_shares(state: np.ndarray, shares: np.ndarray, *, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`challenge_shares` of the shares, (P, 2, 4), alone, then `grind_found`: state, sum and find."""
    require(state[24] == 0, "state", "with nothing buffered", state[24:])
    state, _, message = challenge_shares(state, state[:0], shares, [], num_samples=0)
    return state, message, grind_found(state, bits=bits)


def meets(state: np.ndarray, candidates: np.ndarray, bits: int) -> np.ndarray:
    """Which canonical `candidates` are witnesses, as booleans."""
    buffered = int(state[24])
    # Whether w completes the block (7 buffered) or not, one permutation follows: buffered inputs, w, zeros, the count.
    template = state[:16].copy()
    template[:RATE] = 0
    template[:buffered] = state[16 : 16 + buffered]
    template[RATE] = add(template[RATE], montgomery_word(buffered + 1))
    states = np.repeat(template[None], len(candidates), axis=0)
    states[:, buffered] = to_montgomery(candidates)
    sample = from_montgomery(poseidon2(states)[:, RATE - 1])
    return (sample & np.uint32(2**bits - 1)) == 0
