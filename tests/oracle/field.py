"""F = integers mod p = 15 * 2^27 + 1, and the extension F[X] / (X^4 - 11) as 4-tuples of canonical ints."""

P = 15 * 2**27 + 1
ZERO = (0, 0, 0, 0)
ONE = (1, 0, 0, 0)


def monty(x: int) -> int:
    return (x << 32) % P


def from_monty(word: int) -> int:
    return word * pow(2, -32, P) % P


def inverse(a: int) -> int:
    """1/a by Fermat; a != 0."""
    if a % P == 0:
        raise ZeroDivisionError("0 has no inverse")
    return pow(a, P - 2, P)


def two_adic_generator(k: int) -> int:
    """Generator of the subgroup of order 2^k: g(27) = 440564289, g(k - 1) = g(k)^2."""
    g = 440564289
    for _ in range(27 - k):
        g = g * g % P
    return g


def ext(x: int) -> tuple:
    return (x % P, 0, 0, 0)


def add(a: tuple, b: tuple) -> tuple:
    return ((a[0] + b[0]) % P, (a[1] + b[1]) % P, (a[2] + b[2]) % P, (a[3] + b[3]) % P)


def sub(a: tuple, b: tuple) -> tuple:
    return ((a[0] - b[0]) % P, (a[1] - b[1]) % P, (a[2] - b[2]) % P, (a[3] - b[3]) % P)


def scale(a: tuple, s: int) -> tuple:
    return (a[0] * s % P, a[1] * s % P, a[2] * s % P, a[3] * s % P)


def mul(a: tuple, b: tuple) -> tuple:
    """Schoolbook product, then X^4 = 11."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        (a0 * b0 + 11 * (a1 * b3 + a2 * b2 + a3 * b1)) % P,
        (a0 * b1 + a1 * b0 + 11 * (a2 * b3 + a3 * b2)) % P,
        (a0 * b2 + a1 * b1 + a2 * b0 + 11 * (a3 * b3)) % P,
        (a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0) % P,
    )


def power(a: tuple, e: int) -> tuple:
    result = ONE
    while e:
        if e & 1:
            result = mul(result, a)
        a = mul(a, a)
        e >>= 1
    return result


def ext_inverse(a: tuple) -> tuple:
    """1/a = a^(p^4 - 2); a != 0."""
    if a == ZERO:
        raise ZeroDivisionError("0 has no inverse")
    return power(a, P**4 - 2)


def dot(a: list, b: list) -> tuple:
    """Sum of products of two lists of extension elements of one length."""
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = add(total, mul(x, y))
    return total


def powers(a: tuple, count: int, first: tuple = ONE) -> list:
    """[first, first*a, first*a^2, ...], `count` of them."""
    out = []
    for _ in range(count):
        out.append(first)
        first = mul(first, a)
    return out
