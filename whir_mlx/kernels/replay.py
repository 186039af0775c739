"""Many steps of a Fiat-Shamir transcript whose messages are known, in one launch (`replay.metal`)."""

from __future__ import annotations

import numpy as np

from .challenge import MAX_ABSORBED, MAX_INDEX_BITS
from .cooperative import tables
from .device import Device
from .operation import check_shape, operation, product


@operation
def replay(device: Device, state, words, *, steps: np.ndarray):
    """Absorbs and draws, step after step, what `challenge` does in as many launches.

    state: (26,) uint32, see docs/architecture.md; words: Montgomery words of any shape, absorbed in C order; steps:
    (S, 4) integers on the host, of each step the words it absorbs, the samples and then the indices that it draws,
    one draw at least, and the bits of the indices, 1 to 27 where there are any. Returns the new state (26,) and all
    that was drawn, in order: samples as Montgomery words, indices as plain integers (uniform: the one biased sample,
    p - 1, is drawn again). Raises ValueError for other steps, or words that are not as many as they absorb.
    Source: p3-challenger 0.8.0 (`duplex_challenger.rs`).
    """
    check_shape("state", state.shape, ndim=1, last=26)
    count = product(words.shape)
    draws = checked_draws(steps, count)
    (out,) = device.launch(
        "replay",
        (len(steps), count),
        [tables(device), state, device.asarray(steps.astype(np.uint32)), words if count else state],
        [(26 + draws,)],
        grid=(device.simd_width, 1, 1),
        group=(device.simd_width, 1, 1),
        lanes=device.simd_width,
    )
    return out[:26], out[26:]


def checked_draws(steps: np.ndarray, words: int) -> int:
    """How much `steps` draw in all. Raises ValueError where they are no steps, or do not absorb `words` words."""
    check_shape("steps", steps.shape, ndim=2, last=4)
    if not len(steps):
        raise ValueError("steps must be one or more, got none")
    absorbed, _, indices, bits = columns = steps.T.astype(np.int64)
    if columns.min() < 0 or (columns[1] + indices).min() < 1:
        raise ValueError(f"a step must draw, and its numbers must be at least 0, got {steps.tolist()}")
    if bits.max() > MAX_INDEX_BITS or (bits[indices > 0] < 1).any():
        raise ValueError(f"bits of indices must be in 1..{MAX_INDEX_BITS}, got {steps.tolist()}")
    if absorbed.sum() != words or words >= MAX_ABSORBED:
        raise ValueError(f"words must be as many as the steps absorb, {absorbed.sum()}, and below 2^30, got {words}")
    return int((columns[1] + indices).sum())
