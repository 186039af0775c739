"""Sums of extension elements over a middle axis (`ext_sum.metal`, `ext_sum_simd.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

SIMD_WIDTH = 32
# Entries that a SIMD group adds up before another takes its sum: two launches are quicker than a long wait.
_RUN = 128


@operation
def ext_sum(device: Device, x):
    """sum over c of x[g, c, b]. x: (G, C, B, 4) uint32 Montgomery words -> (G, B, 4)."""
    check_shape("x", x.shape, ndim=4, last=4)
    groups, count, columns, _ = x.shape
    if device.simd_width == SIMD_WIDTH and count > 4 * _RUN and count % _RUN == 0:
        shares = ext_sum(device, x.reshape((groups * count // _RUN, _RUN, columns, 4)))
        return ext_sum(device, shares.reshape((groups, count // _RUN, columns, 4)))
    if device.simd_width == SIMD_WIDTH and count > SIMD_WIDTH:
        return device.launch(
            "ext_sum_simd",
            (columns, count),
            [x],
            [(groups, columns, 4)],
            grid=(SIMD_WIDTH, columns, groups),
            group=(SIMD_WIDTH, 1, 1),
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
