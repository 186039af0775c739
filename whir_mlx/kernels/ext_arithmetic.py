"""Elementwise arithmetic of the quartic extension on Montgomery words (`ext_arithmetic.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation, product

_COST = (3.0, 3.0, 12.0, 90.0)


@operation
def ext_add(device: Device, a, b):
    """a + b. Two uint32 arrays of one shape (..., 4), Montgomery words -> same shape."""
    return _elementwise(device, a, b, 0)


@operation
def ext_sub(device: Device, a, b):
    """a - b. Two uint32 arrays of one shape (..., 4), Montgomery words -> same shape."""
    return _elementwise(device, a, b, 1)


@operation
def ext_mul(device: Device, a, b):
    """a * b in F[X] / (X^4 - 11). Two uint32 arrays of one shape (..., 4), Montgomery words -> same shape."""
    return _elementwise(device, a, b, 2)


@operation
def ext_inverse(device: Device, a):
    """a^-1, and 0 for 0. uint32 (..., 4), Montgomery words -> same shape."""
    return _elementwise(device, a, a, 3)


def _elementwise(device: Device, a, b, which: int):
    check_shape("a", a.shape, last=4)
    if tuple(a.shape) != tuple(b.shape):
        raise ValueError(f"a and b must have one shape, got {tuple(a.shape)} and {tuple(b.shape)}")
    count = product(a.shape) // 4
    if count == 0:
        return a
    return device.launch(
        "ext_arithmetic",
        (count,),
        [a, b],
        [a.shape],
        grid=(count, 1, 1),
        values={"OPERATION": which},
        cost=_COST[which] * count,
    )[0]
