"""Merkle trees over the rows of a codeword: commit, open many rows at once.

A tree keeps every layer on the device. Opening gathers, for every query and layer, the whole group of siblings at
device-drawn indices, so it needs no value on the host; the host later drops what the verifier can compute itself
(`pruning.py`).

Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`, `mmcs/mod.rs`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.gather_opening import gather_opening
from whir_mlx.kernels.hash_leaves import hash_leaves
from whir_mlx.kernels.hash_rows import hash_rows
from whir_mlx.kernels.hash_rows_four import hash_rows_four
from whir_mlx.kernels.tree_layers import tree_layers
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["MerkleTree", "OpenedRows", "commit_rows", "open_rows"]

# Words of a row whose digest is worth a launch of its own: four permutations, some 10 us of sixteen lanes.
_WIDE_ROW = 32


@dataclass(frozen=True)
class MerkleTree:
    """A committed matrix. rows: (H, w) Montgomery words; stores: padded digests (nodes, 8), leaves first, up to the cap
    layer, each store one or more whole layers."""

    config: TreeConfig
    rows: object
    stores: tuple

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """Of every layer its store, its first node there and its number of nodes."""
        height, places, store, start = self.rows.shape[0], [], 0, 0
        for length in self.config.layer_lengths(height)[: self.config.cap_layer(height) + 1]:
            if start == self.stores[store].shape[0]:
                store, start = store + 1, 0
            places.append((store, start, length))
            start += length
        return places

    @property
    def layers(self) -> list:
        """Every layer, leaves first: views of the stores."""
        return [self.stores[store][start : start + length] for store, start, length in self.places]

    @property
    def cap(self):
        """The commitment: (c, 8) Montgomery words on the device."""
        store, start, _ = self.places[-1]
        return self.stores[store][start : start + self.config.cap_length(self.rows.shape[0])]


@dataclass(frozen=True)
class OpenedRows:
    """What an opening gathered on the device, not yet pruned.

    words: the rows, (q, w), then the paths, (q, layers below the cap, (arity - 1) * 8): the other digests of the group
    of the query's node. shapes: of both.
    """

    words: object
    shapes: tuple[tuple[int, int], tuple[int, int, int]]

    @property
    def rows(self):
        """(q, w), a view of the words."""
        return self.words[: math.prod(self.shapes[0])].reshape(self.shapes[0])

    @property
    def paths(self):
        """(q, layers, (arity - 1) * 8), a view of the words."""
        return self.words[math.prod(self.shapes[0]) :].reshape(self.shapes[1])


def commit_rows(device: Device, config: TreeConfig, rows) -> MerkleTree:
    """The tree over the rows of `rows`, (H, w) Montgomery words, H a power of two."""
    height = rows.shape[0]
    lengths = config.layer_lengths(height)
    last = config.cap_layer(height)
    few, most = device.tuning.cooperative_rows if config.arity == 2 else 0, device.tuning.tree_levels
    least_by_four, most_by_four = device.tuning.four_lane_rows
    if config.leaf_rate == 8 and rows.shape[1] >= _WIDE_ROW and least_by_four <= height <= most_by_four:
        stores, made = [_pad(device, hash_rows_four(device, rows), lengths[0])], 1
    elif config.leaf_rate == 8 and height <= few:
        levels = _first_levels(last, most)
        stores, made = [tree_layers(device, rows, levels=levels, sponge=True)], levels + 1
    elif config.arity == 2 and config.leaf_rate == 8 and height >= device.tuning.fused_leaf_rows:
        stores = list(hash_leaves(device, rows))[: last + 1]
        made = len(stores)
    else:
        stores, made = [_pad(device, hash_rows(device, rows, rate=config.leaf_rate), lengths[0])], 1
    while made <= last:
        below = lengths[made - 1]  # the layer that ends the last store
        if below // 2 <= few:
            levels = _first_levels(last - made, most)
            start = stores[-1].shape[0] - below
            stores.append(tree_layers(device, stores[-1], start=start, levels=levels, sponge=False))
            made += levels + 1
        else:
            stores.append(_pad(device, compress(device, stores[-1], arity=config.arity), lengths[made]))
            made += 1
    return MerkleTree(config, rows, tuple(stores))


def _first_levels(above: int, most: int) -> int:
    """Levels of the next launch, where a layer and `above` more are to be made, a layer and `most` more a launch: the
    first launch gets what is left over, since its layers are the widest, and the fewer it makes the more groups share
    them."""
    return above % (most + 1)


def _pad(device: Device, nodes, length: int):
    """`nodes` with zero digests appended up to `length`."""
    missing = length - nodes.shape[0]
    if missing == 0:
        return nodes
    return concatenate(device, [nodes, device.asarray(np.zeros((missing, DIGEST_WIDTH), np.uint32))])


def open_rows(device: Device, tree: MerkleTree, indices) -> OpenedRows:
    """Gathers the rows at `indices`, (q,) plain integers on the device, and the sibling digests on their paths."""
    arity, queries = tree.config.arity, indices.shape[0]
    layers = tuple(place[:2] for place in tree.places[:-1])
    words = gather_opening(device, tree.rows, list(tree.stores), indices, layers=layers, arity=arity)
    shapes = (queries, tree.rows.shape[1]), (queries, len(layers), (arity - 1) * DIGEST_WIDTH)
    return OpenedRows(words, shapes)
