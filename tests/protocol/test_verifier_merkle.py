"""The check of Merkle multi-openings against the oracle's trees, and the tree configuration."""

import random

import numpy as np
import pytest

from tests.helpers import host_device
from tests.oracle import merkle
from tests.oracle.splitmix import stream
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.kernels.device import get_device
from whir_mlx.protocol.merkle_config import TREE_NAMES, TreeConfig, tree_config
from whir_mlx.protocol.verifier_merkle import check_multiproofs, plan_multiproof, verify_multiproof


def words(values, width: int) -> np.ndarray:
    array = np.array(values, dtype=np.uint64).reshape(-1, width)
    return (array * MONTY_ONE % P).astype(np.uint32)


def opening_of(name: str, cap_height: int, height: int, width: int, indices: list) -> dict:
    """The arguments of `verify_multiproof` for an opening made by the oracle."""
    tree = tree_config(name, cap_height)
    matrix = [stream(i, width) for i in range(height)]
    oracle = merkle.Tree(matrix, tree.arity, rate=tree.leaf_rate, cap_height=cap_height)
    rows, siblings = oracle.open(indices)
    return {
        "tree": tree,
        "cap": words(oracle.cap, 8),
        "rows": words(rows, width),
        "siblings": words(siblings, 8),
        "indices": np.array(indices),
        "height": height,
        "width": width,
        "where": "test",
    }


def refused(check: str, **arguments) -> None:
    with pytest.raises(VerificationError) as caught:
        verify_multiproof(host_device(), **arguments)
    assert caught.value.check == check


def flipped(array: np.ndarray, index: int) -> np.ndarray:
    """The array with one word changed."""
    changed = array.copy()
    changed.flat[index] ^= 1
    return changed


@pytest.mark.parametrize("name", TREE_NAMES)
@pytest.mark.parametrize("cap_height", [0, 1, 2, 9])
@pytest.mark.parametrize("height", [1, 2, 4, 8, 32])
def test_multiproof_against_the_oracle(name, cap_height, height):
    # Heights that are and are not powers of 4; rows of less, one and more than one block; none, all, repeated indices.
    rng = random.Random(height)
    for indices in ([], [height - 1], list(range(height)), [rng.randrange(height) for _ in range(7)]):
        width = rng.choice([1, 8, 19])
        opening = opening_of(name, cap_height, height, width, indices)
        cap, rows, siblings = opening["cap"], opening["rows"], opening["siblings"]
        verify_multiproof(host_device(), **opening)
        faults = [
            {"siblings": np.concatenate([siblings, np.zeros((1, 8), np.uint32)])},
            {"cap": np.concatenate([cap, cap])},
        ]
        if indices:
            faults += [{"rows": flipped(rows, -1)}, {"rows": rows[:, :-1]}]
            faults += [{"indices": np.array([i, *indices[1:]])} for i in (-1, height, 2**31, 2**32 - 1)]
        if len(siblings):
            faults += [{"siblings": flipped(siblings, 0)}, {"siblings": siblings[:-1]}, {"siblings": siblings[:0]}]
        for fault in faults:
            refused("MerkleProofInvalid", **{**opening, **fault})
        refused("StirQueryCountMismatch", **{**opening, "rows": np.zeros((len(rows) + 1, width), np.uint32)})


def test_equal_indices_need_equal_rows():
    # The second row of index 3 is never hashed, so only the comparison can refuse it.
    opening = opening_of("w16", 0, 8, 4, [3, 5, 3])
    refused("MerkleProofInvalid", **{**opening, "rows": flipped(opening["rows"], -1)})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((3, 8, 0), ValueError),
        ((2, 9, 0), ValueError),
        ((2, 8, -1), ValueError),
        ((2, 8, 1.0), TypeError),
        ((True, 8, 0), TypeError),
    ],
)
def test_tree_config_refuses(arguments, error):
    with pytest.raises(error):
        TreeConfig(*arguments)


def test_tree_names():
    assert [tree_config(name).name for name in TREE_NAMES] == list(TREE_NAMES)
    with pytest.raises(ValueError, match="w17"):
        tree_config("w17")


def several() -> list[dict]:
    """Openings in trees of several heights and row widths, as of the rounds of a proof: repeated indices, no index, one
    leaf; a tree that ends first is followed by one that ends last."""
    shapes = [(8, 4, [3, 5, 3]), (2, 8, [1]), (32, 4, [0, 31, 7, 30]), (4, 12, []), (1, 8, [0, 0])]
    openings = [opening_of("w16", 0, *shape) for shape in shapes]
    return [{**opening, "where": f"codeword {i}"} for i, opening in enumerate(openings)]


def check_together(openings: list[dict], device=None) -> None:
    plans = [plan_multiproof(**opening) for opening in openings]
    check_multiproofs(device or host_device(), openings[0]["tree"], plans)


def test_many_openings_at_once():
    check_together(several())
    check_together(several()[::-1])
    check_together(several()[3:4])
    check_together(several(), get_device("numpy"))
    check_multiproofs(host_device(), tree_config("w16"), [])


def spoiled(opening: dict, what: str) -> dict:
    """An opening that fails in one of the ways that only the joint check can see."""
    if what == "siblings":
        return {**opening, "siblings": opening["siblings"][:-1]}
    return {**opening, what: flipped(opening[what], -1)}


@pytest.mark.parametrize("first", ["rows", "siblings", "cap"])
@pytest.mark.parametrize("second", ["rows", "siblings", "cap"])
def test_the_first_opening_that_fails_is_named(first, second):
    # A wrong number of siblings is seen before any digest is computed, and yet must wait for the digests before it.
    for a, b in ((0, 1), (0, 2), (1, 2)):
        openings = several()
        openings[a], openings[b] = spoiled(openings[a], first), spoiled(openings[b], second)
        with pytest.raises(VerificationError) as caught:
            check_together(openings)
        assert caught.value.where == f"codeword {a}"
