"""The quartic extension F[X] / (X^4 - 11) in NumPy, on Montgomery words; an element is 4 words c0..c3 on the last axis.

Addition, subtraction and negation are those of `numpy_field`. Leading axes broadcast as NumPy does.
Source: p3-baby-bear 0.8.0 (`baby_bear.rs`, W = 11), p3-field 0.8.0 (`extension/binomial_extension.rs`).
"""

import numpy as np

from .constants import EXT_DEGREE, EXT_W, MONTY_BITS, MONTY_ONE, P
from .numpy_field import (
    add,
    chunks,
    inverse,
    join_sums,
    mont_mul,
    mont_reduce,
    montgomery_word,
    neg,
    split_sum,
    sub,
)

__all__ = ["dot_rows", "ext_inverse", "ext_mul", "ext_one", "ext_power", "ext_powers", "lift", "scale"]

_P64 = np.uint64(P)
_P_SHIFTED = np.uint64(P << MONTY_BITS)
_W = np.uint64(EXT_W)

_BLOCK = 2**14
"""Elements of a block in `dot_rows`; the reason is that of `numpy_field.chunks`."""


def ext_one() -> np.ndarray:
    """The element 1: (4,)."""
    return lift(np.uint32(MONTY_ONE))


def lift(a: np.ndarray) -> np.ndarray:
    """Base elements as extension elements: (...) -> (..., 4)."""
    a = np.asarray(a, np.uint32)
    result = np.zeros((*a.shape, EXT_DEGREE), np.uint32)
    result[..., 0] = a
    return result


def _planes(a: np.ndarray) -> list[np.ndarray]:
    """The four coefficients apart, as views."""
    return [a[..., k] for k in range(EXT_DEGREE)]


def _times_11(b: list[np.ndarray]) -> list[np.ndarray]:
    """11 * b3, 11 * b2, 11 * b1 below p: what X^4 = 11 folds back, indexed by the distance past X^3."""
    return [np.remainder(np.multiply(b[k], _W), _P64) for k in (3, 2, 1)]


def _products(a: list[np.ndarray], b: list[np.ndarray]) -> list[np.ndarray]:
    """The coefficients of a * b before reduction, each a sum of 4 products of words: below 4 p^2 < 2^64."""
    b3, b2, b1 = _times_11(b)
    rows = [
        (b[0], b3, b2, b1),
        (b[1], b[0], b3, b2),
        (b[2], b[1], b[0], b3),
        (b[3], b[2], b[1], b[0]),
    ]
    result = []
    for row in rows:
        total = np.multiply(a[0], row[0])
        for k in (1, 2, 3):
            total = np.add(total, np.multiply(a[k], row[k]))
        result.append(total)
    return result


def _reduce_4(t: np.ndarray) -> np.ndarray:
    """t / 2^32 mod p for t < 4 p^2."""
    # 2^32 p is 2.13 p^2: after this t < 2.14 p^2, in reach of mont_reduce; a smaller t wraps and stays.
    return mont_reduce(np.minimum(t, np.subtract(t, _P_SHIFTED)))


def ext_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b: (..., 4) and (..., 4), leading axes broadcast -> (..., 4)."""
    a, b = np.asarray(a), np.asarray(b)
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), np.uint32)
    for run in chunks(_planes(a) + _planes(b), _planes(out)):
        for target, total in zip(run[8:], _products(list(run[:4]), list(run[4:8])), strict=True):
            target[...] = _reduce_4(total)
    return out


def scale(a: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Extension times base: (..., 4) and (...) -> (..., 4)."""
    return mont_mul(a, np.asarray(factor)[..., None])


def ext_power(a: np.ndarray, exponent: int) -> np.ndarray:
    """a^exponent, elementwise; `exponent` is an integer >= 0 (0^0 = 1)."""
    result = np.broadcast_to(ext_one(), np.shape(a))
    for bit in f"{exponent:b}":
        result = ext_mul(result, result)
        if bit == "1":
            result = ext_mul(result, a)
    return result


def ext_powers(a: np.ndarray, count: int) -> np.ndarray:
    """a^0, ..., a^(count-1): (4,) -> (count, 4)."""
    result = ext_one()[None]
    step = np.asarray(a)
    while len(result) < count:
        # step = a^(length so far), so one product doubles the list.
        result = np.concatenate([result, ext_mul(result, step)])
        step = ext_mul(step, step)
    return result[:count].copy()


def ext_inverse(a: np.ndarray) -> np.ndarray:
    """1 / a, elementwise over the leading axes; 0 gives 0. (..., 4) -> (..., 4)."""
    # With Y = X^2, Y^2 = 11: a = A + X B for A = a0 + a2 Y, B = a1 + a3 Y. The product (A + X B)(A - X B) =
    # A^2 - Y B^2 = n0 + n1 Y has no X left, and (n0 + n1 Y)(n0 - n1 Y) = n0^2 - 11 n1^2 is in F.
    w = montgomery_word(EXT_W)
    a0, a1, a2, a3 = _planes(np.asarray(a))
    cross_02, cross_13 = mont_mul(a0, a2), mont_mul(a1, a3)
    n0 = sub(
        add(mont_mul(a0, a0), mont_mul(w, mont_mul(a2, a2))),
        mont_mul(w, add(cross_13, cross_13)),
    )
    n1 = sub(add(cross_02, cross_02), add(mont_mul(a1, a1), mont_mul(w, mont_mul(a3, a3))))
    norm_inverse = inverse(sub(mont_mul(n0, n0), mont_mul(w, mont_mul(n1, n1))))
    # 1 / (n0 + n1 Y) = m0 + m1 Y, and 1 / a = (A - X B)(m0 + m1 Y).
    m0, m1 = mont_mul(n0, norm_inverse), neg(mont_mul(n1, norm_inverse))
    m1_w = mont_mul(w, m1)
    return np.stack(
        [
            add(mont_mul(a0, m0), mont_mul(a2, m1_w)),
            neg(add(mont_mul(a1, m0), mont_mul(a3, m1_w))),
            add(mont_mul(a0, m1), mont_mul(a2, m0)),
            neg(add(mont_mul(a1, m1), mont_mul(a3, m0))),
        ],
        axis=-1,
    )


def dot_rows(f: np.ndarray, weights: np.ndarray, *, ext: bool) -> np.ndarray:
    """sum over k of f[k, m] * weights[k, m].

    Args: f, (K, M) base or with `ext` (K, M, 4); weights, (K, M or 1, 4). Returns (M, 4). K and M may be any size >= 0.
    """
    rows, columns = f.shape[:2]
    highs = np.zeros((EXT_DEGREE, columns), np.uint64)
    lows = np.zeros((EXT_DEGREE, columns), np.uint64)
    step = max(1, _BLOCK // max(1, columns))
    for start in range(0, rows, step):
        weight = [plane.astype(np.uint64) for plane in _planes(weights[start : start + step])]
        block = f[start : start + step]
        if ext:
            totals = _products([plane.astype(np.uint64) for plane in _planes(block)], weight)
        else:
            base = block.astype(np.uint64)
            totals = [np.multiply(base, plane) for plane in weight]
        for k, total in enumerate(totals):
            high, low = split_sum(total, axis=0)
            highs[k] += high
            lows[k] += low
    return np.ascontiguousarray(join_sums(highs, lows).T)
