"""Quadratic sumcheck of sum f(b) w(b): prefix order binds the first variable, suffix order the last one."""

from .field import ONE, ZERO, add, mul, sub


def split(values: list, prefix: bool) -> tuple:
    """(variable at 0, variable at 1): halves, or even and odd entries."""
    half = len(values) // 2
    return (values[:half], values[half:]) if prefix else (values[::2], values[1::2])


def round_values(f: list, w: list, prefix: bool) -> tuple:
    """(h(0), leading coefficient) of h(X) = sum over the rest of f(X) w(X)."""
    c0, c2 = ZERO, ZERO
    for f0, f1, w0, w1 in zip(*split(f, prefix), *split(w, prefix), strict=True):
        c0 = add(c0, mul(f0, w0))
        c2 = add(c2, mul(sub(f1, f0), sub(w1, w0)))
    return c0, c2


def fold(values: list, r: tuple, prefix: bool) -> list:
    return [add(lo, mul(r, sub(hi, lo))) for lo, hi in zip(*split(values, prefix), strict=True)]


def next_claim(claim: tuple, c0: tuple, c2: tuple, r: tuple) -> tuple:
    """h(r) from h(0), h(1) = claim - h(0) and the leading coefficient."""
    line = add(mul(c0, sub(ONE, r)), mul(sub(claim, c0), r))
    return add(line, mul(c2, mul(r, sub(r, ONE))))
