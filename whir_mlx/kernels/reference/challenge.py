"""The duplex challenger: width 16, rate 8, overwrite."""

import numpy as np

from ...field.constants import TWO_ADICITY, P
from ...field.numpy_field import add, field_sum, from_montgomery, montgomery_word, to_montgomery
from .check import require
from .poseidon2 import poseidon2

__all__ = ["RATE", "STATE_WORDS", "challenge", "challenge_grind", "challenge_shares", "duplex"]

RATE = 8
"""Words absorbed by one permutation; the state's layout is in docs/architecture.md, "Operations"."""

STATE_WORDS = 26


def challenge(
    state: np.ndarray,
    segments: list[np.ndarray],
    *,
    num_samples: int,
    num_indices: int = 0,
    index_bits: int = 0,
    num_after: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Absorb, then sample field elements, then sample indices, then sample field elements again.

    Args: state (26,); segments, arrays of words (possibly empty) absorbed in order, each flattened; index_bits <= 27.
    Returns the new state (26,), samples (num_samples + num_after,) Montgomery words, and indices (num_indices,) plain
    integers below 2^index_bits, each from a draw that is repeated while its canonical value is not below
    p - (p mod 2^index_bits); with index_bits = 0 nothing is drawn. Buffer words beyond the number of buffered inputs
    are 0.
    Source: p3-challenger 0.8.0 (`duplex_challenger.rs`).
    """
    require(state.shape == (STATE_WORDS,), "state", f"of shape ({STATE_WORDS},)", state.shape)
    require(0 <= index_bits <= TWO_ADICITY, "index_bits", f"in 0..{TWO_ADICITY}", index_bits)
    sponge, buffer, left = state[:16], state[16 : 16 + int(state[24])], int(state[25])
    absorbed = np.concatenate([state[:0], *(np.reshape(segment, -1) for segment in segments)])
    if absorbed.size:
        pending = np.concatenate([buffer, absorbed])
        full = len(pending) // RATE * RATE
        for start in range(0, full, RATE):
            sponge = duplex(sponge, pending[start : start + RATE])
        buffer = pending[full:]
        # Absorbing a word drops the outputs; a block that it completes is permuted at once and gives new ones.
        left = 0 if buffer.size else RATE

    def draw() -> np.uint32:
        nonlocal sponge, buffer, left
        if buffer.size or left == 0:
            sponge, buffer, left = duplex(sponge, buffer), buffer[:0], RATE
        left -= 1
        return sponge[left]

    samples = np.array([draw() for _ in range(num_samples)], np.uint32)
    indices = np.zeros(num_indices, np.uint32)
    if index_bits:
        for k in range(num_indices):
            indices[k] = _uniform_index(draw, index_bits)
    samples = np.append(samples, np.array([draw() for _ in range(num_after)], np.uint32))
    new_state = np.zeros(STATE_WORDS, np.uint32)
    new_state[:16] = sponge
    new_state[16 : 16 + buffer.size] = buffer
    new_state[24:] = buffer.size, left
    return new_state, samples, indices


def challenge_grind(
    state: np.ndarray, found: np.ndarray, *, num_samples: int, num_after: int = 0, **draws
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`challenge` of the witness ~found, with one more sample before the others.

    found: (1,). Returns state, samples and indices of `challenge` (without that sample), and (8,): witness and sample,
    both canonical, and zeros.
    """
    witness = ~found
    before, first, _ = challenge(state, [to_montgomery(witness)], num_samples=1)
    outcome = np.zeros(8, np.uint32)
    outcome[:2] = witness[0], from_montgomery(first[0])
    return *challenge(before, [], num_samples=num_samples, num_after=num_after, **draws), outcome


def challenge_shares(
    state: np.ndarray, before: np.ndarray, shares: np.ndarray, after: list[np.ndarray], *, num_samples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `challenge` of `before`, the sum of `shares`, (P, ...) of W <= 8 words each, and `after`; returns state,
    samples, and (8,), the sum and zeros."""
    require(shares.ndim >= 2 and shares.size > 0, "shares", "(P, ...)", shares.shape)
    total = field_sum(shares.reshape(shares.shape[0], -1), axis=0)
    require(total.size <= 8, "a share", "of at most 8 words", total.size)
    require(len(after) <= 2, "after", "of at most 2 arrays", len(after))
    state, samples, _ = challenge(state, [before, total, *after], num_samples=num_samples)
    return state, samples, np.pad(total, (0, 8 - total.size))


def duplex(sponge: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The sponge after absorbing m = 0..8 buffered inputs: (16,) and (m,) -> (16,)."""
    sponge = sponge.copy()
    if inputs.size:
        # The zero fill together with the count in the capacity keeps [5, 7] and [5, 7, 0] apart.
        sponge[:RATE] = 0
        sponge[: inputs.size] = inputs
        sponge[RATE] = add(sponge[RATE], montgomery_word(inputs.size))
    return poseidon2(sponge[None])[0]


def _uniform_index(draw, bits: int) -> int:
    bound = P - P % 2**bits
    while True:
        value = int(from_montgomery(draw()))
        if value < bound:
            return value % 2**bits
