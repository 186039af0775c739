"""The upper layers of a binary Merkle tree, several a launch (`compress_layers.metal`)."""

from __future__ import annotations

from .concatenate import concatenate
from .device import Device
from .operation import check_shape, log2_exact, operation
from .poseidon2 import PERMUTATION_COST

SIMD_WIDTH = 32
_LEVELS = 6  # a SIMD group of 32 threads takes 64 nodes to one


@operation
def compress_layers(device: Device, nodes):
    """Every layer above `nodes`, lowest first, concatenated. nodes: (N, 8) uint32 Montgomery words, N = 2^m >= 2.

    Returns (N - 1, 8); the root is the last row. Raises ValueError where N is no power of two or 1.
    Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    check_shape("nodes", nodes.shape, ndim=2, last=8)
    total = log2_exact("nodes", nodes.shape[0])
    if total == 0:
        raise ValueError("nodes must be at least 2 digests, got 1")
    parts = []
    while total > 0:
        levels = min(_LEVELS, total)
        count = 1 << total
        made = count - (count >> levels)
        threads = max(count // 2, SIMD_WIDTH)
        (layers,) = device.launch(
            "compress_layers",
            (count, levels),
            [nodes],
            [(made, 8)],
            grid=(threads, 1, 1),
            values={"WIDTH": 16},
            lanes=SIMD_WIDTH,
            cost=PERMUTATION_COST[16] * threads * levels,
        )
        parts.append(layers)
        nodes = layers[made - (count >> levels) :]
        total -= levels
    return parts[0] if len(parts) == 1 else concatenate(device, parts)
