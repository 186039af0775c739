"""The point (y^(2^(n-1)), ..., y^2, y) of a univariate challenge (`expand_point.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def expand_point(device: Device, y, *, num_variables: int):
    """y: (4,) uint32 Montgomery words -> (n, 4). Raises ValueError for n < 1.

    Source: p3-multilinear-util 0.8.0 (`point.rs`, expand_from_univariate).
    """
    check_shape("y", y.shape, ndim=1, last=4)
    if num_variables < 1:
        raise ValueError(f"num_variables must be at least 1, got {num_variables}")
    return device.launch("expand_point", (num_variables,), [y], [(num_variables, 4)], grid=(1, 1, 1), lanes=1)[0]
