"""One window of a grind."""

import numpy as np

from ...field.constants import P
from .challenge import STATE_WORDS
from .check import require
from .grind import meets

__all__ = ["grind_sixteen"]


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
