"""One round polynomial of the quadratic sumcheck (`sumcheck_round.metal`)."""

from __future__ import annotations

from .device import Device
from .ext_sum import ext_sum
from .operation import check_shape, operation
from .share import share_out


@operation
def sumcheck_round_shares(device: Device, f, w, *, log_stride: int):
    """The threads' shares of a round polynomial, to be added. Arguments as `sumcheck_round`; returns (shares, 2, 4)."""
    check_shape("f", f.shape, ndim=2, last=4)
    if tuple(f.shape) != tuple(w.shape) or f.shape[0] < 2 or f.shape[0] % (2 << log_stride):
        raise ValueError(
            f"f and w must have one shape, a multiple of {2 << log_stride} values, got {f.shape}, {w.shape}"
        )
    pairs = f.shape[0] // 2
    threads, each = share_out(device, pairs)
    return device.launch(
        "sumcheck_round",
        (threads, each, log_stride, pairs),
        [f, w],
        [(threads // device.reduce_width, 2, 4)],
        grid=(threads, 1, 1),
        cost=40.0 * pairs,
    )[0]


@operation
def sumcheck_round(device: Device, f, w, *, log_stride: int):
    """[sum f_lo w_lo, sum (f_hi - f_lo)(w_hi - w_lo)]: value at 0 and leading coefficient.

    f, w: (N, 4) uint32 Montgomery words, N a multiple of 2^(log_stride+1); pairs as in `pairs.h`. Returns (2, 4).
    Source: p3-sumcheck 0.8.0 (`strategy.rs`).
    """
    shares = sumcheck_round_shares(device, f, w, log_stride=log_stride)
    if shares.shape[0] == 1:
        return shares.reshape((2, 4))
    return ext_sum(device, shares.reshape((1, shares.shape[0], 2, 4))).reshape((2, 4))
