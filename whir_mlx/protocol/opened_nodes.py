"""The nodes that the verifier of opened Merkle trees computes, of many trees at once: what `climb` is told of them.

Queries are sorted, tree after tree, and h is the number of index bits in which neighbours differ (`sorted_queries`): on
level l of a tree of arity 2^b a query's node is another than its neighbour's where h > b l, and then counts as that
query's. So one comparison of h with numbers known beforehand finds all nodes, counting them numbers them, and a node's
parent is the last one counted up to its query one level above.

Source: p3-merkle-tree 0.8.0 (`pruning.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whir_mlx.kernels.climb import RECORD_WORDS
from whir_mlx.protocol.sorted_queries import INDEX_BITS, SortedQueries

__all__ = ["OpenedNodes", "OpenedShape", "opened_shape"]

_SIBLING = 0xFFFFFFFF
_BEFORE_AND_AT = np.array([-1, 0])


@dataclass(frozen=True, eq=False)
class OpenedNodes:
    """What is opened of T trees: `tables` and `sizes` as `climb` takes them.

    `needed`: of every tree the number of siblings. `repeated` (r, 2): queries with the same index as the one on the
    left, as numbers of all trees' queries. `tops` (c,): the numbers of the nodes of the last layers, ascending in each
    tree; `owners` (c,): their trees; `caps` (c,): which of all trees' cap digests each should be.
    """

    tables: np.ndarray
    sizes: dict[str, int]
    needed: list[int]
    repeated: np.ndarray
    tops: np.ndarray
    owners: np.ndarray
    caps: np.ndarray


class OpenedShape:
    """What depends on the shapes alone: arity 2^b; shapes: (q queries, levels, words of a row, digests of the cap).

    A place is a tree, a level and a query by its rank: the leaves of all trees first, then tree after tree level by
    level. What each place is told by is in arrays of one entry a place.
    """

    def __init__(self, arity: int, shapes: tuple[tuple[int, int, int, int], ...]):
        queries, levels, widths, caps = np.array(shapes, np.int64).reshape(-1, 4).T
        trees, most = len(shapes), int(levels.max(initial=0))
        self._arity, self._trees, self._levels, self._widths = arity, trees, most, widths
        self._queries = SortedQueries(queries)
        total, owner = self._queries.total, self._queries.owner
        self._starts = (np.cumsum(widths[owner]) - widths[owner]).astype(np.uint32)  # of the rows, by query

        # By tree: the places of its leaves, of its parents level by level, and of its last layer.
        leaves_end, parents_end = np.cumsum(queries), total + np.cumsum(queries * levels)
        leaf, parent = leaves_end - queries, parents_end - queries * levels
        bounds = parent[:, None] + queries[:, None] * np.minimum(np.arange(most + 1), levels[:, None])
        last_end = np.where(levels > 0, parents_end, leaves_end)
        self._edges = np.column_stack([leaf, leaves_end, last_end - queries, last_end, bounds])

        tree = np.repeat(np.arange(trees), queries * levels)  # of the places of parents
        within = np.arange(total, total + len(tree)) - parent[tree]
        rank, level = within % queries[tree], within // queries[tree]
        self._query = np.concatenate([np.arange(total), leaf[tree] + rank])
        self._above = np.concatenate([parent[owner] + np.arange(total) - leaf[owner], np.arange(len(tree)) + total])
        self._above[total:] += queries[tree]  # past its own tree for a last layer, which is not asked
        level = np.concatenate([np.zeros(total, np.int64), level + 1])
        self._tree = np.concatenate([owner, tree])
        self._last = level == levels[self._tree]
        self._bits = (arity.bit_length() - 1) * level
        self._cap = (np.cumsum(caps) - caps)[self._tree]

    def nodes(self, indices: np.ndarray) -> OpenedNodes:
        """indices: (sum of q,) int64, tree after tree, each below the leaves of its tree, in any order."""
        total, arity, record = self._queries.total, self._arity, RECORD_WORDS + self._levels
        pairs, slots, lengths = self._queries.sort(indices)
        exists = lengths[self._query] > self._bits
        before = np.zeros(len(exists) + 1, np.int64)
        np.cumsum(exists, out=before[1:])
        places = np.flatnonzero(exists)
        leaves, nodes = int(before[total]), len(places)

        tables = np.empty(self._trees * record + leaves + (nodes - leaves) * arity, np.uint32)
        starts = tables[self._trees * record :]
        starts[:leaves] = self._starts[slots[places[:leaves]]]
        children = starts[leaves:]
        children.fill(_SIBLING)
        last = self._last[places]
        lower, tops = np.flatnonzero(~last), np.flatnonzero(last)
        place, top_place = places[lower], places[tops]
        member = pairs[self._query[place]] >> self._bits[place] & (arity - 1)
        children[(before[self._above[place] + 1] - (leaves + 1)) * arity + member] = lower
        siblings = np.flatnonzero(children == _SIBLING)
        children[siblings] = np.arange(nodes, nodes + len(siblings))

        edges = before[self._edges]
        needed = (arity - 1) * (edges[:, -1] - edges[:, 4]) - (edges[:, 1] - edges[:, 0]) + (edges[:, 3] - edges[:, 2])
        records = tables[: self._trees * record].reshape(-1, record)
        records[:, 0] = self._widths
        records[:, 1:3] = edges[:, :2]
        records[:, 4] = np.cumsum(needed)
        records[:, 3] = records[:, 4] - needed
        records[:, 5:] = edges[:, 4:]
        again = np.flatnonzero(lengths == 0)
        position = (pairs[self._query[top_place]] & ((1 << INDEX_BITS) - 1)) >> self._bits[top_place]
        return OpenedNodes(
            tables=tables,
            sizes={
                "trees": self._trees,
                "levels": self._levels,
                "leaves": leaves,
                "nodes": nodes,
                "siblings": len(siblings),
            },
            needed=needed.tolist(),
            repeated=slots[again[:, None] + _BEFORE_AND_AT],
            tops=tops,
            owners=self._tree[top_place],
            caps=self._cap[top_place] + position,
        )


@lru_cache(maxsize=64)
def opened_shape(arity: int, shapes: tuple[tuple[int, int, int, int], ...]) -> OpenedShape:
    """The kept tables of these shapes."""
    return OpenedShape(arity, shapes)
