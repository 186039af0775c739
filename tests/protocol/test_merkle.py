"""Trees and openings of the prover against the oracle's: layers, caps, pruned digests."""

import copy
import random

import numpy as np
import pytest

from tests.helpers import host_device
from tests.kernels.words import words
from tests.oracle import merkle as oracle
from tests.oracle.splitmix import stream
from whir_mlx.errors import VerificationError
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.tuning import tuning_for
from whir_mlx.protocol.merkle import commit_rows, open_rows
from whir_mlx.protocol.merkle_config import TREE_NAMES, TreeConfig, tree_config
from whir_mlx.protocol.pruning import prune
from whir_mlx.protocol.verifier_merkle import verify_multiproof

# 1: a leaf is the root. 2 and 8: odd levels under arity 4, so that layers are padded. 4: the first height whose leaves
# and first layers come from one launch (arity 2). 64: three levels of arity 4, six of arity 2.
HEIGHTS = [1, 2, 4, 8, 16, 64]
# Below, at and past one block of the sponges (8 and 16), and a last block that is partly filled.
WIDTHS = [1, 8, 11, 16, 40]


def matrix(height: int, width: int) -> list[list[int]]:
    return [stream(100 * width + row, width) for row in range(height)]


def opened(device, tree, indices) -> tuple[np.ndarray, np.ndarray]:
    """(rows, pruned siblings) on the host."""
    found = open_rows(device, tree, device.asarray(np.array(indices, np.uint32)))
    paths = device.numpy(found.paths)
    assert paths.shape == (len(indices), len(tree.layers) - 1, 8 * (tree.config.arity - 1))
    return device.numpy(found.rows), prune(tree.config.arity, np.array(indices, np.uint32), paths)


@pytest.mark.parametrize("device_name", ["host", "numpy"])
@pytest.mark.parametrize("config", [*map(tree_config, TREE_NAMES), TreeConfig(4, 16)], ids=lambda config: config.name)
@pytest.mark.parametrize("height", HEIGHTS)
def test_trees_and_openings_are_the_oracles(device_name, config, height):
    device = host_device() if device_name == "host" else get_device("numpy")
    rng = random.Random(height)
    for width in WIDTHS:
        rows = matrix(height, width)
        for cap_height in (0, 1, 2, 20):
            tree = TreeConfig(config.arity, config.leaf_rate, cap_height)
            theirs = oracle.Tree(rows, tree.arity, tree.leaf_rate, cap_height)
            ours = commit_rows(device, tree, device.asarray(words(rows)))
            assert np.array_equal(device.numpy(ours.cap), words(theirs.cap))
            assert len(ours.layers) == theirs.levels_below_cap + 1
            for mine, layer in zip(ours.layers, theirs.layers, strict=False):
                assert np.array_equal(device.numpy(mine), words(layer))
            for indices in ([0], [height - 1] * 3, list(range(height)), [rng.randrange(height) for _ in range(9)]):
                found, siblings = opened(device, ours, indices)
                expected_rows, expected_siblings = theirs.open(indices)
                assert np.array_equal(found, words(expected_rows))
                assert np.array_equal(siblings, words(np.array(expected_siblings, dtype=object).reshape(-1, 8)))


@pytest.mark.parametrize("name", TREE_NAMES)
def test_no_query_opens_nothing(name):
    device = host_device()
    tree = commit_rows(device, tree_config(name), device.asarray(words(matrix(16, 8))))
    rows, siblings = opened(device, tree, [])
    assert rows.shape == (0, 8) and siblings.shape == (0, 8)


@pytest.mark.parametrize("height", [4, 32, 2048, 4096])
@pytest.mark.parametrize("cap_height", [0, 3])
def test_short_layers_made_together_are_the_same(height, cap_height):
    # Metal makes several layers a launch up to 1024 rows: 4 and 32 start there, 2048 and 4096 reach it at a layer.
    device = get_device("numpy")
    lazy = copy.copy(device)
    lazy.tuning = tuning_for("metal")
    config = TreeConfig(cap_height=cap_height)
    rows = np.arange(3 * height, dtype=np.uint32).reshape(height, 3)
    one_by_one, together = commit_rows(device, config, rows), commit_rows(lazy, config, rows)
    assert len(one_by_one.layers) == len(together.layers) == config.cap_layer(height) + 1
    for mine, other in zip(one_by_one.layers, together.layers, strict=True):
        assert np.array_equal(mine, other)


@pytest.mark.parametrize("name", TREE_NAMES)
def test_openings_verify_and_bind_every_row(name):
    # 128 rows: odd for arity 4 as well (levels 128, 32, 8, 2). 11 queries, some of them equal or neighbours.
    device, config = host_device(), tree_config(name, 1)
    tree = commit_rows(device, config, device.asarray(words(matrix(128, 9))))
    indices = np.array([5, 4, 127, 5, 0, 64, 65, 66, 67, 3, 99])
    rows, siblings = opened(device, tree, indices)
    arguments = {"height": 128, "width": 9, "where": "test"}
    cap = device.numpy(tree.cap)
    verify_multiproof(device, config, cap, rows, siblings, indices, **arguments)
    for query in range(len(indices)):
        changed = rows.copy()
        changed[query, 8] ^= 1
        with pytest.raises(VerificationError):
            verify_multiproof(device, config, cap, changed, siblings, indices, **arguments)
    for digest in range(len(siblings)):
        changed = siblings.copy()
        changed[digest, 7] ^= 1
        with pytest.raises(VerificationError):
            verify_multiproof(device, config, cap, rows, changed, indices, **arguments)
