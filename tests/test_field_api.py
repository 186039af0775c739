"""`whir_mlx.field` on NumPy and MLX arrays: known answers (vectors of the crates), kinds in and out, refusals.

The kernels behind it have tests of their own; here sizes are tiny, or primes that no vector width divides.
"""

import mlx.core as mx
import numpy as np
import pytest

from tests.oracle.field import ext
from tests.oracle.multilinear import evaluate
from whir_mlx import field, splitmix
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P

KINDS = {"numpy": np.array, "mlx": mx.array}


def words(values, kind="numpy"):
    """Montgomery words of canonical values."""
    array = np.array(values, dtype=np.uint32)
    return field.to_montgomery(array if kind == "numpy" else mx.array(array, dtype=mx.uint32))


def canonical(x):
    return np.array(field.from_montgomery(x)).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", ["auto", "numpy"])
def test_arithmetic(kind, device):
    a, b = splitmix(1, 257), splitmix(2, 257)
    x, y = words(a, kind), words(b, kind)
    a, b = a.tolist(), b.tolist()
    assert canonical(field.add(x, y, device=device)) == [(i + j) % P for i, j in zip(a, b)]
    assert canonical(field.sub(x, y, device=device)) == [(i - j) % P for i, j in zip(a, b)]
    assert canonical(field.mul(x, y, device=device)) == [i * j % P for i, j in zip(a, b)]
    assert canonical(field.inverse(x, device=device)) == [pow(i, -1, P) for i in a]
    assert canonical(field.inverse(words([0], kind))) == [0]


def test_extension():
    x = words([1, 2, 3, 4])
    assert canonical(field.ext_mul(x, x)) == [276, 268, 186, 20]
    assert canonical(field.ext_inverse(x)) == [1587469345, 920666518, 1160282443, 647153706]
    assert canonical(field.ext_sub(field.ext_add(x, x), x)) == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_stay_in_the_field(kind):
    x = KINDS[kind](np.full(1 << 20, P - 1, np.uint32))
    assert int(field.sum(x)) == 2012217345
    assert np.array(field.sum(x.reshape(2, -1), axis=0)).tolist() == [P - 2] * (1 << 19)


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_the_kind_and_shape_that_came_in(kind):
    scalar, matrix, empty = words(5, kind), words([[1, 2, 3], [4, 5, 6]], kind), words(np.zeros((0, 4)), kind)
    expected = np.ndarray if kind == "numpy" else mx.array
    for x in (scalar, matrix, empty):
        for result in (field.add(x, x), field.mul(x, x), field.inverse(x), field.from_montgomery(x)):
            assert isinstance(result, expected) and tuple(result.shape) == tuple(x.shape)
    assert canonical(field.mul(matrix, words([2, 3, 4], kind))) == [[2, 6, 12], [8, 15, 24]]
    assert canonical(field.mul(matrix, scalar)) == [[5, 10, 15], [20, 25, 30]]
    assert field.ext_add(empty, empty).shape == (0, 4)


def test_mixed_kinds_give_mlx():
    assert isinstance(field.add(words([1]), words([2], "mlx")), mx.array)


