"""Host arithmetic of the verifier, on canonical numbers: extension elements, multilinear polynomials, weights.

Two forms of an extension element. A *scalar* is a tuple of 4 Python ints in 0..p-1: claims and challenges, of which
there are few, are fastest so. An *array* is NumPy ``uint64``, last axis 4, entries in 0..p-1, for whatever is done to
all queries at once; sums of up to four products of such entries fit in 64 bits, since 4 p^2 < 2^64.

Points and value lists are big-endian: coordinate 0 belongs to the most significant index bit.
Source: p3-multilinear-util 0.8.0 (`point.rs`, `poly/mod.rs`), p3-sumcheck 0.8.0 (`constraints/statement/select.rs`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from whir_mlx.field.constants import EXT_DEGREE, EXT_W, TWO_ADICITY, P, two_adic_generator

__all__ = [
    "ONE",
    "ZERO",
    "add",
    "base_powers",
    "contract",
    "eq_at",
    "eq_tables",
    "expand",
    "mul",
    "mul_arrays",
    "multiples",
    "next_at",
    "powers",
    "root_powers",
    "scalar",
    "sub",
]

ZERO = (0, 0, 0, 0)
ONE = (1, 0, 0, 0)

_P = np.uint64(P)
_W = np.uint64(EXT_W)
_BLOCK = 4
# Row i of _SHIFTED picks the coefficients of X^i * b out of (w*b0..w*b3, b0..b3).
_SHIFTED = np.array([[EXT_DEGREE + j - i for j in range(EXT_DEGREE)] for i in range(EXT_DEGREE)])


def add(a: tuple, b: tuple) -> tuple:
    """a + b of scalars."""
    return (a[0] + b[0]) % P, (a[1] + b[1]) % P, (a[2] + b[2]) % P, (a[3] + b[3]) % P


def sub(a: tuple, b: tuple) -> tuple:
    """a - b of scalars."""
    return (a[0] - b[0]) % P, (a[1] - b[1]) % P, (a[2] - b[2]) % P, (a[3] - b[3]) % P


def mul(a: tuple, b: tuple) -> tuple:
    """a * b of scalars, modulo X^4 = 11."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        (a0 * b0 + EXT_W * (a1 * b3 + a2 * b2 + a3 * b1)) % P,
        (a0 * b1 + a1 * b0 + EXT_W * (a2 * b3 + a3 * b2)) % P,
        (a0 * b2 + a1 * b1 + a2 * b0 + EXT_W * a3 * b3) % P,
        (a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0) % P,
    )


def scalar(words: np.ndarray) -> tuple:
    """One canonical element, (4,) of any integer dtype, as a scalar."""
    return tuple(words.tolist())


def expand(y: tuple, num_variables: int) -> list[tuple]:
    """The point (y^(2^(n-1)), ..., y^4, y^2, y), as n scalars."""
    point = []
    for _ in range(num_variables):
        point.append(y)
        y0, y1, y2, y3 = y
        y = (
            (y0 * y0 + EXT_W * (2 * y1 * y3 + y2 * y2)) % P,
            2 * (y0 * y1 + EXT_W * y2 * y3) % P,
            (2 * y0 * y2 + y1 * y1 + EXT_W * y3 * y3) % P,
            2 * (y0 * y3 + y1 * y2) % P,
        )
    return point[::-1]


def eq_at(point: list[tuple], x: list[tuple]) -> tuple:
    """eq(point, x), both n scalars: one scalar."""
    product = ONE
    for z, coordinate in zip(point, x):
        both = mul(z, coordinate)
        product = mul(product, add(sub(sub(add(both, both), z), coordinate), ONE))
    return product


def next_at(point: list[tuple], x: list[tuple]) -> tuple:
    """The repeat-last successor weights of `point` at `x`, both n scalars: one scalar.

    The weights are eq(point, row - 1) at each row but the first, and eq(point, last) once more at the last row.
    """
    carry, done, omega = ONE, ZERO, ONE
    for z, coordinate in zip(reversed(point), reversed(x)):
        both = mul(z, coordinate)
        # `carry` says that all lower bits of the row wrapped from 1 to 0; this bit takes the carry or passes it on.
        equal = add(sub(sub(add(both, both), z), coordinate), ONE)
        done = add(mul(done, equal), mul(carry, sub(coordinate, both)))
        carry = mul(carry, sub(z, both))
        omega = mul(omega, both)
    return add(done, omega)


