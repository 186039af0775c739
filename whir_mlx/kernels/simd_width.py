"""Whether a device's SIMD groups are those that kernels are written for (`simd_width.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import operation

THREADS = 64
"""Of the probe: groups wider than those expected would show in the second half."""


@operation
def simd_width(device: Device):
    """Three arrays (64,) of uint32, all 0 where SIMD groups have `device.simd_width` consecutive threads.

    The first is their real width less the expected one, modulo 2^32; the second and third tell lanes and a shuffle.
    """
    shape = (THREADS,)
    return device.launch(
        "simd_width", (device.simd_width,), [], [shape] * 3, grid=(THREADS, 1, 1), lanes=device.simd_width
    )
