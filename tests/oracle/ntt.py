"""Forward DFT, natural order in and out: y_i = sum_b x_b * g(log n)^(i b)."""

from .field import P, two_adic_generator


def dft(x: list) -> list:
    """The definition: n^2 products."""
    n = len(x)
    g = two_adic_generator(n.bit_length() - 1)
    roots = [pow(g, i, P) for i in range(n)]
    return [sum(x[b] * roots[i * b % n] for b in range(n)) % P for i in range(n)]


def fft(x: list) -> list:
    """The same numbers by halving: even and odd inputs, one butterfly a pair."""
    n = len(x)
    if n == 1:
        return list(x)
    even, odd = fft(x[::2]), fft(x[1::2])
    g, root = two_adic_generator(n.bit_length() - 1), 1
    low, high = [], []
    for a, b in zip(even, odd, strict=True):
        low.append((a + root * b) % P)
        high.append((a - root * b) % P)
        root = root * g % P
    return low + high


def encode_rows(message: list, log_rows: int) -> list:
    """Zero-extend a matrix of ints (a list of rows) to 2^log_rows rows and transform every column."""
    padding = [0] * (2**log_rows - len(message))
    columns = [fft(list(column) + padding) for column in zip(*message, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]
