"""The sibling digests on the paths of many queries, one launch a tree (`gather_paths.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

MAX_LAYERS = 27


@operation
def gather_paths(device: Device, layers: list, indices, *, arity: int):
    """The sibling digests on each query's path. layers: L arrays (nodes, 8), lowest first, each a multiple of `arity`
    nodes; indices: (Q,) plain integers below the number of leaves (not checked here).

    Returns (Q, L, 8 * (arity - 1)): at (q, l) the other nodes of the group of layer l that holds the query's, in order.
    Raises ValueError for an arity other than 2 or 4 and for more than 27 layers (a folded domain has at most 2^27
    rows). Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`).
    """
    if arity not in (2, 4):
        raise ValueError(f"arity must be 2 or 4, got {arity}")
    if len(layers) > MAX_LAYERS:
        raise ValueError(f"layers must be at most {MAX_LAYERS}, got {len(layers)}")
    for layer in layers:
        check_shape("layer", layer.shape, ndim=2, last=8)
    queries, count, width = indices.shape[0], len(layers), 8 * (arity - 1)
    if queries == 0 or count == 0:
        return indices[:0].reshape((queries, 0, width)) if count == 0 else indices[:0].reshape((0, count, width))
    filled = [*layers, *[layers[-1]] * (MAX_LAYERS - count)]
    return device.launch(
        "gather_paths",
        (arity.bit_length() - 1, count),
        [indices, *filled],
        [(queries, count, width)],
        grid=(width, count, queries),
        cost=2.0 * queries * count * width,
    )[0]
