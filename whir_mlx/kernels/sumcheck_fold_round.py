"""Binding one variable and making the next round polynomial in one pass (`sumcheck_fold_round.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation
from .share import share_out


@operation
def sumcheck_fold_round(device: Device, f, w, r, *, log_stride: int, next_log_stride: int):
    """`sumcheck_fold` at log_stride, then the shares of `sumcheck_round` at next_log_stride of its result.

    f, w: (N, 4), r: (4,) uint32 Montgomery words; N a multiple of 4 and of 2^(log_stride+1), N / 2 of
    2^(next_log_stride+1).
    Returns f', w', (N / 2, 4) each, and (shares, 2, 4), to be added. Source: p3-sumcheck 0.8.0 (`strategy.rs`).
    """
    check_shape("f", f.shape, ndim=2, last=4)
    count = f.shape[0]
    if (
        tuple(f.shape) != tuple(w.shape)
        or count < 4
        or count % (2 << log_stride)
        or count // 2 % (2 << next_log_stride)
    ):
        raise ValueError(
            f"f and w must have one shape, a multiple of {2 << log_stride} and {4 << next_log_stride} values, "
            f"got {f.shape}, {w.shape}"
        )
    pairs = count // 4
    threads, each = share_out(device, pairs)
    f_folded, w_folded, shares = device.launch(
        "sumcheck_fold_round",
        (threads, each, log_stride, next_log_stride, pairs),
        [f, w, r],
        [(count // 2, 4), (count // 2, 4), (threads // device.reduce_width, 2, 4)],
        grid=(threads, 1, 1),
        cost=120.0 * pairs,
    )
    return f_folded, w_folded, shares
