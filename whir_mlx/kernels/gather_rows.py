"""Rows of a matrix at device-drawn indices (`gather_rows.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def gather_rows(device: Device, x, indices):
    """x[indices[q], :]. x: (R, width) uint32; indices: (Q,) plain integers below R (not checked here) -> (Q, width)."""
    check_shape("x", x.shape, ndim=2)
    width, queries = x.shape[1], indices.shape[0]
    if queries == 0 or width == 0:
        return x[:0]
    return device.launch(
        "gather_rows", (width,), [x, indices], [(queries, width)], grid=(width, queries, 1), cost=1.0 * width * queries
    )[0]
