"""Leaf digests by four lanes each: quick where rows are wide and too few to fill a GPU (`hash_rows_four.metal`)."""

from __future__ import annotations

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST

LANES = 4


@operation
def hash_rows_four(device: Device, rows):
    """Digest of each row, as `hash_rows` at rate 8. rows: (N, w) uint32 Montgomery words, N, w >= 1 -> (N, 8).

    Raises ValueError for other shapes. Source: p3-symmetric 0.8.0 (`sponge.rs`, PaddingFreeSponge).
    """
    check_shape("rows", rows.shape, ndim=2)
    count, width = rows.shape
    if count < 1 or width < 1:
        raise ValueError(f"rows must be one or more of at least one word, got shape {tuple(rows.shape)}")
    threads = device.simd_width
    if device.lazy:
        threads = max(threads, device.tuning.threads_a_group(LANES * count))
    return device.launch(
        "hash_rows_four",
        (count, width),
        [tables(device), rows],
        [(count, 8)],
        groups=(-(-LANES * count // threads), 1, 1),
        group=(threads, 1, 1),
        lanes=device.simd_width,
        cost=1.4 * PERMUTATION_COST[16] * count * -(-width // 8),
    )[0]