VIEWS = {
    "strided": lambda x: x[::2],
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.reshape(5, 6).T,
    "column": lambda x: x.reshape(6, 5)[:, 1],
    "slice": lambda x: x[1:7],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_their_contiguous_copies(kind, view):
    base = splitmix(3, 30)
    expected = np.array(field.mul(np.ascontiguousarray(VIEWS[view](base)), np.ascontiguousarray(VIEWS[view](base))))
    x = VIEWS[view](KINDS[kind](base))
    assert np.array_equal(np.array(field.mul(x, x)), expected)


def test_big_endian_words():
    x = splitmix(4, 9)
    assert np.array_equal(field.add(x.astype(">u4"), x), field.add(x, x))


@pytest.mark.parametrize("kind", KINDS)
def test_ntt(kind):
    x = KINDS[kind](np.array([1, 2, 3, 4], np.uint32))
    assert np.array(field.ntt(x)).tolist() == [10, 569722814, 2013265919, 1443543103]
    assert np.array(field.intt(field.ntt(x))).tolist() == [1, 2, 3, 4]
    # Zero extension, against the transform of the extended matrix.
    matrix = splitmix(1, 24).reshape(8, 3)
    extended = np.concatenate([matrix, np.zeros((24, 3), np.uint32)])
    assert np.array_equal(np.array(field.ntt(KINDS[kind](matrix), log_rows=5)), field.ntt(extended))


def test_hashes():
    assert canonical(field.poseidon2(words([0] * 16)))[:4] == [1168947398, 128782440, 747404447, 883925857]
    both = field.poseidon2(words([[0] * 24, list(range(24))]))
    assert np.array_equal(both[1], field.poseidon2(words(range(24))))
    digests = field.hash_rows(words(splitmix(0, 40).reshape(4, 10)))
    assert digests.shape == (4, 8)
    joined = words(splitmix(0, 32)[None])
    assert np.array_equal(field.compress(joined.reshape(4, 8), arity=4)[0], field.poseidon2(joined)[0, :8])


def test_evaluate_against_the_oracle():
    assert canonical(field.evaluate(words(range(1, 9)), words([[2, 0, 0, 0], [3, 0, 0, 0], [5, 0, 0, 0]]))) == [
        20,
        0,
        0,
        0,
    ]
    evals, point = splitmix(1, 4 * 128).reshape(128, 4), splitmix(2, 28).reshape(7, 4)
    expected = evaluate([tuple(row) for row in evals.tolist()], [tuple(row) for row in point.tolist()])
    assert canonical(field.evaluate(words(evals), words(point))) == list(expected)
    expected = evaluate([ext(x) for x in evals[:, 0].tolist()], [tuple(row) for row in point.tolist()])
    assert canonical(field.evaluate(words(evals[:, 0], "mlx"), words(point))) == list(expected)
    with pytest.raises(ValueError, match="takes 8 evals, got 4"):
        field.evaluate(words(range(4)), words(np.ones((3, 4))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree, cap_height", [("w16", 0), ("w24", 1), ("ary4", 0), ("ary4", 2)])
def test_merkle(kind, tree, cap_height):
    rows = words(splitmix(0, 32 * 3).reshape(32, 3), kind)
    made = field.merkle_commit(rows, tree=tree, cap_height=cap_height)
    indices = [17, 3, 17, 0]
    opened, siblings = field.merkle_open(made, indices)
    assert np.array_equal(np.array(opened), np.array(rows)[indices])
    check = {"height": 32, "tree": tree, "cap_height": cap_height}
    field.merkle_verify(made.cap, opened, siblings, indices, **check)
    changed = np.array(opened)
    changed[1, 2] = (int(changed[1, 2]) + 1) % P
    for cap, some_rows, digests, positions in [
        (made.cap, changed, siblings, indices),
        (made.cap, opened, siblings[:-1], indices),
        (made.cap, opened, siblings, [17, 2, 17, 0]),
        (made.cap, opened, siblings, [17, 3, 17, 32]),
        (made.cap, opened, siblings, [17, 3, 17, -1]),
        (made.cap, opened, siblings, [17, 3, 17, 2**31]),
    ]:
        with pytest.raises(VerificationError):
            field.merkle_verify(cap, some_rows, digests, positions, **check)
    for outside in (32, -1, 2**31):
        with pytest.raises(IndexError, match=r"indices must be in 0\.\.31"):
            field.merkle_open(made, [0, outside])
    assert [part.shape[0] for part in field.merkle_open(made, [])] == [0, 0]


def test_transcript_binds_length():
    for values, sample in [
        ([5, 7], 1670552191),
        ([5, 7, 0, 0], 236733051),
        ([5, 7, 0, 0, 0, 0, 0, 0], 1047908792),
        ([], 1054281681),
        (list(range(8)), 1220677744),
        (list(range(9)), 1785938776),
    ]:
        transcript = field.Transcript()
        transcript.observe(words(values))
        assert canonical(transcript.sample()) == [sample]


def test_transcript_grinds_and_forks():
    transcript = field.Transcript()
    transcript.observe(words([42], "mlx"))
    other = transcript.fork()
    assert np.array(transcript.grind(5)).tolist() == [14]
    assert other.check_pow(5, 14)
    assert canonical(transcript.sample(3)) == canonical(other.sample(3))
    assert not other.check_pow(30, 0)
    assert np.array(transcript.sample_indices(3, 20)).max() < 8


def test_observed_arrays_are_copied():
    a, b = field.Transcript(), field.Transcript()
    x = words([1, 2, 3])
    a.observe(x)
    b.observe(x)
    x[0] = 0
    assert canonical(a.sample()) == canonical(b.sample()) != canonical(_observed(x).sample())


def _observed(x):
    transcript = field.Transcript()
    transcript.observe(x)
    return transcript


@pytest.mark.parametrize(
    "x", [[1, 2], np.array([1, 2]), np.array([1.0]), mx.array([1, 2]), mx.array([1.0]), None, "ab"]
)
def test_other_kinds_are_refused(x):
    for function in (field.to_montgomery, field.inverse, field.sum, field.ntt, field.poseidon2):
        with pytest.raises(TypeError, match="uint32"):
            function(x)


@pytest.mark.parametrize("kind", KINDS)
def test_words_out_of_range_are_refused_where_they_are_at_hand(kind):
    x = KINDS[kind](np.array([[1, 2], [3, P]], np.uint32))
    with pytest.raises(ValueError, match=rf"b must hold words below {P}, got {P} at index \[1, 1\]"):
        field.add(KINDS[kind](np.array([1, 2], np.uint32)), x)


def test_wrong_shapes_are_refused():
    for call in (
        lambda: field.add(words([1, 2]), words([1, 2, 3])),
        lambda: field.ext_mul(words([1, 2, 3]), words([1, 2, 3])),
        lambda: field.ntt(words([1, 2, 3])),
        lambda: field.ntt(words([])),
        lambda: field.ntt(words([1, 2]), log_rows=0),
        lambda: field.ntt(words([1, 2]), log_rows=28),
        lambda: field.poseidon2(words([0] * 17)),
        lambda: field.hash_rows(words([[1]]), rate=9),
        lambda: field.compress(words([[0] * 8] * 3)),
        lambda: field.merkle_commit(words([[1], [2], [3]])),
        lambda: field.merkle_commit(words([1, 2])),
    ):
        with pytest.raises(ValueError):
            call()


def test_names():
    assert set(field.__all__) <= set(dir(field))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = field.multiply
