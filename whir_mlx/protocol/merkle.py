"""Merkle trees over the rows of a codeword: commit, open many rows at once.

A tree keeps every layer on the device. Opening gathers, for every query and layer, the whole group of siblings at
device-drawn indices, so it needs no value on the host; the host later drops what the verifier can compute itself
(`pruning.py`).

Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`, `mmcs/mod.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.gather_opening import gather_opening
from whir_mlx.kernels.hash_leaves import hash_leaves
from whir_mlx.kernels.hash_rows import hash_rows
from whir_mlx.kernels.tree_layers import tree_layers
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["MerkleTree", "OpenedRows", "commit_rows", "open_rows"]


@dataclass(frozen=True)
class MerkleTree:
    """A committed matrix. rows: (H, w) Montgomery words; layers: padded digests (L, 8), leaves first, up to the cap
    layer."""

    config: TreeConfig
    rows: object
    layers: tuple

    @property
    def cap(self):
        """The commitment: (c, 8) Montgomery words on the device."""
        return self.layers[-1][: self.config.cap_length(self.rows.shape[0])]


@dataclass(frozen=True)
class OpenedRows:
    """What an opening gathered on the device, not yet pruned.

    rows: (q, w). paths: (q, layers below the cap, (arity - 1) * 8): the other digests of the group of the query's node.
    """

    rows: object
    paths: object


def commit_rows(device: Device, config: TreeConfig, rows) -> MerkleTree:
    """The tree over the rows of `rows`, (H, w) Montgomery words, H a power of two."""
    height = rows.shape[0]
    lengths = config.layer_lengths(height)
    last = config.cap_layer(height)
    layers = _leaf_layers(device, config, rows, last)[: last + 1]
    while len(layers) <= last:
        below = layers[-1]
        parents = below.shape[0] // 2
        if config.arity == 2 and parents <= device.tuning.cooperative_rows:
            layers += _few(device, below.reshape((parents, 16)), last - len(layers), sponge=False)
        else:
            layers.append(_pad(device, compress(device, below, arity=config.arity), lengths[len(layers)]))
    return MerkleTree(config, rows, tuple(layers))


def _leaf_layers(device: Device, config: TreeConfig, rows, wanted: int) -> list:
    """The leaves' digests and some layers above them; `wanted` layers above will be needed."""
    height = rows.shape[0]
    binary = config.arity == 2 and config.leaf_rate == 8
    if binary and height <= device.tuning.cooperative_rows:
        return _few(device, rows, wanted, sponge=True)
    if binary and height >= device.tuning.fused_leaf_rows:
        return list(hash_leaves(device, rows))
    return [_pad(device, hash_rows(device, rows, rate=config.leaf_rate), config.layer_lengths(height)[0])]


def _few(device: Device, rows, wanted: int, *, sponge: bool) -> list:
    height = rows.shape[0]
    most = device.tuning.tree_levels
    return tree_layers(device, rows, levels=min(most, wanted, height.bit_length() - 1), sponge=sponge)


def _pad(device: Device, nodes, length: int):
    """`nodes` with zero digests appended up to `length`."""
    missing = length - nodes.shape[0]
    if missing == 0:
        return nodes
    return concatenate(device, [nodes, device.asarray(np.zeros((missing, DIGEST_WIDTH), np.uint32))])


def open_rows(device: Device, tree: MerkleTree, indices) -> OpenedRows:
    """Gathers the rows at `indices`, (q,) plain integers on the device, and the sibling digests on their paths."""
    return OpenedRows(*gather_opening(device, tree.rows, list(tree.layers[:-1]), indices, arity=tree.config.arity))
