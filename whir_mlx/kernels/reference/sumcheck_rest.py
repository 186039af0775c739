"""Rounds of the sumcheck to the end of a phase, each with its challenge and the fold at it."""

import numpy as np

from .challenge import STATE_WORDS, challenge
from .check import require
from .sumcheck_fold import sumcheck_fold
from .sumcheck_round import sumcheck_round

__all__ = ["sumcheck_phase", "sumcheck_rest"]


def sumcheck_phase(
    state: np.ndarray,
    seed: np.ndarray,
    f: np.ndarray,
    w: np.ndarray,
    *,
    rounds: int,
    log_stride: int,
    falling: bool,
):
    """Absorbs the seed, then `rounds` times a round polynomial, draws a challenge after it, and folds at it.

    Args: state (26,) with nothing buffered; seed, one word or more in any shape; f and w, (N, 4) Montgomery words. The
    stride is 2^log_stride, in each further round half the last one's where `falling`.
    Returns the new state, (8 rounds + 26,): the messages and that state again, the challenges (rounds, 4), as drawn
    where `falling`, else the last first, and f and w, (N / 2^rounds, 4). Source: p3-sumcheck 0.8.0 (`strategy.rs`).
    """
    require(seed.size > 0, "seed", "of at least one word", f"shape {seed.shape}")
    return _rounds(state, seed, f, w, [], rounds, log_stride, falling)


def sumcheck_rest(
    state: np.ndarray,
    f: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    *,
    rounds: int,
    log_stride: int,
    falling: bool,
):
    """The fold at r, (4,), at log_stride, then `sumcheck_phase` from the next stride on, without a seed.

    The challenges returned are (rounds + 1, 4), r among them.
    """
    f, w = sumcheck_fold(f, w, r, log_stride=log_stride)
    return _rounds(state, state[:0], f, w, [r], rounds, log_stride - falling, falling)


def _rounds(state, seed, f, w, challenges: list, rounds: int, log_stride: int, falling: bool):
    require(state.shape == (STATE_WORDS,) and state[24] == 0, "state", "(26,) with nothing buffered", state[24:])
    require(rounds >= 1, "rounds", "at least 1", rounds)
    messages = []
    for number in range(rounds):
        stride = log_stride - number * falling
        messages.append(sumcheck_round(f, w, log_stride=stride).reshape(8))
        state, drawn, _ = challenge(state, [seed, messages[-1]], num_samples=4)
        challenges.append(drawn)
        f, w = sumcheck_fold(f, w, drawn, log_stride=stride)
        seed = state[:0]
    return state, np.concatenate([*messages, state]), np.stack(challenges if falling else challenges[::-1]), f, w
