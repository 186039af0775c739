"""The opening phase's shortcut against its definition: claims as sums of products, and the first rounds on them."""

import numpy as np
import pytest

from tests.helpers import host_device
from tests.kernels.words import exts, ints, words
from tests.oracle.field import ZERO, add, ext, mul
from tests.oracle.multilinear import eq_table, evaluate, next_table, successor
from tests.oracle.splitmix import stream
from tests.oracle.sumcheck import fold, round_values
from whir_mlx.protocol.opening import bind_point
from whir_mlx.protocol.opening_terms import evaluation_term, partial_sums, successor_terms
from whir_mlx.protocol.sumcheck import run_sumcheck
from whir_mlx.protocol.transcript import Transcript

# (variables, folding factor): all folded (the outer table is one entry), one left, one folded, and both parts longer.
SIZES = [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1), (4, 4), (5, 3), (6, 3), (7, 4)]


def terms_of(point, order: str, k: int):
    device = host_device()
    evaluation = evaluation_term(
        device, device.asarray(words(point)), num_variables=len(point), order=order, folding_factor=k
    )
    return evaluation, successor_terms(device, evaluation, order=order)


def tuples(array) -> list[tuple]:
    return [tuple(row) for row in ints(array.reshape(-1, 4))]


def expanded(terms, order: str) -> list[tuple]:
    """The sum of the products by index: outer is the high part of it in suffix order, the low one in prefix order."""
    total = None
    for term in terms:
        outer, inner = tuples(term.outer), tuples(term.inner)
        high, low = (outer, inner) if order == "suffix" else (inner, outer)
        table = [mul(x, y) for x in high for y in low]
        total = table if total is None else [add(x, y) for x, y in zip(total, table, strict=True)]
    return total


@pytest.mark.parametrize("order", ["suffix", "prefix"])
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_terms_add_up_to_the_weights(order, n, k):
    point = exts(n, n)
    evaluation, following = terms_of(point, order, k)
    assert evaluation.outer.shape == (2 ** (n - k), 4) and evaluation.inner.shape == (2**k, 4)
    assert expanded([evaluation], order) == eq_table(point)
    assert expanded(following, order) == next_table(point)


@pytest.mark.parametrize("order", ["suffix", "prefix"])
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_partial_sums_contract_to_the_value(order, n, k):
    device = host_device()
    point, columns = exts(n + 50, n), [stream(c, 2**n) for c in range(3)]
    evaluation, following = terms_of(point, order, k)
    for terms, view in (([evaluation], list), (following, successor)):
        values = [ZERO] * 3
        for term in terms:
            sums = partial_sums(device, device.asarray(words(columns)), term, order=order)
            assert sums.shape == (3, 2**k, 4)
            inner = tuples(term.inner)
            for c in range(3):
                for x, y in zip(tuples(sums[c]), inner, strict=True):
                    values[c] = add(values[c], mul(x, y))
        assert values == [evaluate([ext(x) for x in view(column)], point) for column in columns]


@pytest.mark.parametrize("order", ["suffix", "prefix"])
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_first_rounds_on_the_terms_are_the_rounds_on_the_cube(order, n, k):
    # Four terms side by side (an evaluation and a successor), weights 1: messages, folded inner tables, final sums.
    device, prefix = host_device(), order == "prefix"
    point, column = exts(n + 90, n), stream(7, 2**n)
    evaluation, following = terms_of(point, order, k)
    terms = [evaluation, *following]
    matrix = device.asarray(words([column]))
    sums = np.concatenate([device.numpy(partial_sums(device, matrix, term, order=order))[0] for term in terms])
    inners = np.concatenate([device.numpy(term.inner) for term in terms])
    _, coefficients, run = run_sumcheck(
        device, Transcript(device), sums, inners, rounds=k, pow_bits=0, order=order, log_block=k
    )
    f = [ext(x) for x in column]
    w = [add(x, y) for x, y in zip(eq_table(point), next_table(point), strict=True)]
    bound = tuples(bind_point(device, run.point))
    drawn = bound if prefix else bound[::-1]
    for message, r in zip(run.messages, drawn, strict=True):
        assert tuples(message.reshape((2, 4))) == list(round_values(f, w, prefix))
        f, w = fold(f, r, prefix), fold(w, r, prefix)
    total = [ZERO] * len(w)
    for term, coefficient in zip(terms, tuples(coefficients), strict=True):
        total = [add(x, mul(coefficient, y)) for x, y in zip(total, tuples(term.outer), strict=True)]
    assert total == w
