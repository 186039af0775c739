"""The challenge of a ground round, the fold at it and the next round polynomial."""

import numpy as np

from .challenge import challenge_grind
from .sumcheck_fold import sumcheck_fold
from .sumcheck_round import sumcheck_round

__all__ = ["sumcheck_draw_fold"]


def sumcheck_draw_fold(
    state: np.ndarray,
    found: np.ndarray,
    f: np.ndarray,
    w: np.ndarray,
    *,
    log_stride: int,
    next_log_stride: int | None,
):
    """State, outcome (8,) and challenge (4,) of `challenge_grind`, f and w at the challenge, (N/2, 4) each, and their
    round polynomial as one share, (1, 2, 4), or None without a next stride."""
    state, r, _, outcome = challenge_grind(state, found, num_samples=4)
    f, w = sumcheck_fold(f, w, r, log_stride=log_stride)
    shares = None if next_log_stride is None else sumcheck_round(f, w, log_stride=next_log_stride)[None]
    return state, outcome, r, f, w, shares
