"""Inner products of extension vectors (`dot.metal`)."""

from __future__ import annotations

from .device import Device
from .ext_sum import ext_sum
from .operation import check_shape, operation
from .share import share_out


@operation
def dot_shares(device: Device, a, b):
    """The threads' shares of sum of a[i] * b[i]. a, b: (N, 4) uint32 Montgomery words, N >= 1 -> (shares, 4), to be
    added."""
    check_shape("a", a.shape, ndim=2, last=4)
    if tuple(a.shape) != tuple(b.shape) or a.shape[0] < 1:
        raise ValueError(
            f"a and b must have one shape of at least one element, got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    count = a.shape[0]
    threads, each = share_out(device, count)
    return device.launch(
        "dot",
        (threads, each, count),
        [a, b],
        [(threads // device.reduce_width, 4)],
        grid=(threads, 1, 1),
        cost=12.0 * count,
    )[0]


@operation
def dot(device: Device, a, b):
    """sum of a[i] * b[i]. a, b: (N, 4) uint32 Montgomery words, N >= 1 -> (4,)."""
    shares = dot_shares(device, a, b)
    if shares.shape[0] == 1:
        return shares.reshape((4,))
    return ext_sum(device, shares.reshape((1, shares.shape[0], 1, 4))).reshape((4,))
