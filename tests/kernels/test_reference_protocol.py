"""The NumPy twins of the transcript and of the multilinear operations against the crates' numbers and the oracle."""

from functools import partial

import numpy as np
import pytest

from tests.kernels.words import P, exts, ints, lists, op, vectors, words
from tests.oracle import field as oracle
from tests.oracle import multilinear, sumcheck
from tests.oracle.challenger import Challenger
from whir_mlx.kernels.reference.sumcheck_round import pairs

FRESH = np.zeros(26, np.uint32)


def observe(state: np.ndarray, *segments) -> np.ndarray:
    return op("challenge")(state, [words(list(segment)) for segment in segments], num_samples=0)[0]


def sample(state: np.ndarray, count: int = 1) -> tuple:
    state, samples, _ = op("challenge")(state, [], num_samples=count)
    return state, ints(samples)


def uniform(state: np.ndarray, count: int, bits: int) -> tuple:
    state, _, indices = op("challenge")(state, [], num_samples=0, num_indices=count, index_bits=bits)
    return state, indices.tolist()


def grind(state: np.ndarray, bits: int) -> tuple:
    """Witness, and the state after it is observed and its sample drawn, as a prover does."""
    witness = int(op("grind")(state, bits=bits)[0])
    return witness, sample(observe(state, [witness]))[0]


# Transcript


def test_transcript_vectors():
    state = FRESH
    for number, step in enumerate(vectors()["transcript"]):
        match step["op"]:
            case "observe":
                state = observe(state, step["values"])
            case "observe_ext":
                state = observe(state, step["value"])
            case "sample_base":
                state, values = sample(state)
                assert values == [step["value"]], number
            case "sample_ext":
                state, values = sample(state, 4)
                assert values == step["value"], number
            case "sample_bits":
                state, values = sample(state)
                assert values[0] % 2 ** step["bits"] == step["value"], number
            case "sample_uniform_bits":
                state, values = uniform(state, 1, step["bits"])
                assert values == [step["value"]], number
            case "grind":
                witness, state = grind(state, step["bits"])
                assert witness == step["smallest_witness"], number


@pytest.mark.parametrize(
    "values, expected",
    [
        ([5, 7], 1670552191),
        ([5, 7, 0, 0], 236733051),
        ([5, 7, 0, 0, 0, 0, 0, 0], 1047908792),
        ([], 1054281681),
        (range(8), 1220677744),
        (range(9), 1785938776),
    ],
)
def test_a_partial_block_binds_its_length(values, expected):
    assert sample(observe(FRESH, values))[1] == [expected]


def test_segments_and_calls_are_one_stream():
    # Lengths chosen so that segments end before, at and after the ends of the 8-word blocks.
    for lengths in ([3, 5, 1], [8, 8, 2], [1, 1, 20], [0, 7, 0], [16, 0, 1]):
        runs = np.split(np.arange(1, sum(lengths) + 1), np.cumsum(lengths)[:-1])
        challenger = Challenger()
        challenger.observe(range(1, sum(lengths) + 1))
        # 11 samples and 5 indices: more than one block of outputs.
        expected = [challenger.sample() for _ in range(11)], [challenger.sample_uniform_bits(9) for _ in range(5)]
        state, samples, indices = op("challenge")(
            FRESH, [words(run.tolist()) for run in runs], num_samples=11, num_indices=5, index_bits=9
        )
        assert (ints(samples), indices.tolist()) == expected
        apart = FRESH
        for run in runs:
            apart = observe(apart, run.tolist())
        apart, values = sample(apart, 11)
        assert values == expected[0]
        assert uniform(apart, 5, 9)[0].tolist() == state.tolist()
        assert state[24] == 0 and state[25] == len(challenger.outputs)


def test_state_layout():
    state = observe(FRESH, range(1, 12))
    challenger = Challenger()
    challenger.observe(range(1, 12))
    assert ints(state[:16]) == challenger.state and ints(state[16:19]) == [9, 10, 11]
    assert state[19:].tolist() == [0, 0, 0, 0, 0, 3, 0]
    assert op("challenge")(state, [], num_samples=0)[0].tolist() == state.tolist()
    full = observe(FRESH, range(8))  # permuted at once: 8 outputs are left
    assert full[24:].tolist() == [0, 8]


def test_extension_segments_are_flattened():
    values = exts(11, 3)
    flat = [c for value in values for c in value]
    state = op("challenge")(FRESH, [words(values)], num_samples=0)[0]
    assert state.tolist() == observe(FRESH, flat).tolist()


