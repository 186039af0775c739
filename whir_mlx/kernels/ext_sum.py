"""Sums of extension elements over a middle axis (`ext_sum.metal`, `ext_sum_group.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

SIMD_WIDTH = 32
# A group's threads at most: eight SIMD groups, with one entry in four.
_GROUP = 256


@operation
def ext_sum(device: Device, x):
    """sum over c of x[g, c, b]. x: (G, C, B, 4) uint32 Montgomery words -> (G, B, 4)."""
    check_shape("x", x.shape, ndim=4, last=4)
    groups, count, columns, _ = x.shape
    if device.simd_width == SIMD_WIDTH and count > SIMD_WIDTH:
        threads = SIMD_WIDTH
        while threads < _GROUP and 4 * threads < count:
            threads *= 2
        return device.launch(
            "ext_sum_group",
            (columns, count),
            [x],
            [(groups, columns, 4)],
            groups=(1, columns, groups),
            group=(threads, 1, 1),
            lanes=SIMD_WIDTH,
            cost=2.0 * groups * count * columns,
        )[0]
    return device.launch(
        "ext_sum",
        (columns, count),
        [x],
        [(groups, columns, 4)],
        grid=(columns, groups, 1),
        cost=2.0 * groups * count * columns,
    )[0]
