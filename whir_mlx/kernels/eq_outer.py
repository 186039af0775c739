"""Outer product of two tables of extension elements (`eq_outer.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def eq_outer(device: Device, high, low):
    """high[a] * low[b] at a * B + b. high: (A, 4), low: (B, 4) uint32 Montgomery words -> (A * B, 4)."""
    check_shape("high", high.shape, ndim=2, last=4)
    check_shape("low", low.shape, ndim=2, last=4)
    rows, columns = high.shape[0], low.shape[0]
    return device.launch(
        "eq_outer", (columns,), [high, low], [(rows * columns, 4)], grid=(columns, rows, 1), cost=12.0 * rows * columns
    )[0]