@pytest.mark.parametrize("bits", [1, 17, 27])
def test_uniform_draw_repeats_on_the_largest_value(bits):
    state = FRESH.copy()
    state[:8] = words([10, 11, 12, 13, 14, 15, P - 2, P - 1])
    state[25] = 8
    after, indices = uniform(state, 2, bits)
    assert indices == [(P - 2) % 2**bits, 15 % 2**bits] and after[25] == 5


def test_no_index_bits_draw_nothing():
    state = observe(FRESH, range(8))
    after, indices = uniform(state, 3, 0)
    assert indices == [0, 0, 0] and after.tolist() == state.tolist()


@pytest.mark.parametrize("bits, witness", [(1, 2), (5, 14), (10, 30), (16, 127313)])
def test_grind_finds_the_smallest(bits, witness):
    found, after = grind(observe(FRESH, [42]), bits)
    assert found == witness
    if bits == 16:
        assert sample(after)[1] == [1487695673]


def test_grind_at_the_end_of_a_block_and_at_zero_bits():
    state = observe(FRESH, range(7))  # the witness is the eighth word
    witness, after = grind(state, 8)
    assert witness == 225 and sample(after)[1] == [337245294]
    assert op("grind")(state, bits=0).tolist() == [0]


# Multilinear operations


def test_points_and_tables():
    for n in range(5):
        y, point = exts(n, 1)[0], exts(20 + n, n)
        array = words(point).reshape(n, 4)
        tables = op("eq_tables", "eq_table")(words(y), lengths=(n // 2, n - n // 2))
        expanded = multilinear.expand(y, n)
        for table, part in zip(tables, (expanded[: n // 2], expanded[n // 2 :]), strict=True):
            assert ints(table) == lists(multilinear.eq_table(part))
        assert ints(op("eq_table")(array)) == lists(multilinear.eq_table(point))
        for split in range(n + 1):
            outer = op("eq_outer")(op("eq_table")(array[:split]), op("eq_table")(array[split:]))
            assert outer.tolist() == op("eq_table")(array).tolist()


def test_known_point_and_evaluation():
    of_point = op("eq_table")(words([oracle.ext(x) for x in (81, 9, 3)]))
    assert op("eq_tables", "eq_table")(words([3, 0, 0, 0]), lengths=(3,))[0].tolist() == of_point.tolist()
    table = op("eq_table")(words([oracle.ext(x) for x in (2, 3, 5)]))
    evals = words([oracle.ext(x) for x in range(1, 9)])
    assert ints(op("dot")(table, evals)) == [20, 0, 0, 0]


def test_dot():
    # 2^14 + 3 products: one block of `dot_rows` and a rest.
    for count in (1, 7, 2**14 + 3):
        a, b = exts(5, count), exts(6, count)
        assert ints(op("dot")(words(a), words(b))) == list(oracle.dot(a, b))


@pytest.mark.parametrize("ext", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 4), (2, 9)])
def test_fold_axis(ext, axis, shape):
    rows, columns = shape
    values = [exts(30 + c, rows * columns) for c in range(2)]
    if not ext:
        values = [[oracle.ext(value[0]) for value in batch] for batch in values]
    weights = exts(7, shape[axis])
    expected = []
    for batch in values:
        if axis == 0:
            lines = [batch[b::columns] for b in range(columns)]
        else:
            lines = [batch[a * columns : (a + 1) * columns] for a in range(rows)]
        expected.append(lists(oracle.dot(line, weights) for line in lines))
    f = words(values).reshape(2, rows, columns, 4)
    f = f if ext else np.ascontiguousarray(f[..., 0])
    assert ints(op("fold_axis")(f, words(weights), axis=axis, ext=ext)) == expected
    assert ints(op("fold_axis")(f[1], words(weights), axis=axis, ext=ext)) == expected[1]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("prefix", [False, True])
def test_sumcheck(n, prefix):
    f, w, r = exts(8, 2**n), exts(9, 2**n), exts(10, 1)[0]
    log_stride = n - 1 if prefix else 0
    sent = op("sumcheck_round")(words(f), words(w), log_stride=log_stride)
    assert ints(sent) == lists(sumcheck.round_values(f, w, prefix))
    folded = op("sumcheck_fold")(words(f), words(w), words(r), log_stride=log_stride)
    assert [ints(x) for x in folded] == [lists(sumcheck.fold(x, r, prefix)) for x in (f, w)]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
def test_rounds_of_a_sumcheck(prefix, whole):
    # Three of five rounds, the first after a seed or after a challenge, against the oracle's fold, sum and challenger.
    f, w, r = exts(18, 32), exts(19, 32), exts(20, 1)[0]
    challenger = Challenger()
    challenger.observe(range(1, 4))
    challenger.sample_ext()
    keywords = {"rounds": 3, "log_stride": 4 if prefix else 0, "falling": prefix}
    state, tables = sample(observe(FRESH, range(1, 4)), 4)[0], (words(f), words(w))
    if whole:
        challenger.observe(range(9, 14))
        got = op("sumcheck_phase", "sumcheck_rest")(state, words(list(range(9, 14))), *tables, **keywords)
    else:
        f, w = sumcheck.fold(f, r, prefix), sumcheck.fold(w, r, prefix)
        got = op("sumcheck_rest")(state, *tables, words(r), **keywords)
    sent, drawn = [], [] if whole else [r]
    for _ in range(3):
        sent.append([c for value in sumcheck.round_values(f, w, prefix) for c in value])
        challenger.observe(sent[-1])
        drawn.append(challenger.sample_ext())
        f, w = sumcheck.fold(f, drawn[-1], prefix), sumcheck.fold(w, drawn[-1], prefix)
    assert got[0].tolist() == sample_nothing(challenger)
    assert ints(got[1][: 8 * 3].reshape(3, 8)) == sent and got[1][8 * 3 :].tolist() == got[0].tolist()
    assert ints(got[2]) == lists(drawn if prefix else drawn[::-1])
    assert [ints(x) for x in got[3:]] == [lists(f), lists(w)]


def sample_nothing(challenger: Challenger) -> list[int]:
    """The oracle's state with nothing buffered, as words of ours."""
    return [*words(challenger.state).tolist(), *[0] * 9, len(challenger.outputs)]


@pytest.mark.parametrize("log_stride", range(4))
def test_pairs(log_stride):
    x = np.arange(16 * 4, dtype=np.uint32).reshape(16, 4)
    lo, hi = pairs(x, log_stride)
    i = np.arange(8)
    at = (i >> log_stride) << (log_stride + 1) | i & (2**log_stride - 1)
    assert (lo == x[at]).all() and (hi == x[at + 2**log_stride]).all()


# 2^11 weights: two runs of 2^10 powers. Repeated indices count twice.
@pytest.mark.parametrize("num_ood, indices", [(2, [0, 5, 4095, 5]), (0, [17]), (1, []), (0, [])])
@pytest.mark.parametrize("n", [0, 3, 11])
def test_query_weights(num_ood, indices, n):
    w, gamma = exts(12, 2**n), exts(13, 1)[0]
    tables = [exts(14 + j, 2**n) for j in range(num_ood)]
    factors = oracle.powers(gamma, 1 + num_ood + len(indices))[1:]
    g = oracle.two_adic_generator(12)
    functions = tables + [multilinear.power_table(oracle.ext(pow(g, index, P)), n) for index in indices]
    expected = list(w)
    for factor, function in zip(factors, functions, strict=True):
        expected = [oracle.add(x, oracle.mul(factor, value)) for x, value in zip(expected, function, strict=True)]
    given = words(w)
    result = op("query_weights")(
        given,
        words(tables).reshape(num_ood, 2**n, 4),
        words(gamma),
        np.array(indices, np.uint32),
        log_domain=12,
    )
    assert ints(result) == lists(expected) and ints(given) == lists(w)


def test_add_scaled_and_gather():
    w, coefficients, table = exts(15, 2 * 3), exts(16, 2), exts(17, 3)
    expected = lists(oracle.add(w[k], oracle.mul(coefficients[k // 3], table[k % 3])) for k in range(6))
    call = partial(op("add_scaled"), words(w).reshape(2, 3, 4), words(coefficients))
    result = call([words(table)], places=((0, 1),))
    assert ints(result.reshape(6, 4)) == expected and result.shape == (2, 3, 4)
    # Table by table, and a place of None leaves its column alone.
    apart = call([words(table), words(table)], places=((None, 1), (0, None)))
    assert apart.tolist() == result.tolist()
    x = np.arange(12, dtype=np.uint32).reshape(4, 3)
    assert op("gather_rows")(x, np.array([3, 0, 3], np.uint32)).tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert op("gather_rows")(x, np.zeros(0, np.uint32)).shape == (0, 3)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint32)


CLIMB = {"trees": 1, "levels": 1, "leaves": 1, "nodes": 2, "siblings": 1, "arity": 2, "rate": 8}
REST = {"rounds": 1, "log_stride": 0, "falling": False}
WAITING = np.array([0] * 24 + [1, 0], np.uint32)


@pytest.mark.parametrize(
    "name, arguments, keywords, message",
    [
        ("ntt", [zeros(3, 1)], {"log_rows": 2}, "x must be of a power of two of at most 4 rows, got 3"),
        ("ntt", [zeros(8, 1)], {"log_rows": 2}, "x must be of a power of two of at most 4 rows, got 8"),
        ("ntt", [zeros(2, 1)], {"log_rows": 2, "inverse": True}, "x must be of 4 rows, got 2"),
        ("ntt", [zeros(4, 0)], {"log_rows": 2}, "x must be a matrix of at least one column"),
        ("ntt", [zeros(1, 1)], {"log_rows": 28}, "log_rows must be in 0..27, got 28"),
        ("poseidon2", [zeros(2, 8)], {}, "states must be .* got shape .2, 8."),
        ("hash_rows", [zeros(2, 8)], {"rate": 12}, "rate must be 8 or 16, got 12"),
        ("hash_leaves", [zeros(6, 8)], {}, "rows must be a multiple of 4 rows, got 6"),
        ("compress", [zeros(4, 8)], {"arity": 3}, "arity must be 2 or 4, got 3"),
        ("compress", [zeros(3, 8)], {"arity": 2}, "nodes must be"),
        ("tree_layers", [zeros(12, 8)], {"levels": 2, "sponge": False}, "rows must be a positive multiple"),
        ("climb", [zeros(16), zeros(10)], CLIMB | {"arity": 3}, "arity must be 2 or 4, got 3"),
        ("climb", [zeros(16), zeros(10)], CLIMB | {"rate": 9}, "rate must be 8 or 16, got 9"),
        ("climb", [zeros(16), zeros(8)], CLIMB, "tables must be of shape .10,., got .*8"),
        ("climb", [zeros(8), zeros(10)], CLIMB, "words must be rows and 1 digests, got 8"),
        ("climb", [zeros(16), zeros(10)], CLIMB | {"leaves": 0}, "leaves must be in 1..2 of a tree, got 0"),
        ("challenge", [zeros(25), []], {"num_samples": 1}, "state must be of shape"),
        ("challenge", [FRESH, []], {"num_samples": 0, "num_indices": 1, "index_bits": 28}, "index_bits must be in 0"),
        ("grind", [FRESH], {"bits": 31}, "bits must be in 0..30, got 31"),
        ("eq_table", [zeros(3, 3)], {}, "point must be"),
        ("fold_axis", [zeros(3, 2), zeros(2, 4)], {"axis": 0, "ext": False}, "weights must be of shape .3, 4."),
        ("sumcheck_round", [zeros(8, 4), zeros(4, 4)], {"log_stride": 0}, "w must be of the shape of f"),
        ("sumcheck_fold", [zeros(4, 4), zeros(4, 4), zeros(4)], {"log_stride": 2}, "N a multiple of 8"),
        ("sumcheck_rest", [FRESH, zeros(4, 4), zeros(4, 4), zeros(4)], REST | {"rounds": 2}, "N a multiple of 2"),
        ("sumcheck_rest", [FRESH, zeros(4, 4), zeros(4, 4), zeros(4)], REST | {"rounds": 0}, "rounds must be"),
        ("sumcheck_rest", [WAITING, zeros(4, 4), zeros(4, 4), zeros(4)], REST, "with nothing buffered, got .1 0."),
        ("sumcheck_phase", [FRESH, zeros(0), zeros(4, 4), zeros(4, 4)], REST, "seed must be of at least one word"),
        ("dot", [zeros(4, 4), zeros(1, 4)], {}, "b must be of the shape of a"),
        ("query_weights", [zeros(4, 4), zeros(0, 4, 4), zeros(4), [4]], {"log_domain": 2}, "indices must be below 2.2"),
        ("query_weights", [zeros(4, 4), zeros(1, 2, 4), zeros(4), []], {"log_domain": 2}, "ood_tables must be"),
        ("add_scaled", [zeros(2, 3, 4), zeros(2, 4), [zeros(1, 4)]], {"places": ((0, 1),)}, "w must be of shape"),
        ("gather_rows", [zeros(4, 3), [4]], {}, "indices must be below 4, got 4"),
    ],
)
def test_refusals(name, arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        op(name, "sumcheck_rest" if name == "sumcheck_phase" else None)(*arguments, **keywords)
