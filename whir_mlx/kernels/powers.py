"""Powers of an extension element (`powers.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def powers(device: Device, x, *, count: int):
    """1, x, ..., x^(count-1). x: (4,) uint32 Montgomery words -> (count, 4). Raises ValueError for count < 1."""
    check_shape("x", x.shape, ndim=1, last=4)
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    bits = (count - 1).bit_length()
    return device.launch("powers", (count, bits), [x], [(count, 4)], grid=(count, 1, 1), cost=20.0 * count * bits)[0]
