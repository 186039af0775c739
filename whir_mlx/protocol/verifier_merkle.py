"""Checks of pruned Merkle multi-openings: of many codewords at once, one launch a tree level.

`plan_multiproof` looks at everything but the digests; `check_multiproofs` then hashes for all plans together.

Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`, `pruning.rs`), p3-commit 0.8.0 (`adapters/extension_mmcs.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.hash_rows import hash_rows
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["Multiproof", "check_multiproofs", "plan_multiproof", "verify_multiproof"]


@dataclass(frozen=True, eq=False)
class Multiproof:
    """A multi-opening in order, except that its digests are not checked yet.

    `rows` (u, width): the distinct rows, by ascending index; `expected` (t, 8): the cap's digests above them.
    `nodes` (N, 8): the children of every level from the leaves up, level by level, the siblings of the proof in place;
    level l is `nodes[bounds[l]:bounds[l + 1]]`, and `known[l]` says where in it the digests computed so far belong.
    """

    rows: np.ndarray
    expected: np.ndarray
    nodes: np.ndarray
    bounds: list[int]
    known: list[np.ndarray]
    where: str


def verify_multiproof(
    device, tree: TreeConfig, cap, rows, siblings, indices, *, height: int, width: int, where: str
) -> None:
    """Checks one multi-opening: see `plan_multiproof` and `check_multiproofs`."""
    plan = plan_multiproof(tree, cap, rows, siblings, indices, height=height, width=width, where=where)
    check_multiproofs(device, tree, [plan])


def plan_multiproof(
    tree: TreeConfig, cap, rows, siblings, indices, *, height: int, width: int, where: str
) -> Multiproof:
    """Checks all but the digests of an opening of the rows at `indices` of the matrix committed to by `cap`.

    Letters: c cap digests, q queries, d sibling digests. All words are Montgomery words in NumPy uint32 arrays.

    `cap` (c, 8); `rows` (q', width') as the proof has them, in query order, duplicates repeated; `siblings` (d, 8),
    level by level from the leaves, within a level by ascending position; `indices` (q,) plain integers, any order;
    `height` a power of two: rows of the committed matrix; `width`: words of a row; `where` goes into the error.

    Raises `VerificationError`: ``StirQueryCountMismatch`` where q' is not q, else ``MerkleProofInvalid``. A cap of
    another length than the tree's is refused; the crate takes a longer one that was absorbed, but no honest prover
    makes one.
    """
    if len(rows) != len(indices):
        raise VerificationError("StirQueryCountMismatch", where=where, expected=len(indices), got=len(rows))
    if len(cap) != tree.cap_length(height):
        raise _invalid(where, f"a cap of {tree.cap_length(height)} digests", len(cap))
    indices = np.asarray(indices, dtype=np.int64)
    if len(indices) and not 0 <= indices.min() <= indices.max() < height:
        raise _invalid(where, f"indices in 0..{height - 1}", int(indices.min() if indices.min() < 0 else indices.max()))
    if len(indices) and rows.shape[1] != width:
        raise _invalid(where, f"rows of {width} words", rows.shape[1])
    positions, leaders, slots = np.unique(indices, return_index=True, return_inverse=True)
    distinct = rows[leaders]
    if len(distinct) != len(rows) and not np.array_equal(distinct[slots.reshape(-1)], rows):
        raise _invalid(where, "one row for one index", "different rows")

    # Column j of each table below belongs to distinct index j, row l to level l: its node there, whether it is the
    # first index below that node, and the node's number among the known ones of the level.
    levels = tree.cap_layer(height)
    ancestors = positions // tree.arity ** np.arange(levels + 1)[:, None]
    first = np.ones(ancestors.shape, dtype=bool)
    first[:, 1:] = ancestors[:, 1:] != ancestors[:, :-1]
    numbers = np.cumsum(first, axis=1) - 1
    bounds = np.concatenate(([0], np.cumsum(first[1:].sum(axis=1) * tree.arity)))
    places = numbers[1:] * tree.arity + ancestors[:-1] % tree.arity
    missing = np.ones(bounds[-1], dtype=bool)
    missing[(places + bounds[:-1, None])[first[:-1]]] = False
    num_missing = int(missing.sum())
    if num_missing != len(siblings):
        raise _invalid(where, f"{num_missing} sibling digests", len(siblings))
    nodes = np.empty((len(missing), DIGEST_WIDTH), dtype=np.uint32)
    nodes[missing] = siblings
    return Multiproof(
        rows=distinct,
        expected=cap[ancestors[-1][first[-1]]],
        nodes=nodes,
        bounds=bounds.tolist(),
        known=[places[level, first[level]] for level in range(levels)],
        where=where,
    )


def check_multiproofs(device, tree: TreeConfig, plans: list[Multiproof]) -> None:
    """Checks the digests of all `plans`, openings in trees of one kind; every plan's nodes are filled in on the way.

    Raises `VerificationError` (``MerkleProofInvalid``) for the first plan whose rows do not lead to its cap.
    """
    plans = [plan for plan in plans if len(plan.rows)]
    digests: list[np.ndarray] = [plan.rows for plan in plans]
    for width in sorted({plan.rows.shape[1] for plan in plans}):
        same = [i for i, plan in enumerate(plans) if plan.rows.shape[1] == width]
        joined = device.asarray(np.concatenate([plans[i].rows for i in same]))
        hashed = device.numpy(hash_rows(device, joined, rate=tree.leaf_rate))
        for i, part in zip(same, _split(hashed, [len(plans[i].rows) for i in same])):
            digests[i] = part
    for level in range(max((len(plan.known) for plan in plans), default=0)):
        climbing = [i for i, plan in enumerate(plans) if level < len(plan.known)]
        children = []
        for i in climbing:
            children.append(plans[i].nodes[plans[i].bounds[level] : plans[i].bounds[level + 1]])
            children[-1][plans[i].known[level]] = digests[i]
        joined = device.asarray(np.concatenate(children))
        parents = device.numpy(compress(device, joined, arity=tree.arity))
        for i, part in zip(climbing, _split(parents, [len(group) // tree.arity for group in children])):
            digests[i] = part
    for plan, reached in zip(plans, digests):
        differing = np.flatnonzero((reached != plan.expected).any(axis=1))
        if len(differing):
            at = differing[0]
            raise _invalid(plan.where, f"the cap's digest {plan.expected[at].tolist()}", reached[at].tolist())


def _split(array: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    ends = np.cumsum(lengths).tolist()
    return [array[end - length : end] for end, length in zip(ends, lengths)]


def _invalid(where: str, expected: str, got: object) -> VerificationError:
    return VerificationError("MerkleProofInvalid", where=where, expected=expected, got=got)
