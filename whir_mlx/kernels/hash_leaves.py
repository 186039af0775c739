"""Leaf digests fused with the two layers above them (`hash_leaves.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST


@operation
def hash_leaves(device: Device, rows):
    """Leaves and the two layers above. rows: (N, w) uint32 Montgomery words, N a multiple of 4, w >= 1.

    Returns leaves (N, 8), first layer (N/2, 8), second layer (N/4, 8); sponge of rate 8, 2-to-1 compression on width 16.
    Raises ValueError for other N or w. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    check_shape("rows", rows.shape, ndim=2)
    count, width = rows.shape
    if count < 4 or count % 4 or width < 1:
        raise ValueError(f"rows must be a positive multiple of 4 rows of at least one word, got shape {tuple(rows.shape)}")
    return device.launch(
        "hash_leaves",
        (count // 4, width),
        [rows],
        [(count, 8), (count // 2, 8), (count // 4, 8)],
        grid=(count // 4, 1, 1),
        values={"WIDTH": 16},
        cost=PERMUTATION_COST[16] * count * (0.75 + -(-width // 8)),
    )
