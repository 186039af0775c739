"""Pruning of Merkle openings: what the verifier of all queries together cannot compute itself, of many trees at once.

Queries are sorted, tree after tree, and h is the number of index bits in which neighbours differ (`sorted_queries`): on
layer l of a tree of arity 2^b a query's node is the first of its group of siblings where h > b (l + 1), and a further
node of the group where b (l + 1) >= h > b l: on one layer only.

Source: p3-merkle-tree 0.8.0 (`pruning.rs`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from whir_mlx.protocol.merkle_config import DIGEST_WIDTH
from whir_mlx.protocol.sorted_queries import SortedQueries

__all__ = ["PruningPlan", "prune", "pruning_plan"]


class PruningPlan:
    """What depends on the shapes alone: arity 2^b; shapes: (q queries, layers below the cap) of every tree."""

    def __init__(self, arity: int, shapes: tuple[tuple[int, int], ...]):
        queries, layers = np.array(shapes, np.int64).reshape(-1, 2).T
        self._arity, self._log_arity, self._queries = arity, arity.bit_length() - 1, SortedQueries(queries)
        owner = self._queries.owner
        # A place is (tree, layer, sorted query), in that order: these are its query's place among all, and its shift.
        first_query = np.cumsum(queries) - queries
        self._ends = np.cumsum(queries * layers)
        starts = self._ends - queries * layers
        size = int((queries * layers).sum())
        tree = np.repeat(np.arange(len(shapes)), queries * layers)
        within = np.arange(size) - starts[tree]
        self._layer = within // np.maximum(queries, 1)[tree]
        self._query = first_query[tree] + within % np.maximum(queries, 1)[tree]
        self._group_bits = self._log_arity * (self._layer + 1)
        # By sorted query: where layer 0 of its tree begins, counted from its own place, and the step to the next layer.
        self._base, self._step, self._layers = (starts[owner] - first_query[owner]), queries[owner], layers[owner]
        # A query's path begins at row (place among all - first of its tree) * layers.
        self._path_layers = layers[tree]
        self._offset = self._layer - first_query[tree] * self._path_layers

    def siblings(self, indices: np.ndarray, paths: list[np.ndarray]) -> list[np.ndarray]:
        """The digests (d, 8) of every tree, layer by layer: the children of ascending groups that are on no path.

        indices: (sum of q,) plain integers, tree after tree; paths: of every tree (q, layers, (arity - 1) * 8), the
        other digests of the group of the query's node, as `open_rows` gathered them.
        """
        if not len(self._layer):
            return [np.zeros((0, DIGEST_WIDTH), np.uint32) for _ in paths]
        arity, b = self._arity, self._log_arity
        pairs, slots, lengths = self._queries.sort(indices.astype(np.int64))
        starts = np.flatnonzero(lengths[self._query] > self._group_bits)
        # The nodes that are not the first of their group; an equal index (length 0) is no node of its own.
        met = (lengths - 1) // b
        further = np.flatnonzero((lengths > 0) & (met < self._layers))
        met = met[further]
        group = np.searchsorted(starts, self._base[further] + further + met * self._step[further], "right") - 1
        # The group's first query has its siblings, its own node left out.
        if arity == 2:
            alone = np.ones(len(starts), bool)
            alone[group] = False
            place = starts[alone]
            row = slots[self._query[place]] * self._path_layers[place] + self._offset[place]
        else:
            query, layer = self._query[starts], self._layer[starts]
            member = pairs[query] >> b * layer & (arity - 1)
            absent = np.ones((len(starts), arity), bool)
            absent[np.arange(len(starts)), member] = False
            absent[group, pairs[further] >> b * met & (arity - 1)] = False
            group, other = np.nonzero(absent)
            place = starts[group]
            row = slots[query[group]] * self._path_layers[place] + self._offset[place]
            row = row * (arity - 1) + other - (other > member[group])
        ends = np.searchsorted(place, self._ends).tolist()
        return [
            part.reshape(-1, DIGEST_WIDTH).take(row[start:end], axis=0)
            for part, start, end in zip(paths, [0, *ends], ends)
        ]


@lru_cache(maxsize=64)
def pruning_plan(arity: int, shapes: tuple[tuple[int, int], ...]) -> PruningPlan:
    """The kept plan of these shapes."""
    return PruningPlan(arity, shapes)


def prune(arity: int, indices: np.ndarray, paths: np.ndarray) -> np.ndarray:
    """`PruningPlan.siblings` of one tree. indices: (q,); paths: (q, layers, (arity - 1) * 8). Returns (d, 8)."""
    return pruning_plan(arity, (paths.shape[:2],)).siblings(np.asarray(indices), [paths])[0]
