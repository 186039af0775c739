"""The weights of claims at one point (`point_weights.metal`)."""

from __future__ import annotations

import numpy as np

from .device import Device
from .operation import check_shape, operation

MAX_CLAIMS = 1 << 20  # their shapes come from the host; a proof has some hundreds


@operation
def point_weights(device: Device, x, y, factors, *, shapes: np.ndarray):
    """factors[k] times the weight that claim k has at x: of eq(., point), or of b -> y^b, from its challenge alone.

    x: (n, 4), n >= 1; y, factors: (K, 4), 1 <= K <= 2^20; Montgomery words (canonical factors give canonical results).
    shapes: (K, 3) integers on the host: a claim's variables v, the first of its v rows of x, and 0 for eq of the point
    (y^(2^(v-1)), ..., y^2, y), 1 for powers. Returns (K, 4). Raises ValueError for other shapes, or rows that x does
    not have.
    Source: p3-sumcheck 0.8.0 (`constraints/statement/{eq,select}.rs`), p3-multilinear-util 0.8.0 (`point.rs`).
    """
    check_shape("x", x.shape, ndim=2, last=4)
    check_shape("y", y.shape, ndim=2, last=4)
    count, rows = y.shape[0], x.shape[0]
    check_claims(shapes, rows, count)
    if tuple(factors.shape) != (count, 4):
        raise ValueError(f"factors must be of shape ({count}, 4), got {tuple(factors.shape)}")
    most = int(shapes[:, 0].max())
    return device.launch(
        "point_weights",
        (count, most, rows),
        [x, device.asarray(shapes.astype(np.uint32)), y, factors],
        [(count, 4)],
        grid=(count, 1, 1),
        cost=100.0 * count * most,
    )[0]


def check_claims(shapes: np.ndarray, rows: int, count: int) -> None:
    """Raises ValueError where `shapes` are not those of `count` claims at a point of `rows` coordinates."""
    if count > MAX_CLAIMS:
        raise ValueError(f"y must have at most {MAX_CLAIMS} rows, got {count}")
    if not rows or not count or tuple(shapes.shape) != (count, 3):
        raise ValueError(f"shapes must be ({count}, 3), of a claim or more and a point, got {tuple(shapes.shape)}")
    if shapes.min() < 0 or shapes[:, :2].sum(axis=1).max() > rows or shapes[:, 2].max() > 1:
        raise ValueError(f"shapes must name rows of {rows}, and 0 or 1 last, got {shapes.tolist()}")
