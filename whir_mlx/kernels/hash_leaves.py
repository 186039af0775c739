"""Leaf digests fused with the two layers above them (`hash_leaves.metal`)."""

from __future__ import annotations

from .concatenate import concatenate
from .device import Device
from .dispatch_limits import dispatch_windows
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST


@operation
def hash_leaves(device: Device, rows):
    """Leaves and the two layers above. rows: (N, w) uint32 Montgomery words, N a multiple of 4, w >= 1.

    Returns leaves (N, 8), first layer (N/2, 8), second layer (N/4, 8); sponge of rate 8, 2-to-1 compression on width
    16.
    Raises ValueError for other N or w. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    check_shape("rows", rows.shape, ndim=2)
    count, width = rows.shape
    if count < 4 or count % 4 or width < 1:
        raise ValueError(
            f"rows must be a positive multiple of 4 rows of at least one word, got shape {tuple(rows.shape)}"
        )
    # Four rows a thread, and the three nodes above them.
    permutations = 4 * -(-width // 8) + 3
    parts = []
    for first, end in dispatch_windows(device, count // 4, permutations):
        threads = end - first
        parts.append(
            device.launch(
                "hash_leaves",
                (threads, width),
                [rows if 4 * threads == count else rows[4 * first : 4 * end]],
                [(4 * threads, 8), (2 * threads, 8), (threads, 8)],
                grid=(threads, 1, 1),
                values={"WIDTH": 16},
                cost=PERMUTATION_COST[16] * threads * permutations,
            )
        )
    return parts[0] if len(parts) == 1 else [concatenate(device, list(layer)) for layer in zip(*parts)]
