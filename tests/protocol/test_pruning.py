"""Pruning the openings of several trees at once, against each group of siblings looked at by itself."""

import numpy as np
import pytest

from whir_mlx.protocol.pruning import PruningPlan, prune


def expected(arity: int, indices: list[int], paths: np.ndarray) -> list[np.ndarray]:
    """Layer by layer: the children of ascending groups that no query's path passes."""
    kept, log_arity = [], arity.bit_length() - 1
    for layer in range(paths.shape[1]):
        nodes = {index >> (log_arity * layer): query for query, index in reversed(list(enumerate(indices)))}
        for parent in sorted({node >> log_arity for node in nodes}):
            children = range(parent << log_arity, (parent + 1) << log_arity)
            own, query = next((child, nodes[child]) for child in children if child in nodes)
            siblings = [child for child in children if child != own]
            digests = paths[query, layer].reshape(arity - 1, 8)
            kept += [digest for child, digest in zip(siblings, digests) if child not in nodes]
    return kept


@pytest.mark.parametrize("arity", [2, 4])
def test_several_trees_at_once(arity):
    """Trees of no, one and many queries, repeated ones too, down to the root or cut at a cap; one without layers."""
    rng = np.random.default_rng(arity)
    shapes = [(0, 3), (1, 4), (7, 0), (30, 3), (40, 8), (2, 12)]
    bits = [layers * (arity.bit_length() - 1) + extra for (_, layers), extra in zip(shapes, (0, 0, 4, 2, 0, 1))]
    indices = [rng.integers(0, 1 << b, queries).tolist() for (queries, _), b in zip(shapes, bits)]
    # Every digest of a node is made from its place, so that queries agree where their paths meet.
    paths = []
    for tree, (queries, layers) in enumerate(shapes):
        words = np.zeros((queries, layers, (arity - 1) * 8), np.uint32)
        for query, index in enumerate(indices[tree]):
            for layer in range(layers):
                node = index >> (layer * (arity.bit_length() - 1))
                group = node & -arity
                others = [child for child in range(group, group + arity) if child != node]
                words[query, layer] = [hash((tree, layer, child, k)) & 0xFFFFFFF for child in others for k in range(8)]
        paths.append(words)
    joined = np.concatenate([np.array(tree, np.uint32) for tree in indices])
    found = PruningPlan(arity, tuple(shapes)).siblings(joined, paths)
    assert sum(len(digests) for digests in found) > 50
    for tree, digests in enumerate(found):
        wanted = expected(arity, indices[tree], paths[tree])
        assert digests.tolist() == [digest.tolist() for digest in wanted]
        alone = prune(arity, np.array(indices[tree], np.uint32), paths[tree])
        assert alone.tolist() == digests.tolist()
