"""Arithmetic on plain uint32 arrays, elementwise, with broadcasting.

Every array of words is in Montgomery form (x * 2^32 mod p) unless the name of the function or argument says canonical;
functions that are linear say that they take either. `ext` functions work on the last axis, of 4 words: the quartic
extension F[X] / (X^4 - 11), the coefficient of X^0 first. All words are below p: checked where they are at hand, the
caller's word on lazy GPU arrays. Sources: p3-baby-bear 0.8.0, p3-monty-31 0.8.0.
"""

from __future__ import annotations

from whir_mlx.field.array_edge import Edge
from whir_mlx.field.constants import P
from whir_mlx.kernels import ext_arithmetic, field_arithmetic, montgomery
from whir_mlx.kernels.dot import dot
from whir_mlx.kernels.eq_table import eq_table
from whir_mlx.kernels.fold_axis import fold_axis

__all__ = [
    "add",
    "evaluate",
    "ext_add",
    "ext_inverse",
    "ext_mul",
    "ext_sub",
    "from_montgomery",
    "inverse",
    "mul",
    "sub",
    "sum",
    "to_montgomery",
]


def to_montgomery(canonical, *, device="auto"):
    """Canonical words to Montgomery words: x * 2^32 mod p. Any shape. Raises TypeError unless uint32."""
    return _unary(montgomery.to_montgomery, "canonical", canonical, device)


def from_montgomery(x, *, device="auto"):
    """Montgomery words to canonical words. Any shape. Raises TypeError unless uint32."""
    return _unary(montgomery.from_montgomery, "x", x, device)


def add(a, b, *, device="auto"):
    """a + b mod p; both Montgomery or both canonical. Shapes broadcast."""
    return _binary(field_arithmetic.field_add, a, b, device)


def sub(a, b, *, device="auto"):
    """a - b mod p; both Montgomery or both canonical. Shapes broadcast."""
    return _binary(field_arithmetic.field_sub, a, b, device)


def mul(a, b, *, device="auto"):
    """The product of Montgomery words. Shapes broadcast. (One factor canonical: the product is canonical too.)"""
    return _binary(field_arithmetic.field_mul, a, b, device)


def inverse(a, *, device="auto"):
    """a^-1 of Montgomery words, and 0 for 0. Any shape."""
    return _unary(field_arithmetic.field_inverse, "a", a, device)


def sum(a, axis=None, *, device="auto"):
    """The sum in the field along `axis` (an int, a tuple, or None for all); Montgomery or canonical words.

    Unlike the array libraries' own sum, which wraps at 2^32 (MLX) or leaves the field (NumPy).
    """
    edge = Edge(device, a)
    words = edge.enter("a", a)
    xp = edge.device.array_module
    # 64-bit sums of up to 2^32 words below 2^31 do not wrap.
    total = xp.sum(words.astype(xp.uint64), axis=axis) % xp.array(P, dtype=xp.uint64)
    return edge.leave(total.astype(xp.uint32))


def ext_add(a, b, *, device="auto"):
    """a + b in the extension; (..., 4), shapes broadcast; both Montgomery or both canonical."""
    return _binary(ext_arithmetic.ext_add, a, b, device, last=4)


def ext_sub(a, b, *, device="auto"):
    """a - b in the extension; (..., 4), shapes broadcast; both Montgomery or both canonical."""
    return _binary(ext_arithmetic.ext_sub, a, b, device, last=4)


def ext_mul(a, b, *, device="auto"):
    """a * b in the extension; (..., 4) Montgomery words, shapes broadcast."""
    return _binary(ext_arithmetic.ext_mul, a, b, device, last=4)


def ext_inverse(a, *, device="auto"):
    """a^-1 in the extension, and 0 for 0; (..., 4) Montgomery words."""
    edge = Edge(device, a)
    words = edge.enter("a", a, last=4)
    return edge.leave(_in_rows(lambda x: ext_arithmetic.ext_inverse(edge.device, x), 4, words))


def evaluate(evals, point, *, device="auto"):
    """The multilinear polynomial with values `evals` over the cube, at `point`.

    evals: (2^n,) base words, or (2^n, 4) extension ones; point: (n, 4), the variable of the most significant index bit
    first. Montgomery words. Returns (4,). Raises ValueError where the sizes do not fit.
    """
    edge = Edge(device, evals, point)
    point = edge.enter("point", point, ndim=(2,), last=4)
    evals = edge.enter("evals", evals, ndim=(1, 2))
    if evals.shape[0] != 1 << point.shape[0]:
        raise ValueError(
            f"a point of {point.shape[0]} variables takes {1 << point.shape[0]} evals, got {evals.shape[0]}"
        )
    if len(evals.shape) == 2 and evals.shape[1] != 4:
        raise ValueError(f"extension evals must have a last axis of length 4, got shape {tuple(evals.shape)}")
    weights = eq_table(edge.device, point)
    if len(evals.shape) == 2:
        return edge.leave(dot(edge.device, evals, weights))
    folded = fold_axis(edge.device, evals.reshape((1, evals.shape[0])), weights, axis=1, ext=False)
    return edge.leave(folded.reshape((4,)))


def _unary(operation, name: str, x, device):
    edge = Edge(device, x)
    words = edge.enter(name, x)
    return edge.leave(_in_rows(lambda flat: operation(edge.device, flat), 1, words))


def _binary(operation, a, b, device, last: int | None = None):
    edge = Edge(device, a, b)
    a, b = edge.pair(a, b, last=last)
    return edge.leave(_in_rows(lambda x, y: operation(edge.device, x, y), last or 1, a, b))


def _in_rows(compute, width: int, *arrays):
    """`compute` on the arrays as (words,) or (elements, width): kernels know no 0-d arrays."""
    shape = tuple(arrays[0].shape)
    rows = [x.reshape((-1,) if width == 1 else (-1, width)) if 0 not in shape else x for x in arrays]
    return compute(*rows).reshape(shape)
