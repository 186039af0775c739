"""One layer of a Merkle tree: truncated-permutation compression (`compress.metal`)."""

from __future__ import annotations

from .device import Device
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
    return device.launch(
        "compress",
        (count,),
        [nodes],
        [(count, 8)],
        grid=(count, 1, 1),
        values={"WIDTH": 8 * arity},
        cost=PERMUTATION_COST[8 * arity] * count,
    )[0]
