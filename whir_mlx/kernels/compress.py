"""One layer of a Merkle tree: truncated-permutation compression (`compress.metal`)."""

from __future__ import annotations

from .concatenate import concatenate
from .device import Device
from .dispatch_limits import dispatch_windows
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST


@operation
def compress(device: Device, nodes, *, arity: int):
    """Parents of consecutive digests. nodes: (N * arity, 8) uint32 Montgomery words -> (N, 8).

    arity: 2 (Poseidon2 of width 16) or 4 (width 32). Raises ValueError for another arity or a remainder.
    Source: p3-symmetric 0.8.0 (`compression.rs`, TruncatedPermutation).
    """
    check_shape("nodes", nodes.shape, ndim=2, last=8)
    if arity not in (2, 4):
        raise ValueError(f"arity must be 2 or 4, got {arity}")
    if nodes.shape[0] % arity:
        raise ValueError(f"nodes must be a multiple of {arity} digests, got {nodes.shape[0]}")
    count = nodes.shape[0] // arity
    if count == 0:
        return nodes
    cost = PERMUTATION_COST[8 * arity]
    parts = []
    for first, end in dispatch_windows(device, count, cost / PERMUTATION_COST[16]):
        parts += device.launch(
            "compress",
            (end - first,),
            [nodes if end - first == count else nodes[first * arity : end * arity]],
            [(end - first, 8)],
            grid=(end - first, 1, 1),
            values={"WIDTH": 8 * arity},
            cost=cost * (end - first),
        )
    return parts[0] if len(parts) == 1 else concatenate(device, parts)
