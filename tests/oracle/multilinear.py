"""Multilinear polynomials over {0,1}^n. Points and value lists are big-endian: coordinate 0 is the top index bit."""

from .field import ONE, ZERO, add, ext, mul, scale, sub


def expand(y: tuple, n: int) -> list:
    """(y^(2^(n-1)), ..., y^4, y^2, y)."""
    point = []
    for _ in range(n):
        point.insert(0, y)
        y = mul(y, y)
    return point


def _eq1(a: tuple, x: tuple) -> tuple:
    return add(sub(sub(scale(mul(a, x), 2), a), x), ONE)


def eq(a: list, x: list) -> tuple:
    """prod of 2 a_i x_i - a_i - x_i + 1."""
    result = ONE
    for ai, xi in zip(a, x, strict=True):
        result = mul(result, _eq1(ai, xi))
    return result


def bits_of(value: int, count: int) -> list:
    """The bits of `value` as extension elements, most significant first."""
    return [ext(value >> (count - 1 - i) & 1) for i in range(count)]


def eq_table(point: list) -> list:
    """eq(point, b) for every b."""
    table = [ONE]
    for z in point:
        table = [mul(t, side) for t in table for side in (sub(ONE, z), z)]
    return table


def evaluate(values: list, point: list) -> tuple:
    """Binds coordinate 0 first: halves."""
    for z in point:
        half = len(values) // 2
        values = [add(lo, mul(z, sub(hi, lo))) for lo, hi in zip(values[:half], values[half:], strict=True)]
    return values[0]


def successor(column: list) -> list:
    """The repeat-last successor column: next[i] = column[min(i + 1, last)]."""
    return column[1:] + column[-1:]


def next_table(point: list) -> list:
    """Weights w with <w, column> = the successor column's value at `point`."""
    table = eq_table(point)
    shifted = [ZERO, *table[:-1]]
    shifted[-1] = add(shifted[-1], table[-1])
    return shifted


def next_at(point: list, x: list) -> tuple:
    """`next_table(point)` as a multilinear polynomial, at x: the ripple carry of "+ 1", from the last bit up."""
    carry, done, omega = ONE, ZERO, ONE
    for z, xi in zip(reversed(point), reversed(x), strict=True):
        done = add(mul(done, _eq1(z, xi)), mul(carry, mul(sub(ONE, z), xi)))
        carry = mul(carry, mul(z, sub(ONE, xi)))
        omega = mul(omega, mul(z, xi))
    return add(done, omega)


def power_table(z: tuple, n: int) -> list:
    """z^b for every b of n bits: the weights of a STIR query."""
    table = [ONE]
    for _ in range(2**n - 1):
        table.append(mul(table[-1], z))
    return table


def power_at(z: tuple, x: list) -> tuple:
    """`power_table(z, n)` as a multilinear polynomial, at x: coordinate i carries z^(2^(n-1-i))."""
    result = ONE
    for xi in reversed(x):
        result = mul(result, add(ONE, mul(xi, sub(z, ONE))))
        z = mul(z, z)
    return result


def horner(coefficients: list, z: tuple) -> tuple:
    total = ZERO
    for c in reversed(coefficients):
        total = add(mul(total, z), c)
    return total
