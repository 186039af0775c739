"""The Poseidon2 permutation at widths 16, 24 and 32 (p3-baby-bear, p3-poseidon2 0.8.0)."""

from functools import lru_cache

from .field import P
from .grain import round_constants


def _half(k: int) -> int:
    """2^-k; its negative is the entry -2^-k of a diagonal."""
    return pow(2, -k, P)


def _diagonal(plus: list, minus: list) -> list:
    return [-2, 1, 2, _half(1), 3, 4, -_half(1), -3, -4] + [_half(k) for k in plus] + [-_half(k) for k in minus]


DIAGONAL = {
    16: _diagonal([8, 2, 3, 27], [8, 4, 27]),
    24: _diagonal([8, 2, 3, 4, 7, 9, 27], [8, 2, 3, 4, 5, 6, 7, 27]),
    32: _diagonal([8, 2, 3, 4, 5, 6, 7, 9, 10, 12, 27], [8, 2, 3, 4, 5, 6, 7, 9, 10, 12, 14, 27]),
}


def external_layer(s: list) -> list:
    """M4 on every group of four, then the column sums over the groups are added to every element."""
    mixed = []
    for i in range(0, len(s), 4):
        a, b, c, d = s[i : i + 4]
        t = a + b + c + d
        # Rows [2 3 1 1], [1 2 3 1], [1 1 2 3], [3 1 1 2].
        mixed += (t + a + 2 * b, t + b + 2 * c, t + c + 2 * d, t + d + 2 * a)
    sums = [sum(mixed[k::4]) for k in range(4)]
    return [(x + sums[i % 4]) % P for i, x in enumerate(mixed)]


def internal_layer(s: list) -> list:
    total = sum(s)
    return [(v * x + total) % P for v, x in zip(DIAGONAL[len(s)], s, strict=True)]


def full_round(s: list, constants: list) -> list:
    return external_layer([(x + c) ** 7 % P for x, c in zip(s, constants, strict=True)])


# Tests hash the same rows again and again (prove, then verify; one proof with many changes).
@lru_cache(maxsize=16384)
def _permute(state: tuple) -> tuple:
    s = external_layer(state)
    initial, internal, final = round_constants(len(s))
    for row in initial:
        s = full_round(s, row)
    for constant in internal:
        s = internal_layer([(s[0] + constant) ** 7 % P, *s[1:]])
    for row in final:
        s = full_round(s, row)
    return tuple(s)


def permute(state) -> list:
    return list(_permute(tuple(state)))
