"""The plan of opened trees against the same nodes found one by one, as sets of positions."""

import numpy as np
import pytest

from whir_mlx.protocol.opened_nodes import opened_shape


def records(tables: np.ndarray, trees: int, levels: int, leaves: int, arity: int) -> tuple:
    """The three tables of `climb.metal`: records, first words of the rows, children."""
    per_tree = tables[: trees * (levels + 6)].reshape(trees, -1).tolist()
    starts, children = np.split(tables[trees * (levels + 6) :], [leaves])
    return per_tree, starts.tolist(), children.reshape(-1, arity).tolist()


# Queries, levels and log2 of the leaves: of one tree, of none opened, of one leaf; a cap below the root (fewer levels
# than the leaves have), no level at all; every leaf opened, most of them twice; leaves past 2^16.
SHAPES = [
    ((5, 4, 4),),
    ((0, 3, 3),),
    ((3, 0, 0),),
    ((7, 3, 5), (0, 2, 2), (4, 0, 3), (1, 6, 6), (40, 4, 4)),
    ((90, 17, 27), (0, 0, 0), (33, 12, 12)),
]


@pytest.mark.parametrize("arity", [2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_nodes_one_by_one(shape, arity):
    rng, bits = np.random.default_rng(len(shape)), arity // 2
    opened_rows = [rng.integers(0, 1 << log, queries) for queries, _, log in shape]
    shape = [(queries, -(-levels // bits), log) for queries, levels, log in shape]
    shapes = tuple((queries, levels, 3 + k, 5) for k, (queries, levels, _) in enumerate(shape))
    opened = opened_shape(arity, shapes).nodes(np.concatenate(opened_rows))
    levels, leaves = opened.sizes["levels"], opened.sizes["leaves"]
    assert opened.sizes["trees"] == len(shape) and levels == max(levels for _, levels, _ in shape)
    per_tree, starts, children = records(opened.tables, len(shape), levels, leaves, arity)

    row, leaf, parent, sibling, query = 0, 0, leaves, opened.sizes["nodes"], 0
    tops = []
    for k, (indices, (queries, height, _)) in enumerate(zip(opened_rows, shape)):
        record, known = [3 + k], {}
        record.append(leaf)
        for index in sorted(set(indices.tolist())):
            known[index] = leaf
            # Any of the queries of an index.
            assert (starts[leaf] - row) % (3 + k) == 0 and indices[(starts[leaf] - row) // (3 + k)] == index
            leaf += 1
        first_sibling, bounds = sibling, [parent]
        for _ in range(height):
            above = {}
            for position in sorted({node >> bits for node in known}):
                for member in range(arity):
                    child = known.get((position << bits) + member)
                    if child is None:
                        child, sibling = sibling, sibling + 1
                    assert children[parent - leaves][member] == child
                above[position], parent = parent, parent + 1
            known = above
            bounds.append(parent)
        bounds += [parent] * (levels - height)
        nodes = opened.sizes["nodes"]
        assert per_tree[k] == [*record, leaf, first_sibling - nodes, sibling - nodes, *bounds]
        assert opened.needed[k] == sibling - first_sibling
        tops += [(number, k, 5 * k + position) for position, number in known.items()]
        repeated = [pair - query for pair in opened.repeated if query <= pair[0] < query + queries]
        assert all(indices[a] == indices[b] and a != b for a, b in repeated)
        assert len({b for _, b in repeated}) == len(repeated) == queries - len(set(indices.tolist()))
        row, query = row + queries * (3 + k), query + queries
    assert (leaf, parent, sibling) == (leaves, opened.sizes["nodes"], parent + opened.sizes["siblings"])
    assert sorted(zip(opened.tops, opened.owners, opened.caps)) == sorted(tops)
    assert len(starts) == leaves and len(children) == parent - leaves
