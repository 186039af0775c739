"""BabyBear in NumPy, on Montgomery words: the fallback where there is no compiler, and the kernels' reference.

Arguments are arrays of Montgomery words (`uint32` below p) of any shape, and broadcast as NumPy does; nothing here
checks ranges, which is the business of the callers at the edge. Arithmetic is exact: no product or sum can overflow,
for the reason given at each place. Source: p3-monty-31 0.8.0 (`utils.rs`) for the reduction.
"""

from collections.abc import Iterator

import numpy as np

from .constants import MONTY_BITS, MONTY_MU, MONTY_ONE, MONTY_R2, P, two_adic_generator

__all__ = [
    "add",
    "chunks",
    "field_sum",
    "from_montgomery",
    "inverse",
    "join_sums",
    "mont_mul",
    "mont_reduce",
    "montgomery_word",
    "neg",
    "power",
    "powers",
    "root_power",
    "root_powers",
    "split_sum",
    "sub",
    "to_montgomery",
]

_P32 = np.uint32(P)
_P64 = np.uint64(P)
_NEG_MU = np.uint64(2**MONTY_BITS - MONTY_MU)
_LOW = np.uint64(2**MONTY_BITS - 1)
_SHIFT = np.uint64(MONTY_BITS)

_CHUNK = 2**14
"""Elements worked on at a time: some temporaries of 128 KiB fit in a core's L2 cache; 2.5 times faster than whole
arrays at 2^20 elements (2-core EPYC)."""


def chunks(inputs: list, outputs: list[np.ndarray]) -> Iterator[tuple[np.ndarray, ...]]:
    """Broadcast `inputs` to the shape of `outputs` and yield both in flat runs small enough for the cache.

    Inputs come as `uint64`, outputs as writable `uint32` runs, in the order given; `outputs` must not overlap `inputs`.
    """
    dtypes = [np.uint64] * len(inputs) + [np.uint32] * len(outputs)
    flags = [["readonly"]] * len(inputs) + [["writeonly", "no_broadcast"]] * len(outputs)
    iterator = np.nditer(
        [*inputs, *outputs],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=flags,
        op_dtypes=dtypes,
        casting="same_kind",
        buffersize=_CHUNK,
    )
    with iterator:
        if iterator.itersize:
            yield from iterator


def mont_reduce(t: np.ndarray, *, canonical: bool = True) -> np.ndarray:
    """t / 2^32 mod p.

    Args: t, `uint64` of any shape, below 2.4 p^2. Returns `uint64` of that shape below p; without `canonical` below
    t / 2^32 + p instead, one conditional subtraction cheaper.
    """
    # m = (-t / p mod 2^32) * p makes the low half of t + m zero; t + m < 2.4 p^2 + 2^32 p < 2^64.
    m = np.bitwise_and(t, _LOW)
    m *= _NEG_MU
    m &= _LOW
    m *= _P64
    m += t
    m >>= _SHIFT
    if not canonical:
        return m
    # t / 2^32 is below 1.2 p, so m is below 2.2 p.
    m = np.minimum(m, np.subtract(m, _P64))
    return np.minimum(m, np.subtract(m, _P64))


def mont_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b / 2^32 mod p, elementwise, shapes broadcast: the Montgomery word of the product of two Montgomery words."""
    out = np.empty(np.broadcast_shapes(np.shape(a), np.shape(b)), np.uint32)
    for x, y, result in chunks([a, b], [out]):
        m = mont_reduce(np.multiply(x, y), canonical=False)
        # One of x, y is below p and the other below 2^32, so m < 2 p: one subtraction.
        result[...] = np.minimum(m, np.subtract(m, _P64))
    return out


def to_montgomery(x: np.ndarray) -> np.ndarray:
    """Montgomery words of `x`, canonical `uint32` of any shape."""
    return mont_mul(x, np.uint32(MONTY_R2))


def from_montgomery(x: np.ndarray) -> np.ndarray:
    """Canonical `uint32` of `x`, Montgomery words of any shape."""
    return mont_mul(x, np.uint32(1))


def montgomery_word(value: int) -> np.uint32:
    """The Montgomery word of any Python integer, taken mod p."""
    return np.uint32(value * MONTY_ONE % P)


# The three functions below call ufuncs rather than operators: wrapping is meant, and on NumPy scalars operators warn.


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b, elementwise, either representation."""
    # The sum is below 2p < 2^32; where it is below p, subtracting p wraps to something larger.
    total = np.add(a, b, dtype=np.uint32)
    return np.minimum(total, np.subtract(total, _P32))


