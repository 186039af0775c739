"""A ground sumcheck round's challenge, the fold at it and the next round polynomial in one launch, for few values
(`sumcheck_draw_fold.metal`)."""

from __future__ import annotations

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation

MOST_VALUES = 1 << 20
"""Every group draws the challenge by itself: for many values that would be many groups."""

# Rows of four words: outcome, state, challenge, then the shares.
_STATE, _CHALLENGE, _SHARES = 2, 9, 10


@operation
def sumcheck_draw_fold(device: Device, state, found, f, w, *, log_stride: int, next_log_stride: int | None):
    """`challenge_grind` of four samples, then at these `sumcheck_fold_round`, or `sumcheck_fold` where next_log_stride
    is None.

    state: (26,) uint32, see docs/architecture.md; found: (1,), what `grind_found` gave; f, w: (N, 4) Montgomery words,
    N <= 2^20 a multiple of 2^(log_stride+1), N / 2 of 2^(next_log_stride+1).
    Returns the new state (26,), the outcome (8,): the witness, then the sample that decides about it, both canonical,
    then zeros; the challenge (4,), f' and w' (N / 2, 4), and (shares, 2, 4), to be added, or None.
    Raises ValueError for other shapes. Source: p3-challenger 0.8.0 (`grinding_challenger.rs`), p3-sumcheck 0.8.0
    (`strategy.rs`).
    """
    check_shape("state", state.shape, ndim=1, last=26)
    check_shape("found", found.shape, ndim=1, last=1)
    check_shape("f", f.shape, ndim=2, last=4)
    count, summing = f.shape[0], next_log_stride is not None
    following = next_log_stride if summing else 0
    odd = count % (2 << log_stride) or (summing and count // 2 % (2 << following))
    if tuple(f.shape) != tuple(w.shape) or odd or not 0 < count <= MOST_VALUES:
        raise ValueError(
            f"f and w must have one shape, a multiple of {2 << log_stride} and {4 << following if summing else 2} "
            f"values and at most {MOST_VALUES}, got {tuple(f.shape)}, {tuple(w.shape)}"
        )
    values = count // 2
    pairs = (values + 1) // 2
    threads = device.simd_width
    while threads < device.tuning.draw_threads and threads < pairs:
        threads *= 2
    groups = -(-pairs // threads)
    start = _SHARES + 2 * groups * summing
    (out,) = device.launch(
        "sumcheck_draw_fold",
        (values, log_stride, following, int(summing)),
        [tables(device), state, found, f, w],
        [(start + 2 * values, 4)],
        groups=(groups, 1, 1),
        group=(threads, 1, 1),
        lanes=device.simd_width,
        cost=60.0 * count + 1000.0 * groups,
    )
    # Views, of which those that nobody uses cost a graph nothing.
    flat = out.reshape((4 * (start + 2 * values),))
    return (
        flat[4 * _STATE : 4 * _STATE + 26],
        flat[: 4 * _STATE],
        flat[4 * _CHALLENGE : 4 * _SHARES],
        out[start : start + values],
        out[start + values :],
        out[_SHARES:start].reshape((groups, 2, 4)) if summing else None,
    )
