"""Inner products of extension vectors (`dot.metal`)."""

from __future__ import annotations

from .device import Device
from .ext_sum import ext_sum
from .operation import check_shape, operation
from .share import share_out


@operation
def dot(device: Device, a, b):
    """sum of a[i] * b[i]. a, b: (N, 4) uint32 Montgomery words, N a power of two -> (4,)."""
    check_shape("a", a.shape, ndim=2, last=4)
    if tuple(a.shape) != tuple(b.shape):
        raise ValueError(f"a and b must have one shape, got {tuple(a.shape)} and {tuple(b.shape)}")
    count = a.shape[0]
    threads, each = share_out(device, count)
    (partial,) = device.launch("dot", (threads, each), [a, b], [(threads, 4)], grid=(threads, 1, 1), cost=12.0 * count)
    if threads == 1:
        return partial.reshape((4,))
    return ext_sum(device, partial.reshape((1, threads, 1, 4))).reshape((4,))
