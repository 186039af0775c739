"""Binding one variable of the sumcheck (`sumcheck_fold.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def sumcheck_fold(device: Device, f, w, r, *, log_stride: int):
    """f and w at the challenge: lo + r (hi - lo). f, w: (N, 4), r: (4,) uint32 Montgomery words -> two arrays (N / 2,
    4).

    Pairs as in `pairs.h`. Source: p3-sumcheck 0.8.0 (`strategy.rs`).
    """
    check_shape("f", f.shape, ndim=2, last=4)
    if tuple(f.shape) != tuple(w.shape) or f.shape[0] % (2 << log_stride):
        raise ValueError(
            f"f and w must have one shape, a multiple of {2 << log_stride} values, got {f.shape}, {w.shape}"
        )
    half = f.shape[0] // 2
    f_folded, w_folded = device.launch(
        "sumcheck_fold", (half, log_stride), [f, w, r], [(half, 4), (half, 4)], grid=(half, 1, 1), cost=40.0 * half
    )
    return f_folded, w_folded
