"""Adding multiples of one table to several (`add_scaled.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation


@operation
def add_scaled(device: Device, w, coefficients, table):
    """w[c, i] + coefficients[c] * table[i]. w: (C, N, 4), coefficients: (C, 4), table: (N, 4), Montgomery words ->
    (C, N, 4)."""
    check_shape("w", w.shape, ndim=3, last=4)
    groups, count, _ = w.shape
    if tuple(coefficients.shape) != (groups, 4) or tuple(table.shape) != (count, 4):
        raise ValueError(
            f"coefficients and table must be ({groups}, 4) and ({count}, 4) for w {tuple(w.shape)}, "
            f"got {tuple(coefficients.shape)} and {tuple(table.shape)}"
        )
    return device.launch(
        "add_scaled",
        (count,),
        [w, coefficients, table],
        [(groups, count, 4)],
        grid=(count, groups, 1),
        cost=12.0 * groups * count,
    )[0]
