"""One window of a grind."""

import numpy as np

from ...field.constants import P
from .challenge import STATE_WORDS, challenge_shares
from .check import require
from .grind import meets

__all__ = ["grind_sixteen", "grind_sixteen_shares"]


def grind_sixteen(
    state: np.ndarray, previous: np.ndarray, *, bits: int, start: int, candidates: int, tries: int
) -> np.ndarray:
    """The largest ~w of all witnesses w in start .. start + candidates * tries - 1; `previous` where it is not 0.

    Args: state (26,); previous (1,) or more words; bits in 1..30. Returns (1,), 0 where there is none.
    Source: p3-challenger 0.8.0 (`grinding_challenger.rs`).
    """
    require(state.shape == (STATE_WORDS,), "state", f"of shape ({STATE_WORDS},)", state.shape)
    require(1 <= bits <= 30, "bits", "in 1..30", bits)
    if previous[0]:
        return previous[:1].copy()
    window = np.arange(start, min(start + candidates * tries, P), dtype=np.uint32)
    hits = window[meets(state, window, bits)]
    return ~hits[:1] if hits.size else np.zeros(1, np.uint32)


def grind_sixteen_shares(
    state: np.ndarray, previous: np.ndarray, shares: np.ndarray, **window: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`challenge_shares` of (P, ...), 8 words a share, by a state with nothing buffered, then `grind_sixteen`.

    Returns the new state, (35,): the sum, that state and the answer; and the answer.
    """
    require(state.shape == (STATE_WORDS,) and state[24] == 0, "state", "(26,) with nothing buffered", state[24:])
    require(shares.size == 8 * len(shares), "a share", "of 8 words", shares.shape)
    state, _, message = challenge_shares(state, state[:0], shares, [], num_samples=0)
    found = grind_sixteen(state, previous, **window)
    return state, np.concatenate([message, state, found]), found
