"""Merkle trees over the rows of a matrix, on plain uint32 arrays of Montgomery words.

    tree = merkle_commit(rows)
    opened, siblings = merkle_open(tree, [3, 0, 3])
    merkle_verify(tree.cap, opened, siblings, [3, 0, 3], height=rows.shape[0])

Source: p3-merkle-tree 0.8.0 (one matrix a tree, pruned multi-openings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import VerificationError
from whir_mlx.field.array_edge import Edge
from whir_mlx.inputs import integer_array
from whir_mlx.protocol import merkle as protocol_merkle
from whir_mlx.protocol import verifier_merkle
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig, tree_config
from whir_mlx.protocol.pruning import prune

__all__ = ["MerkleTree", "merkle_commit", "merkle_open", "merkle_verify"]


@dataclass(frozen=True, eq=False)
class MerkleTree:
    """A committed matrix. config: arity, leaf sponge, cap height; cap: (c, 8), the commitment; height: rows."""

    config: TreeConfig
    cap: object
    height: int
    _edge: Edge
    _tree: protocol_merkle.MerkleTree


def merkle_commit(rows, *, tree: str | TreeConfig = "w16", cap_height: int = 0, device="auto") -> MerkleTree:
    """Commits to the rows of a (H, w) matrix, H a power of two, w >= 1.

    tree: w16, w24 (leaf sponge of width 24), ary4 (4-ary), or a TreeConfig. Raises TypeError or ValueError.
    """
    edge = Edge(device, rows)
    words = edge.enter("rows", rows, ndim=(2,))
    height, width = words.shape
    if height < 1 or height & (height - 1) or width < 1:
        raise ValueError(f"rows must be (a power of two, at least 1), got shape {(height, width)}")
    config = tree_config(tree, cap_height) if isinstance(tree, str) else tree
    made = protocol_merkle.commit_rows(edge.device, config, words)
    return MerkleTree(config, edge.leave(made.cap), height, edge, made)


def merkle_open(tree: MerkleTree, indices: Sequence[int]):
    """Opens rows. indices: (q,) integers below the height, in any order, duplicates allowed.

    Returns (rows, siblings): (q, w) in the order of `indices`, and (d, 8), the digests that all of them together still
    need, layer by layer from the leaves. Raises IndexError for an index outside the tree.
    """
    positions = _positions(indices)
    outside = (positions < 0) | (positions >= tree.height)
    if outside.any():
        raise IndexError(f"indices must be in 0..{tree.height - 1}, got {int(positions[outside.argmax()])}")
    device = tree._edge.device
    opened = protocol_merkle.open_rows(device, tree._tree, device.asarray(positions.astype(np.uint32)))
    siblings = prune(tree.config.arity, positions, device.numpy(opened.paths))
    return tree._edge.leave(opened.rows), tree._edge.leave(device.asarray(siblings))


def merkle_verify(
    cap, rows, siblings, indices, *, height: int, tree: str | TreeConfig = "w16", cap_height: int = 0, device="auto"
) -> None:
    """Checks that `rows` are the rows at `indices` of a matrix of `height` rows committed to by `cap`.

    cap (c, 8), rows (q, w), siblings (d, 8), all Montgomery words. The width w is that of `rows`: where it is not bound
    otherwise, compare it with yours. Raises VerificationError for anything that does not hold, an index outside the
    tree included, and TypeError or ValueError for arguments that are no such arrays at all.
    """
    edge = Edge(device, cap, rows, siblings)
    config = tree_config(tree, cap_height) if isinstance(tree, str) else tree
    if height < 1 or height & (height - 1):
        raise ValueError(f"height must be a power of two, got {height}")
    words = {
        name: edge.device.numpy(edge.enter(name, x, ndim=(2,), last=last))
        for name, x, last in (("cap", cap, DIGEST_WIDTH), ("rows", rows, None), ("siblings", siblings, DIGEST_WIDTH))
    }
    positions = _positions(indices)
    outside = (positions < 0) | (positions >= height)
    if outside.any():
        got = int(positions[outside.argmax()])
        raise VerificationError("MerkleProofInvalid", where="indices", expected=f"0..{height - 1}", got=got)
    verifier_merkle.verify_multiproof(
        edge.device,
        config,
        words["cap"],
        words["rows"],
        words["siblings"],
        positions,
        height=height,
        width=words["rows"].shape[1],
        where="merkle_verify",
    )


def _positions(indices) -> np.ndarray:
    array = integer_array("indices", indices)
    if array.ndim != 1:
        raise ValueError(f"indices must have one axis, got shape {array.shape}")
    try:
        return array.astype(np.int64)
    except OverflowError:
        raise ValueError("indices must fit 64 bits") from None
