"""The table of eq(point, .) over the hypercube (`eq_table.metal`)."""

from __future__ import annotations

import numpy as np

from ..field.constants import MONTY_ONE
from .device import Device
from .eq_outer import eq_outer
from .operation import check_shape, operation


@operation
def eq_table(device: Device, point):
    """eq(point, b) for all b, coordinate 0 at the most significant bit. point: (n, 4) uint32 Montgomery words ->
    (2^n, 4).

    Source: p3-multilinear-util 0.8.0 (`point.rs`).
    """
    check_shape("point", point.shape, ndim=2, last=4)
    n = point.shape[0]
    if n == 0:
        return device.asarray(np.array([[MONTY_ONE, 0, 0, 0]], np.uint32))
    # A short table's entries are each their own product of n factors; a longer point is split in halves and multiplied
    # out, unless a thread makes several entries, which share most of their factors.
    each = device.tuning.eq_log_each if n >= device.tuning.eq_log_each else 0
    if not each and n > device.tuning.direct_variables:
        half = n // 2
        return eq_outer(device, eq_table(device, point[:half]), eq_table(device, point[half:]))
    return device.launch(
        "eq_table",
        (1 << n - each, n),
        [point],
        [(1 << n, 4)],
        grid=(1 << n - each, 1, 1),
        values={"LOG_EACH": each},
        cost=12.0 * n * (1 << n),
    )[0]
