"""Sums of extension elements over a middle axis (`ext_sum.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def ext_sum(device: Device, x):
    """sum over c of x[g, c, b]. x: (G, C, B, 4) uint32 Montgomery words -> (G, B, 4)."""
    check_shape("x", x.shape, ndim=4, last=4)
    groups, count, columns, _ = x.shape
    return device.launch(
        "ext_sum",
        (columns, count),
        [x],
        [(groups, columns, 4)],
        grid=(columns, groups, 1),
        cost=2.0 * groups * count * columns,
    )[0]
