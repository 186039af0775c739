"""Opened rows and the sibling digests on their paths, one launch a tree (`gather_opening.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

MAX_LAYERS = 27


@operation
def gather_opening(device: Device, rows, stores: list, indices, *, layers: tuple[tuple[int, int], ...], arity: int):
    """The rows at `indices`, and the sibling digests on each query's path.

    rows: (R, w) uint32; stores: arrays (nodes, 8); layers: of L layers, lowest first, each a multiple of `arity` nodes,
    the store and the first node there; indices: (Q,) plain integers below R and the number of leaves (not checked
    here).
    Returns the words of (Q, w) and of (Q, L, 8 * (arity - 1)), at (q, l) the other nodes of the group of layer l that
    holds the query's, in order: (Q (w + 8 L (arity - 1)),).
    Raises ValueError for an arity other than 2 or 4, for more than 27 layers (a folded domain has at most 2^27 rows),
    and for layers outside the stores. Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`).
    """
    if arity not in (2, 4):
        raise ValueError(f"arity must be 2 or 4, got {arity}")
    if len(layers) > MAX_LAYERS:
        raise ValueError(f"layers must be at most {MAX_LAYERS}, got {len(layers)}")
    check_shape("rows", rows.shape, ndim=2)
    for store in stores:
        check_shape("store", store.shape, ndim=2, last=8)
    check_shape("indices", indices.shape, ndim=1)
    if any(not (0 <= store < len(stores) and 0 <= start <= stores[store].shape[0] - arity) for store, start in layers):
        raise ValueError(f"layers must lie in the {len(stores)} stores, got {layers}")
    queries, count, others, width = indices.shape[0], len(layers), arity - 1, rows.shape[1]
    total = queries * (width + 8 * count * others)
    if total == 0:
        return indices[:0]
    chunks = -(-width // 8)
    # Only the stores of these layers: there may be more than fit, of layers that are not asked for.
    used = sorted({store for store, _ in layers})
    arrays = [stores[store] for store in used]
    arrays += [arrays[-1] if arrays else rows] * (MAX_LAYERS - len(used))
    places = [number for store, start in layers for number in (used.index(store), start)]
    return device.launch(
        "gather_opening",
        (arity.bit_length() - 1, count, width, chunks, queries, *places),
        [indices, rows, *arrays],
        [(total,)],
        grid=(8, chunks + count * others, queries),
        cost=2.0 * total,
    )[0]