def sub(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b, elementwise, either representation."""
    # A negative difference wraps to at least 2^32 - p > p, and adding p brings it back below p.
    difference = np.subtract(a, b, dtype=np.uint32)
    return np.minimum(difference, np.add(difference, _P32))


def neg(a: np.ndarray) -> np.ndarray:
    """-a, elementwise, either representation."""
    return sub(np.uint32(0), a)


def power(a: np.ndarray, exponent: int) -> np.ndarray:
    """a^exponent, elementwise; `exponent` is an integer >= 0 (0^0 = 1)."""
    result = np.full(np.shape(a), MONTY_ONE, np.uint32)
    for bit in f"{exponent:b}":
        result = mont_mul(result, result)
        if bit == "1":
            result = mont_mul(result, a)
    return result


def inverse(a: np.ndarray) -> np.ndarray:
    """1 / a, elementwise, as a^(p-2); 0 gives 0."""
    return power(a, P - 2)


def powers(a: np.ndarray, count: int) -> np.ndarray:
    """a^0, ..., a^(count-1) along a new last axis: (...) -> (..., count)."""
    a = np.asarray(a)[..., None]
    result = np.full((*a.shape[:-1], 1), MONTY_ONE, np.uint32)
    step = a
    while result.shape[-1] < count:
        # step = a^(length so far), so one product doubles the list.
        result = np.concatenate([result, mont_mul(result, step)], axis=-1)
        step = mont_mul(step, step)
    return np.ascontiguousarray(result[..., :count])


def root_powers(bits: int, *, count: int | None = None) -> np.ndarray:
    """g(bits)^0, ..., g(bits)^(count-1), Montgomery words; all 2^bits of them by default."""
    return powers(montgomery_word(two_adic_generator(bits)), 2**bits if count is None else count)


def root_power(bits: int, exponents: np.ndarray) -> np.ndarray:
    """g(bits)^e for every entry e of `exponents` (plain integers below 2^bits, any shape), Montgomery words."""
    exponents = np.asarray(exponents, np.uint32)
    result = np.full(exponents.shape, MONTY_ONE, np.uint32)
    for k in range(bits):
        factor = montgomery_word(two_adic_generator(bits - k))
        chosen = np.bitwise_and(np.right_shift(exponents, np.uint32(k)), np.uint32(1)) == 1
        result = np.where(chosen, mont_mul(result, factor), result)
    return result


def field_sum(a: np.ndarray, *, axis: int) -> np.ndarray:
    """Sum along `axis`, either representation; exact, since `uint64` holds 2^33 terms below p."""
    return np.remainder(np.sum(a, axis=axis, dtype=np.uint64), _P64).astype(np.uint32)


def split_sum(t: np.ndarray, *, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the high and of the low halves of `t` (`uint64`) along `axis`: exact for up to 2^32 terms.

    A sum of products is then one reduction in all: see `join_sums`.
    """
    high = np.sum(np.right_shift(t, _SHIFT), axis=axis, dtype=np.uint64)
    low = np.sum(np.bitwise_and(t, _LOW), axis=axis, dtype=np.uint64)
    return high, low


def join_sums(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """(high * 2^32 + low) / 2^32 mod p for any `uint64` `high` and `low`: Montgomery words of the summed products."""
    reduced_low = mont_reduce(np.remainder(low, _P64)).astype(np.uint32)
    return add(np.remainder(high, _P64).astype(np.uint32), reduced_low)
