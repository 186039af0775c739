"""Elementwise arithmetic of BabyBear on Montgomery words (`field_arithmetic.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import operation, product

_COST = (1.0, 1.0, 1.0, 60.0)


@operation
def field_add(device: Device, a, b):
    """a + b mod p. Two uint32 arrays of one shape, Montgomery (or both canonical) words -> same shape."""
    return _elementwise(device, a, b, 0)


@operation
def field_sub(device: Device, a, b):
    """a - b mod p. Two uint32 arrays of one shape, Montgomery (or both canonical) words -> same shape."""
    return _elementwise(device, a, b, 1)


@operation
def field_mul(device: Device, a, b):
    """a * b. Two uint32 arrays of one shape, Montgomery words -> same shape."""
    return _elementwise(device, a, b, 2)


@operation
def field_inverse(device: Device, a):
    """a^-1, and 0 for 0. uint32 Montgomery words of any shape -> same shape."""
    return _elementwise(device, a, a, 3)


def _elementwise(device: Device, a, b, which: int):
    if tuple(a.shape) != tuple(b.shape):
        raise ValueError(f"a and b must have one shape, got {tuple(a.shape)} and {tuple(b.shape)}")
    count = product(a.shape)
    if count == 0:
        return a
    return device.launch(
        "field_arithmetic",
        (count,),
        [a, b],
        [a.shape],
        grid=(count, 1, 1),
        values={"OPERATION": which},
        cost=_COST[which] * count,
    )[0]
