"""Checks of pruned Merkle multi-openings, one tree level at a time over all queries at once.

Source: p3-merkle-tree 0.8.0 (`mmcs/mod.rs`, `pruning.rs`), p3-commit 0.8.0 (`adapters/extension_mmcs.rs`).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.hash_rows import hash_rows
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["verify_multiproof"]


def verify_multiproof(
    device, tree: TreeConfig, cap, rows, siblings, indices, *, height: int, width: int, where: str
) -> None:
    """Checks that `rows` are the rows at `indices` of the matrix committed to by `cap`.

    Letters: c cap digests, q queries, d sibling digests. All words are Montgomery words in NumPy uint32 arrays.

    `cap` (c, 8); `rows` (q', width') as the proof has them, in query order, duplicates repeated; `siblings` (d, 8),
    level by level from the leaves, within a level by ascending position; `indices` (q,) plain integers, any order;
    `height` a power of two: rows of the committed matrix; `width`: words of a row; `where` goes into the error.

    Raises `VerificationError`: ``StirQueryCountMismatch`` where q' is not q, else ``MerkleProofInvalid``. A cap of
    another length than the tree's is refused; the crate accepts a longer one that was absorbed, but no honest prover
    makes one.
    """
    if len(rows) != len(indices):
        raise VerificationError("StirQueryCountMismatch", where=where, expected=len(indices), got=len(rows))
    if len(cap) != tree.cap_length(height):
        raise _invalid(where, f"a cap of {tree.cap_length(height)} digests", len(cap))
    if len(indices) == 0:
        if len(siblings):
            raise _invalid(where, "0 sibling digests", len(siblings))
        return
    positions, leaders, slots = np.unique(np.asarray(indices, dtype=np.int64), return_index=True, return_inverse=True)
    if positions[0] < 0 or positions[-1] >= height:
        raise _invalid(where, f"indices in 0..{height - 1}", int(positions[0] if positions[0] < 0 else positions[-1]))
    if rows.shape[1] != width:
        raise _invalid(where, f"rows of {width} words", rows.shape[1])
    distinct = rows[leaders]
    if len(distinct) != len(rows) and not np.array_equal(distinct[slots.reshape(-1)], rows):
        raise _invalid(where, "one row for one index", "different rows")

    digests = device.numpy(hash_rows(device, device.asarray(distinct), rate=tree.leaf_rate))
    used = 0
    for _ in range(tree.cap_layer(height)):
        parents = positions // tree.arity
        starts = np.concatenate(([True], parents[1:] != parents[:-1]))
        groups = parents[starts]
        children = np.empty((len(groups) * tree.arity, DIGEST_WIDTH), dtype=np.uint32)
        missing = np.ones(len(children), dtype=bool)
        known = (np.cumsum(starts) - 1) * tree.arity + positions % tree.arity
        missing[known] = False
        num_missing = len(children) - len(known)
        if used + num_missing > len(siblings):
            raise _invalid(where, f"at least {used + num_missing} sibling digests", len(siblings))
        children[known] = digests
        children[missing] = siblings[used : used + num_missing]
        used += num_missing
        digests = device.numpy(compress(device, device.asarray(children), arity=tree.arity))
        positions = groups
    if used != len(siblings):
        raise _invalid(where, f"{used} sibling digests", len(siblings))
    differing = np.flatnonzero((digests != cap[positions]).any(axis=1))
    if len(differing):
        at = positions[differing[0]]
        raise _invalid(where, f"cap digest {at} = {cap[at].tolist()}", digests[differing[0]].tolist())


def _invalid(where: str, expected: str, got: object) -> VerificationError:
    return VerificationError("MerkleProofInvalid", where=where, expected=expected, got=got)
