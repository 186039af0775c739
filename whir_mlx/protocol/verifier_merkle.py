"""Checks of pruned Merkle multi-openings: of many codewords at once, in one launch.

`plan_multiproof` looks at the form of one opening; `check_multiproofs` then does the rest for all of them together.

Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`, `pruning.rs`), p3-commit 0.8.0 (`adapters/extension_mmcs.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.kernels.climb import climb
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.opened_nodes import opened_shape

__all__ = ["Multiproof", "check_multiproofs", "plan_multiproof", "verify_multiproof"]


@dataclass(frozen=True, eq=False)
class Multiproof:
    """A multi-opening of the right form, nothing else of which is checked yet.

    `cap` (c, 8), `rows` (q, width) in query order, `siblings` (d, 8): Montgomery words; `indices` (q,) int64; `levels`:
    steps from a leaf to the cap.
    """

    cap: np.ndarray
    rows: np.ndarray
    siblings: np.ndarray
    indices: np.ndarray
    levels: int
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
    """Checks the form of an opening of the rows at `indices` of the matrix committed to by `cap`.

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
    cap_length, levels = _cap_of(tree, height)
    if len(cap) != cap_length:
        raise _invalid(where, f"a cap of {cap_length} digests", len(cap))
    indices = np.asarray(indices, dtype=np.int64)
    # As unsigned numbers, negative ones are above all heights.
    if indices.view(np.uint64).max(initial=0) >= height:
        raise _invalid(where, f"indices in 0..{height - 1}", int(indices.min() if indices.min() < 0 else indices.max()))
    if len(indices) and rows.shape[1] != width:
        raise _invalid(where, f"rows of {width} words", rows.shape[1])
    return Multiproof(cap, rows, siblings, indices, levels, where)


@lru_cache(maxsize=256)
def _cap_of(tree: TreeConfig, height: int) -> tuple[int, int]:
    """Digests of the cap of a tree of `height` leaves, and the steps up to it."""
    return tree.cap_length(height), tree.cap_layer(height)


def check_multiproofs(device, tree: TreeConfig, plans: list[Multiproof]) -> None:
    """Checks `plans`, openings in trees of one kind: equal rows at equal indices, the siblings' number, the digests.

    Raises `VerificationError` (``MerkleProofInvalid``) for the first plan that fails.
    """
    if not plans:
        return
    # Without queries nothing says how wide a row is.
    shapes = tuple((len(p.indices), p.levels, p.rows.shape[1] if len(p.rows) else 0, len(p.cap)) for p in plans)
    opened = opened_shape(tree.arity, shapes).nodes(np.concatenate([plan.indices for plan in plans]))
    first = 0
    for k, (plan, needed) in enumerate(zip(plans, opened.needed)):
        fault = _fault(plan, needed, opened.repeated, first)
        if fault is not None:
            check_multiproofs(device, tree, plans[:k])  # the digests of those before come first
            raise fault
        first += len(plan.rows)
    if not first:
        return
    arrays = [plan.rows for plan in plans] + [plan.siblings for plan in plans]
    words = device.asarray(np.concatenate([array.reshape(-1) for array in arrays]))
    tables = device.asarray(opened.tables)
    digests = climb(device, words, tables, **opened.sizes, arity=tree.arity, rate=tree.leaf_rate)
    reached = device.numpy(digests)[opened.tops]
    expected = np.concatenate([plan.cap for plan in plans])[opened.caps]
    differing = np.flatnonzero((reached != expected).any(axis=1))
    if len(differing):
        at = differing[np.argmin(opened.owners[differing])]
        where = plans[opened.owners[at]].where
        raise _invalid(where, f"the cap's digest {expected[at].tolist()}", reached[at].tolist())


def _fault(plan: Multiproof, needed: int, repeated: np.ndarray, first: int) -> VerificationError | None:
    """What is wrong with a plan apart from its digests. `needed`: its siblings; `first`: its first row among all plans'
    rows, of which each pair `repeated` (r, 2) must be equal."""
    if len(repeated):
        mine = repeated - first
        mine = mine[(mine[:, 0] >= 0) & (mine[:, 0] < len(plan.rows))]
        if (plan.rows[mine[:, 0]] != plan.rows[mine[:, 1]]).any():
            return _invalid(plan.where, "one row for one index", "different rows")
    if needed != len(plan.siblings):
        return _invalid(plan.where, f"{needed} sibling digests", len(plan.siblings))
    return None


def _invalid(where: str, expected: str, got: object) -> VerificationError:
    return VerificationError("MerkleProofInvalid", where=where, expected=expected, got=got)
