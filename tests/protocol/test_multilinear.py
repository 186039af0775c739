"""The verifier's host arithmetic against the oracle's plain integers, at the largest and smallest entries."""

import random

import numpy as np
import pytest

from tests.oracle import field, multilinear
from whir_mlx.field.constants import P, two_adic_generator
from whir_mlx.protocol.multilinear import (
    add,
    base_powers,
    contract,
    eq_at,
    eq_tables,
    expand,
    mul,
    mul_arrays,
    next_at,
    powers,
    root_powers,
    sub,
)

LARGEST = (P - 1,) * 4


def elements(rng: random.Random, count: int) -> list[tuple]:
    """Entries at the ends of the range as often as random ones; the first element is the largest."""
    drawn = [tuple(rng.choice([0, 1, P - 1, rng.randrange(P)]) for _ in range(4)) for _ in range(count)]
    return [LARGEST, *drawn][:count]


def array(values) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def tuples(values: np.ndarray) -> list[tuple]:
    return [tuple(row) for row in values.tolist()]


def test_arithmetic():
    rng = random.Random(1)
    a, b = elements(rng, 40), elements(rng, 40)
    for x, y in zip(a, b):
        assert (add(x, y), sub(x, y), mul(x, y)) == (field.add(x, y), field.sub(x, y), field.mul(x, y))
    assert tuples(mul_arrays(array(a), array(b))) == [field.mul(x, y) for x, y in zip(a, b)]


@pytest.mark.parametrize("n", range(6))
def test_points_and_tables(n):
    # 0 to 5 variables: blocks of 1, 2 and 4 entries in the contraction; tables of points of one and of two lengths.
    rng = random.Random(n)
    point, x = elements(rng, n), elements(rng, n)[::-1]
    assert expand(LARGEST, n) == multilinear.expand(LARGEST, n)
    tables = eq_tables([point, x, [LARGEST]])
    assert list(map(tuples, tables)) == [multilinear.eq_table(p) for p in (point, x, [LARGEST])]
    assert next_at(point, x) == multilinear.next_at(point, x)
    assert eq_at(point, x) == multilinear.eq(point, x)


@pytest.mark.parametrize("n", range(6))
def test_contraction_of_base_and_extension_rows(n):
    rng = random.Random(n)
    point = elements(rng, n)
    (weights,) = eq_tables([point])
    base = [[P - 1] * 2**n, [rng.randrange(P) for _ in range(2**n)]]
    expected = [multilinear.evaluate([field.ext(x) for x in row], point) for row in base]
    assert tuples(contract(array(base), weights)) == expected
    if n:
        extension = [[LARGEST] * 2**n, elements(rng, 2**n)]
        expected = [multilinear.evaluate(row, point) for row in extension]
        assert tuples(contract(array(extension).reshape(2, -1), weights)) == expected


@pytest.mark.parametrize("n", range(5))
def test_powers_of_base_numbers(n):
    z = [0, 1, P - 1, random.Random(n).randrange(P)]
    assert base_powers(array(z), n).tolist() == [[pow(entry, b, P) for b in range(2**n)] for entry in z]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9])
def test_powers(count):
    bases = [LARGEST, (1, 2, 3, 4)]
    for x, got in zip(bases, powers(bases, count), strict=True):
        expected = [field.ext(1)]
        while len(expected) < count:
            expected.append(field.mul(expected[-1], x))
        assert tuples(got) == expected[:count]


@pytest.mark.parametrize("bits", [0, 1, 9, 10, 18, 19, 27])
def test_root_powers(bits):
    # Exponents that use one, two and all three of the tables.
    exponents = sorted({0, 2**bits - 1, 2**bits // 2, 2**bits // 3})
    expected = [pow(two_adic_generator(bits), e, P) for e in exponents]
    assert root_powers(bits, np.array(exponents, dtype=np.uint32)).tolist() == expected
