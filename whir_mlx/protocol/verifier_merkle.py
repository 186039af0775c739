"""Checks of pruned Merkle multi-openings: of many codewords at once, one launch a tree level.

`plan_multiproof` looks at the form of one opening; `check_multiproofs` then does the rest for all of them together.

Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`, `pruning.rs`), p3-commit 0.8.0 (`adapters/extension_mmcs.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.hash_rows import hash_rows
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["Multiproof", "check_multiproofs", "plan_multiproof", "verify_multiproof"]

_INDEX_BITS = 32


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
    paths = _Paths.of(tree, plans)
    for k, plan in enumerate(plans):
        fault = paths.fault(k, plan)
        if fault is not None:
            check_multiproofs(device, tree, plans[:k])  # the digests of those before come first
            raise fault
    paths.place_siblings(plans)
    digests = paths.climb(device, tree, _leaf_digests(device, tree, paths))
    for k, (plan, reached) in enumerate(zip(plans, digests)):
        expected = plan.cap[paths.cap_positions(k, plan)]
        differing = np.flatnonzero((reached != expected).any(axis=1))
        if len(differing):
            at = differing[0]
            raise _invalid(plan.where, f"the cap's digest {expected[at].tolist()}", reached[at].tolist())


@dataclass(frozen=True, eq=False)
class _Paths:
    """The nodes above the distinct opened rows of all plans, level by level, within a level plan after plan.

    Letters: u distinct (plan, index) pairs in order, L the most levels of a plan. Column j of a table belongs to pair
    j, row l to level l (0: the leaves).

    `slots` (queries,): the pair of every query, plan after plan; `ends`: where each plan's queries end; `rows`: each
    plan's distinct rows, by ascending index; `owner` (u,): the plan; `levels` (plans,). `ancestors` (L + 1, u): node of
    the pair at the level; `leads` (L + 1, u): whether it is the first pair below that node. `nodes` (N, 8): the
    children of every level from the leaves up; level l is `nodes[bounds[l]:bounds[l + 1]]`. `known` (L, u): the leading
    pairs that climb on from that level, whose digests belong at `places` in it. `missing` (d,): the nodes that no pair
    leads to, in the order of the plans' siblings; `needed` (plans,): how many they are.
    """

    slots: np.ndarray
    ends: list[int]
    owner: np.ndarray
    levels: np.ndarray
    ancestors: np.ndarray
    leads: np.ndarray
    rows: list[np.ndarray]
    nodes: np.ndarray
    bounds: list[int]
    known: np.ndarray
    places: list[np.ndarray]
    missing: np.ndarray
    needed: list[int]

    @classmethod
    def of(cls, tree: TreeConfig, plans: list[Multiproof]) -> _Paths:
        ends = np.cumsum([len(plan.indices) for plan in plans]).tolist()
        keys = np.concatenate([plan.indices + (k << _INDEX_BITS) for k, plan in enumerate(plans)])
        # np.unique, at a third of its time.
        order = np.argsort(keys, kind="stable")
        pairs = keys[order]
        distinct = np.ones(len(pairs), dtype=bool)
        distinct[1:] = pairs[1:] != pairs[:-1]
        slots = np.empty(len(order), dtype=np.intp)
        slots[order] = np.cumsum(distinct) - 1
        pairs, leaders = pairs[distinct], order[distinct]
        owner = pairs >> _INDEX_BITS
        queries = _cut(leaders, np.bincount(owner, minlength=len(plans)))
        rows = [plan.rows[mine - (end - len(plan.rows))] for plan, mine, end in zip(plans, queries, ends)]
        # Tables of half the words from here on.
        owner, positions = owner.astype(np.int32), (pairs & ((1 << _INDEX_BITS) - 1)).astype(np.int32)
        levels = np.array([plan.levels for plan in plans], dtype=np.int32)
        depth = np.arange(levels.max() + 1, dtype=np.int32)[:, None]
        log_arity = tree.arity.bit_length() - 1
        ancestors = positions >> (depth * log_arity)
        reaches = depth <= levels[owner]
        leads = reaches.copy()
        leads[:, 1:] &= (ancestors[:, 1:] != ancestors[:, :-1]) | (owner[1:] != owner[:-1])
        known = leads[:-1] & reaches[1:]
        climbing = leads[1:]  # one pair for each group of children
        groups = np.cumsum(climbing, axis=1, dtype=np.int32)
        bounds = np.concatenate(([0], np.cumsum(climbing.sum(axis=1) * tree.arity)))
        places = ((groups - 1) * tree.arity + (ancestors[:-1] & (tree.arity - 1)))[known]
        sizes = known.sum(axis=1)
        absent = np.ones(bounds[-1], dtype=bool)
        absent[places + np.repeat(bounds[:-1], sizes)] = False
        missing = np.flatnonzero(absent)
        owners = np.broadcast_to(owner, climbing.shape)[climbing][missing // tree.arity]
        return cls(
            slots=slots,
            ends=ends,
            rows=rows,
            owner=owner,
            levels=levels,
            ancestors=ancestors,
            leads=leads,
            nodes=np.empty((len(absent), DIGEST_WIDTH), dtype=np.uint32),
            bounds=bounds.tolist(),
            known=known,
            places=_cut(places, sizes),
            missing=missing[np.argsort(owners, kind="stable")],
            needed=np.bincount(owners, minlength=len(plans)).tolist(),
        )

    def fault(self, k: int, plan: Multiproof) -> VerificationError | None:
        """What is wrong with plan k apart from its digests."""
        slots = self.slots[self.ends[k] - len(plan.indices) : self.ends[k]]
        distinct = self.rows[k]
        if len(distinct) != len(plan.rows) and not np.array_equal(distinct[slots - slots.min()], plan.rows):
            return _invalid(plan.where, "one row for one index", "different rows")
        if self.needed[k] != len(plan.siblings):
            return _invalid(plan.where, f"{self.needed[k]} sibling digests", len(plan.siblings))
        return None

    def place_siblings(self, plans: list[Multiproof]) -> None:
        self.nodes[self.missing] = np.concatenate([plan.siblings for plan in plans])

    def cap_positions(self, k: int, plan: Multiproof) -> np.ndarray:
        """The cap's digests above the rows of plan k."""
        return self.ancestors[plan.levels, self.leads[plan.levels] & (self.owner == k)]

    def climb(self, device, tree: TreeConfig, digests: np.ndarray) -> list[np.ndarray]:
        """What the leaves' digests (u, 8) lead to in every plan; fills in `nodes` on the way."""
        reached: list[np.ndarray] = [digests[:0]] * len(self.levels)
        arriving = self.levels.tolist()
        for level in range(len(self.places) + 1):
            if level in arriving:
                leads = self.leads[level]
                for k, levels in enumerate(arriving):
                    if levels == level:
                        reached[k] = digests[self.owner[leads] == k]
                if level == len(self.places):
                    return reached
                digests = digests[self.known[level][leads]]
            children = self.nodes[self.bounds[level] : self.bounds[level + 1]]
            children[self.places[level]] = digests
            digests = device.numpy(compress(device, device.asarray(children), arity=tree.arity))
        return reached


def _cut(array: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """The array in consecutive parts of these sizes."""
    ends = np.cumsum(sizes).tolist()
    return [array[start:end] for start, end in zip([0, *ends], ends)]


def _leaf_digests(device, tree: TreeConfig, paths: _Paths) -> np.ndarray:
    """The digests of the distinct rows of all plans, (u, 8), one launch for each width."""
    digests = np.empty((len(paths.owner), DIGEST_WIDTH), dtype=np.uint32)
    widths = np.array([part.shape[1] for part in paths.rows])
    for width in set(widths.tolist()):
        joined = np.concatenate([part for part in paths.rows if part.shape[1] == width])
        hashed = device.numpy(hash_rows(device, device.asarray(joined), rate=tree.leaf_rate))
        digests[(widths == width)[paths.owner]] = hashed
    return digests


def _invalid(where: str, expected: str, got: object) -> VerificationError:
    return VerificationError("MerkleProofInvalid", where=where, expected=expected, got=got)
