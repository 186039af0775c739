"""Leaf digests: the padding-free overwrite sponge over the rows of a matrix (`hash_rows.metal`)."""

from __future__ import annotations

import numpy as np

from .concatenate import concatenate
from .device import Device
from .dispatch_limits import dispatch_windows
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST


@operation
def hash_rows(device: Device, rows, *, rate: int):
    """Digest of each row. rows: (N, w) uint32 Montgomery words -> (N, 8); w = 0 gives zeros.

    rate: words absorbed a permutation, 8 (Poseidon2 of width 16) or 16 (width 24).
    Raises ValueError for another rate. Source: p3-symmetric 0.8.0 (`sponge.rs`, PaddingFreeSponge).
    """
    check_shape("rows", rows.shape, ndim=2)
    if rate not in (8, 16):
        raise ValueError(f"rate must be 8 or 16, got {rate}")
    count, width = rows.shape
    if count == 0 or width == 0:
        return device.asarray(np.zeros((count, 8), np.uint32))
    cost = PERMUTATION_COST[rate + 8] * -(-width // rate)
    parts = []
    for first, end in dispatch_windows(device, count, cost / PERMUTATION_COST[16]):
        parts += device.launch(
            "hash_rows",
            (end - first, width),
            [rows if end - first == count else rows[first:end]],
            [(end - first, 8)],
            grid=(end - first, 1, 1),
            values={"WIDTH": rate + 8},
            cost=cost * (end - first),
        )
    return parts[0] if len(parts) == 1 else concatenate(device, parts)
