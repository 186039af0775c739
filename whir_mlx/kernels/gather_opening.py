"""Opened rows and the sibling digests on their paths, one launch a tree (`gather_opening.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

MAX_LAYERS = 27


@operation
def gather_opening(device: Device, rows, layers: list, indices, *, arity: int):
    """The rows at `indices`, and the sibling digests on each query's path.

    rows: (R, w) uint32; layers: L arrays (nodes, 8), lowest first, each a multiple of `arity` nodes; indices: (Q,)
    plain integers below R and the number of leaves (not checked here).
    Returns (Q, w), and (Q, L, 8 * (arity - 1)): at (q, l) the other nodes of the group of layer l that holds the
    query's, in order. Raises ValueError for an arity other than 2 or 4 and for more than 27 layers (a folded domain has
    at most 2^27 rows). Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`).
    """
    if arity not in (2, 4):
        raise ValueError(f"arity must be 2 or 4, got {arity}")
    if len(layers) > MAX_LAYERS:
        raise ValueError(f"layers must be at most {MAX_LAYERS}, got {len(layers)}")
    check_shape("rows", rows.shape, ndim=2)
    for layer in layers:
        check_shape("layer", layer.shape, ndim=2, last=8)
    queries, count, others, width = indices.shape[0], len(layers), arity - 1, rows.shape[1]
    split, total = queries * width, queries * (width + 8 * count * others)
    if total == 0:
        return indices[:0].reshape((queries, width)), indices[:0].reshape((queries, count, 8 * others))
    chunks = -(-width // 8)
    filled = [*layers, *[layers[-1] if layers else rows] * (MAX_LAYERS - count)]
    (out,) = device.launch(
        "gather_opening",
        (arity.bit_length() - 1, count, width, chunks, queries),
        [indices, rows, *filled],
        [(total,)],
        grid=(8, chunks + count * others, queries),
        cost=2.0 * total,
    )
    return out[:split].reshape((queries, width)), out[split:].reshape((queries, count, 8 * others))
