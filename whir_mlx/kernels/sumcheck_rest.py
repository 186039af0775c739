"""Rounds of a sumcheck to the end of its phase in one launch of one group, for few values (`sumcheck_rest.metal`)."""

from __future__ import annotations

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation, product

MOST_VALUES = 1 << 16
"""One group would take longer for more than the launches it saves."""


@operation
def sumcheck_phase(device: Device, state, seed, f, w, *, rounds: int, log_stride: int, falling: bool):
    """A whole phase without grinding: absorbs the seed, then per round a message, draws a challenge, and folds at it.

    state: (26,) uint32, see docs/architecture.md, with nothing buffered, as just after a draw (this is not looked at);
    seed: one word or more in any shape, f, w: (N, 4) Montgomery words, N <= 2^16. The pairs of f and w have stride
    2^log_stride (`pairs.h`), and those of each further round the same, or half of it where `falling`; N a multiple of
    2^(rounds+log_stride), or where it falls of 2^(log_stride+1), rounds in 1..log_stride+1.
    Returns the new state, as `challenge` leaves it after it drew 4 words; (8 rounds + 26,): the messages, each a value
    at 0 and a leading coefficient, then that state again; the challenges (rounds, 4) in the order of the variables that
    they bind (as drawn where strides fall, else the last first); f and w, (N / 2^rounds, 4) each.
    Raises ValueError for other shapes. Source: p3-sumcheck 0.8.0 (`strategy.rs`).
    """
    if product(seed.shape) < 1:
        raise ValueError("seed must have at least one word, got none")
    return _launch(device, state, seed, f, w, None, rounds, log_stride, falling)


@operation
def sumcheck_rest(device: Device, state, f, w, r, *, rounds: int, log_stride: int, falling: bool):
    """The rest of a phase: folds at r, (4,), drawn just before, then goes on as `sumcheck_phase`, without a seed.

    log_stride is that of the fold at r, which is not counted in `rounds`: N is a multiple of 2^(rounds+1+log_stride),
    or where strides fall of 2^(log_stride+1), rounds in 1..log_stride. r is among the challenges returned, (rounds + 1,
    4), and f and w are (N / 2^(rounds+1), 4). Otherwise as there.
    """
    check_shape("r", r.shape, ndim=1, last=4)
    return _launch(device, state, None, f, w, r, rounds, log_stride, falling)


def _launch(device: Device, state, seed, f, w, r, rounds: int, log_stride: int, falling: bool):
    check_shape("state", state.shape, ndim=1, last=26)
    check_shape("f", f.shape, ndim=2, last=4)
    folds, count = rounds + (r is not None), f.shape[0]
    if rounds < 1 or log_stride < (folds - 1 if falling else 0):
        raise ValueError(f"rounds must be at least 1 and fit the strides, got {rounds} from stride 2^{log_stride} on")
    multiple = 1 << (log_stride + (1 if falling else folds))
    if tuple(f.shape) != tuple(w.shape) or count % multiple or not 0 < count <= MOST_VALUES:
        raise ValueError(
            f"f and w must have one shape, a multiple of {multiple} values and at most {MOST_VALUES}, "
            f"got {tuple(f.shape)}, {tuple(w.shape)}"
        )
    first, first_stride, left = count, log_stride, count >> folds
    if r is not None:
        first, first_stride = count // 2, log_stride - falling
    threads = device.simd_width
    while threads < device.tuning.rest_threads and threads < first:
        threads *= 2
    sent, values = device.launch(
        "sumcheck_rest",
        (first, rounds, first_stride, int(falling), 0 if seed is None else product(seed.shape), int(r is not None)),
        [tables(device), state, state if seed is None else seed, f, w, state if r is None else r],
        [(8 * rounds + 26,), (folds + 2 * left + 4 * (first - left), 4)],
        groups=(1, 1, 1),
        group=(threads, 1, 1),
        lanes=device.simd_width,
        cost=120.0 * count + 5000.0 * rounds,
    )
    # Views, of which those that nobody uses cost a graph nothing.
    w_start = folds + left
    return sent[8 * rounds :], sent, values[:folds], values[folds:w_start], values[w_start : w_start + left]
