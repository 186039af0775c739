"""Canonical words to Montgomery words and back (`montgomery.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import operation, product


@operation
def to_montgomery(device: Device, x):
    """x * 2^32 mod p for canonical words below p. Any shape, uint32 -> same shape."""
    return _convert(device, x, 1)


@operation
def from_montgomery(device: Device, x):
    """x * 2^-32 mod p: Montgomery words to canonical ones. Any shape, uint32 -> same shape."""
    return _convert(device, x, 0)


def _convert(device: Device, x, direction: int):
    count = product(x.shape)
    if count == 0:
        return x
    return device.launch(
        "montgomery",
        (count,),
        [x],
        [x.shape],
        grid=(count, 1, 1),
        values={"TO_MONTGOMERY": direction},
        cost=1.0 * count,
    )[0]