def mul_arrays(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b of arrays; leading axes broadcast."""
    return (a[..., None] * multiples(b)).sum(axis=-2, dtype=np.uint64) % _P


def multiples(b: np.ndarray) -> np.ndarray:
    """(..., 4) -> (..., 4, 4): row i holds X^i * b, so that a * b is the row vector a times this matrix."""
    return np.concatenate((b * _W % _P, b), axis=-1)[..., _SHIFTED]


def powers(bases: list[tuple], count: int) -> np.ndarray:
    """x^0 ... x^(count-1) of every scalar x: (len(bases), count, 4) array."""
    result = np.zeros((len(bases), 1, EXT_DEGREE), dtype=np.uint64)
    result[..., 0] = 1
    steps = multiples(np.array(bases, dtype=np.uint64).reshape(-1, EXT_DEGREE))
    while result.shape[1] < count:
        # The matrix of x^(powers so far) takes them to the next ones, and its square is that of the square.
        result = np.concatenate((result, result @ steps % _P), axis=1)
        steps = steps @ steps % _P
    return result[:, :count]


def base_powers(z: np.ndarray, log_count: int) -> np.ndarray:
    """z^0 ... z^(2^log_count - 1) of (j,) canonical uint64 numbers: (j, 2^log_count)."""
    result = np.ones((len(z), 1), dtype=np.uint64)
    for _ in range(log_count):
        result = np.concatenate((result, result * z[:, None] % _P), axis=1)
        z = z * z % _P
    return result


def eq_tables(points: list[list[tuple]]) -> list[np.ndarray]:
    """eq(point, b) for all b of n bits, for each point of n scalars: (2^n, 4) arrays."""
    tables: list[np.ndarray] = [None] * len(points)
    for n in {len(point) for point in points}:
        # Points of one length together: a step costs the same for one as for a few.
        same = [i for i, point in enumerate(points) if len(point) == n]
        coordinates = np.array([points[i] for i in same], dtype=np.uint64).reshape(len(same), n, EXT_DEGREE)
        matrices = multiples(coordinates)
        table = np.zeros((len(same), 1, EXT_DEGREE), dtype=np.uint64)
        table[..., 0] = 1
        for k in range(n):
            upper = table @ matrices[:, k] % _P
            lower = (table + (_P - upper)) % _P
            table = np.stack((lower, upper), axis=2).reshape(len(same), -1, EXT_DEGREE)
        for i, part in zip(same, table):
            tables[i] = part
    return tables


def contract(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_b rows[:, b] * weights[b] over 2^n entries b: (q, 4) array.

    rows: (q, 2^n) base or (q, 4 * 2^n) extension entries, flattened, canonical; weights: (2^n, 4) array.
    """
    if rows.shape[1] != len(weights):
        weights = multiples(weights).reshape(-1, EXT_DEGREE)
    block = min(_BLOCK, len(weights))
    rows = rows.astype(np.uint64).reshape(len(rows), -1, block).transpose(1, 0, 2)
    partial = rows @ weights.reshape(-1, block, EXT_DEGREE) % _P  # at most four products each
    return partial.sum(axis=0, dtype=np.uint64) % _P


def root_powers(bits: int, exponents: np.ndarray) -> np.ndarray:
    """g(bits)^e for (j,) exponents e in 0..2^bits-1, 0 <= bits <= 27: (j,) uint64 canonical."""
    exponents = exponents.astype(np.int64) << (TWO_ADICITY - bits)
    low, middle, high = _root_tables()
    mask = len(low) - 1
    shift = _TABLE_BITS
    result = low[exponents & mask] * middle[(exponents >> shift) & mask] % _P
    return result * high[exponents >> (2 * shift)] % _P


_TABLE_BITS = 9


@lru_cache(maxsize=1)
def _root_tables() -> tuple[np.ndarray, ...]:
    """g(27)^(i * 512^j) for i < 512 and j = 0, 1, 2: any power is a product of three entries."""
    tables = []
    for j in range(TWO_ADICITY // _TABLE_BITS):
        root = two_adic_generator(TWO_ADICITY - j * _TABLE_BITS)
        entries = [1]
        for _ in range(2**_TABLE_BITS - 1):
            entries.append(entries[-1] * root % P)
        tables.append(np.array(entries, dtype=np.uint64))
    return tuple(tables)
