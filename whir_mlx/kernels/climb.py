"""Opened Merkle trees from their opened rows up, all trees and levels in one launch (`climb.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST

# Words of a tree's record beside one for each level.
RECORD_WORDS = 6


@operation
def climb(
    device: Device,
    words,
    tables,
    *,
    trees: int,
    levels: int,
    leaves: int,
    nodes: int,
    siblings: int,
    arity: int,
    rate: int,
):
    """Digests of opened rows and of the nodes above them, and the siblings: (nodes + siblings, 8) Montgomery words.

    words: (n,) uint32 Montgomery words, the opened rows and after them `siblings` digests of 8 words. tables:
    (trees * (levels + 6) + leaves + (nodes - leaves) * arity,) uint32 numbers in the order that `climb.metal` gives;
    what they name must be there, which is not checked. trees, leaves >= 1; levels >= 0: the most of a tree above its
    leaves; nodes >= leaves: leaves and parents of all trees. arity: 2 (Poseidon2 of width 16) or 4 (width 32); rate: of
    the leaves' sponge, 8 (width 16) or 16 (width 24). Raises ValueError for other arities, rates, numbers and shapes.
    Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`, verify_multi_batch).
    """
    if arity not in (2, 4):
        raise ValueError(f"arity must be 2 or 4, got {arity}")
    if rate not in (8, 16):
        raise ValueError(f"rate must be 8 or 16, got {rate}")
    if trees < 1 or levels < 0 or not 1 <= leaves <= nodes:
        found = f"{trees} trees of {levels} levels, {leaves} leaves, {nodes} nodes"
        raise ValueError(f"a climb takes trees >= 1, levels >= 0 and 1 <= leaves <= nodes, got {found}")
    check_shape("words", words.shape, ndim=1)
    rows = words.shape[0] - 8 * siblings
    if siblings < 0 or rows < 1:
        raise ValueError(f"words must hold rows and {siblings} digests, got {words.shape[0]} words")
    expected = trees * (levels + RECORD_WORDS) + leaves + (nodes - leaves) * arity
    if tuple(tables.shape) != (expected,):
        raise ValueError(f"tables must be of shape ({expected},), got {tuple(tables.shape)}")
    return device.launch(
        "climb",
        (levels, leaves, nodes, trees, rows),
        [tables, words],
        [(nodes + siblings, 8)],
        groups=(trees, 1, 1),
        group=(device.tuning.group_threads, 1, 1),
        values={"WIDTH": rate + 8, "ARITY": arity},
        cost=PERMUTATION_COST[rate + 8] * (leaves + rows / rate) + PERMUTATION_COST[8 * arity] * (nodes - leaves),
    )[0]
