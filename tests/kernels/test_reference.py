"""The NumPy twins of field, transform and hashes against the crates' numbers and the oracle in plain integers.

Sizes are small except where a comment names the boundary that they cross.
"""

import warnings

import numpy as np
import pytest

from tests.kernels.words import EDGES, P, exts, ints, lists, op, vectors, words
from tests.oracle import field as oracle
from tests.oracle.ntt import dft
from tests.oracle.poseidon2 import permute
from tests.oracle.splitmix import stream
from tests.oracle.sponge import hash_row
from whir_mlx.field import numpy_ext, numpy_field


@pytest.fixture(autouse=True)
def no_warnings():
    """NumPy warns when a scalar wraps, which here would be a use of the wrong operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# Field


def test_field_vectors():
    cases = vectors()["field"]
    a, b = words([c["a"] for c in cases]), words([c["b"] for c in cases])
    assert a.tolist() == [c["a_monty"] for c in cases]
    canonical = np.array([c["a"] for c in cases], np.uint32)
    assert (op("to_montgomery", "montgomery")(canonical) == a).all()
    assert (op("from_montgomery", "montgomery")(a) == canonical).all()
    for name in ("add", "sub", "mul"):
        assert ints(op(f"field_{name}", "field_arithmetic")(a, b)) == [c[name] for c in cases]
    assert ints(numpy_field.neg(a)) == [c["neg_a"] for c in cases]
    inverses = ints(op("field_inverse", "field_arithmetic")(a))
    assert inverses == [c["inv_a"] or 0 for c in cases]  # the vectors have no inverse of 0; here it is 0


def test_field_edges_and_chunks():
    # Every pair of edge words (as words and as values), then 2^14 + 5 random pairs: one chunk and a rest.
    edge = np.array(EDGES + words(EDGES).tolist(), np.uint32)
    rng = np.random.default_rng(1)
    a = np.concatenate([np.repeat(edge, len(edge)), rng.integers(0, P, 2**14 + 5, dtype=np.uint32)])
    b = np.concatenate([np.tile(edge, len(edge)), rng.integers(0, P, 2**14 + 5, dtype=np.uint32)])
    x, y = a.astype(object), b.astype(object)
    assert numpy_field.mont_mul(a, b).tolist() == (x * y * pow(2, -32, P) % P).tolist()
    assert numpy_field.add(a, b).tolist() == ((x + y) % P).tolist()
    assert numpy_field.sub(a, b).tolist() == ((x - y) % P).tolist()


def test_reduction_up_to_its_bound():
    # Near 2.4 p^2 one result in eight needs both subtractions.
    for top in (P * P, 24 * P * P // 10):
        t = np.array([top - 1 - k for k in range(1000)], np.uint64)
        expected = [int(value) * pow(2, -32, P) % P for value in t]
        assert numpy_field.mont_reduce(t).tolist() == expected
        lazy = numpy_field.mont_reduce(t, canonical=False)
        assert (lazy % np.uint64(P)).tolist() == expected and (lazy <= (t >> np.uint64(32)) + np.uint64(P)).all()


def test_field_broadcast_and_layout():
    a, b = words([[1, 2, 3], [4, 5, 6]]), words([7, 8, 9])
    assert ints(numpy_field.mont_mul(a, b)) == [[7, 16, 27], [28, 40, 54]]
    assert ints(numpy_field.mont_mul(a.T, b[::-1, None])) == [[9, 36], [16, 40], [21, 42]]
    assert numpy_field.mont_mul(a[:0], b).shape == (0, 3)
    assert numpy_field.mont_mul(a[0, 1], b[2]) == words([18])[0]


def test_sums_do_not_wrap():
    # 2^20 copies of p - 1: a 32-bit sum wraps, and so would 64-bit sums of products.
    largest = np.full(2**20, P - 1, np.uint32)
    assert numpy_field.field_sum(largest, axis=0) == 2012217345
    ones = np.full((2**20, 1, 4), P - 1, np.uint32)
    value = (oracle.from_monty(P - 1),) * 4
    expected = oracle.scale(oracle.mul(value, value), 2**20)
    assert ints(numpy_ext.dot_rows(ones, ones, ext=True)) == [list(expected)]


def test_powers_and_roots():
    assert ints(numpy_field.powers(words([3, 0]), 5)) == [[1, 3, 9, 27, 81], [1, 0, 0, 0, 0]]
    assert ints(numpy_field.power(words([3, 0]), 0)) == [1, 1]
    generators = vectors()["two_adic_generators"]
    for bits in (0, 1, 5, 27):
        g = generators[bits]
        exponents = [0, 2**bits - 1, 2**bits // 2]
        assert ints(numpy_field.root_power(bits, exponents)) == [pow(g, e, P) for e in exponents]
    assert ints(numpy_field.root_powers(5)) == [pow(generators[5], e, P) for e in range(32)]


# Extension


def test_ext_vectors():
    cases = vectors()["ext4"]
    a, b = words([c["a"] for c in cases]), words([c["b"] for c in cases])
    for name in ("add", "sub", "mul"):
        assert ints(op(f"ext_{name}", "ext_arithmetic")(a, b)) == [c[name] for c in cases]
    assert ints(op("ext_mul", "ext_arithmetic")(a, a)) == [c["square_a"] for c in cases]
    assert ints(op("ext_inverse", "ext_arithmetic")(a)) == [c["inv_a"] for c in cases]
    assert ints(numpy_ext.ext_power(a, 1234567)) == [c["a_exp_1234567"] for c in cases]
    assert ints(numpy_ext.ext_power(a, P)) == [c["frobenius_p"] for c in cases]


def test_ext_known_values_and_extremes():
    ext_mul, ext_inverse = op("ext_mul", "ext_arithmetic"), op("ext_inverse", "ext_arithmetic")
    a = words([1, 2, 3, 4])
    assert ints(ext_mul(a, a)) == [276, 268, 186, 20]
    assert ints(ext_inverse(a)) == [1587469345, 920666518, 1160282443, 647153706]
    assert ints(ext_inverse(words([[0, 0, 0, 0], [0, 0, 0, 2]]))) == [[0] * 4, list(oracle.ext_inverse((0, 0, 0, 2)))]
    # Words of p - 1 everywhere: the four products that are summed before a reduction are as large as they get.
    largest = np.full((2, 4), P - 1, np.uint32)
    value = (oracle.from_monty(P - 1),) * 4
    assert ints(ext_mul(largest, largest)) == [list(oracle.mul(value, value))] * 2
    xs, ys = exts(2, 50), exts(3, 50)
    assert ints(ext_mul(words(xs), words(ys))) == lists(map(oracle.mul, xs, ys))
    assert ints(ext_mul(words(xs), words(ys[0]))) == lists(oracle.mul(x, ys[0]) for x in xs)


# Transform


def test_ntt_vectors():
    for case in vectors()["ntt"]:
        size, width = 2 ** case["log_n"], case["width"]
        x = np.array(stream(case["seed"], size * width), np.uint32).reshape(size, width)
        y = op("ntt")(numpy_field.to_montgomery(x), log_rows=case["log_n"])
        digest = 0
        for index, value in enumerate(value for row in ints(y) for value in row):
            digest = (digest * 1000003 + value + index) % 2**64 % (2**61 - 1)
        assert digest == case["digest"], case["log_n"]


@pytest.mark.parametrize("log_rows", range(6))
@pytest.mark.parametrize("width", [1, 3])
def test_ntt_is_the_definition_on_zero_extended_rows(log_rows, width):
    size = 2**log_rows
    values = np.array(stream(7, size * width), dtype=object).reshape(size, width)
    for log_count in range(log_rows + 1):
        count = 2**log_count
        columns = [dft(values[:count, j].tolist() + [0] * (size - count)) for j in range(width)]
        result = op("ntt")(words(values[:count]), log_rows=log_rows)
        assert ints(np.ascontiguousarray(result.T)) == columns
    assert ints(op("ntt")(result, log_rows=log_rows, inverse=True)) == values.tolist()


def test_ntt_known_value():
    assert ints(op("ntt")(words([[1], [2], [3], [4]]), log_rows=2)) == [[10], [569722814], [2013265919], [1443543103]]


# Hashes


def test_poseidon2_vectors():
    for width in (16, 24, 32):
        cases = vectors()["poseidon2"]
        states = words([c[f"in{width}"] for c in cases])
        assert ints(op("poseidon2")(states)) == [c[f"out{width}"] for c in cases]
    assert ints(op("poseidon2")(words([[0] * 16])))[0][:4] == [1168947398, 128782440, 747404447, 883925857]


@pytest.mark.parametrize("width", [16, 24, 32])
def test_poseidon2_blocks_and_extremes(width):
    # One block and 3 states more; the last ones hold the largest words, which the lazy reductions must bear.
    count = 2**16 // width + 3
    states = np.random.default_rng(width).integers(0, P, (count, width), dtype=np.uint32)
    states[-1] = P - 1
    states[-2, ::2] = P - 1
    result = op("poseidon2")(states)
    for i in (0, count - 4, count - 3, count - 2, count - 1):
        assert ints(result[i]) == list(permute(ints(states[i])))
    assert op("poseidon2")(states[:0]).shape == (0, width)


def test_sponge_and_compression_vectors():
    for case in vectors()["sponge"]:
        row = words(case["input"]).reshape(1, case["len"])
        assert ints(op("hash_rows")(row, rate=8)) == [case["w16"]]
        assert ints(op("hash_rows")(row, rate=16)) == [case["w24"]]
    for case in vectors()["compress"]:
        digests = words(case["digests"])
        assert ints(op("compress")(digests[:2], arity=2)) == [case["compress2_first_two"]]
        assert ints(op("compress")(digests, arity=4)) == [case["compress4"]]


def merkle_rows(case: dict) -> np.ndarray:
    height, width = case["height"], case["width"]
    return words(stream(case["seed"], height * width)).reshape(height, width)


def test_binary_tree_vectors():
    for kind, rate in (("w16", 8), ("w24", 16)):
        for case in vectors()["merkle"][kind]:
            rows = merkle_rows(case)
            leaves = op("hash_rows")(rows, rate=rate)
            layers = [leaves]
            while len(layers[-1]) > 1:
                layers.append(op("compress")(layers[-1], arity=2))
            nodes = np.concatenate(layers)
            assert len(nodes) == 2 * case["height"] - 1
            assert nodes[-1:].tolist() == case["commitment_monty"]["cap"]
            if rate == 8 and case["height"] >= 4:
                fused = np.concatenate(op("hash_leaves")(rows))
                assert (fused == nodes[: len(fused)]).all() and len(fused) == 7 * case["height"] // 4
                few = op("tree_layers")(rows, levels=2, sponge=True)
                assert np.array_equal(few, fused)


def test_quaternary_tree_vectors():
    cases = [case for case in vectors()["merkle"]["ary4"] if case["height"] in (4, 64, 256, 1024)]  # no padding
    assert len(cases) == 4
    for case in cases:
        nodes = op("hash_rows")(merkle_rows(case), rate=8)
        while len(nodes) > 1:
            nodes = op("compress")(nodes, arity=4)
        assert nodes.tolist() == case["commitment_monty"]["cap"]


def test_hash_rows_of_many_blocks():
    rows = np.random.default_rng(5).integers(0, P, (5, 37), dtype=np.uint32)  # a partial last block at both rates
    for rate in (8, 16):
        assert ints(op("hash_rows")(rows, rate=rate)) == [list(hash_row(row, rate)) for row in ints(rows)]
