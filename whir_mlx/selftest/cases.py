"""One call or a few of every kernel, at small fixed inputs whose results are known (`answers.json`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np

from whir_mlx.field.constants import P
from whir_mlx.protocol.opened_nodes import opened_shape
from whir_mlx.splitmix import splitmix

__all__ = ["Case", "kernel_cases"]


@dataclass(frozen=True)
class Case:
    """`call(device, *arrays)` returns one device array or a list of them. label: the kernel, and what is particular."""

    label: str
    call: Callable
    arrays: tuple[np.ndarray, ...]

    def run(self, device) -> list[np.ndarray]:
        """The results, as NumPy arrays."""
        out = self.call(device, *(device.asarray(x) for x in self.arrays))
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        device.evaluate(*out)
        return [device.numpy(x) for x in out]


def _operation(name: str, file: str | None = None) -> Callable:
    return getattr(import_module(f"whir_mlx.kernels.{file or name}"), name)


def _words(seed: int, *shape: int) -> np.ndarray:
    """Field words, the first few of them the extremes of the range."""
    words = splitmix(seed, int(np.prod(shape)))
    extremes = np.array([P - 1, 0, 1, P - 2, 1 << 27, P >> 1], np.uint32)
    words[: min(len(words), 6)] = extremes[: len(words)]
    return words.reshape(shape)


def _state(seed: int, buffered: int, left: int) -> np.ndarray:
    """A transcript state with `buffered` inputs waiting and `left` outputs (docs/architecture.md)."""
    state = np.concatenate([_words(seed, 16), _words(seed + 1, 8), np.array([buffered, left], np.uint32)])
    state[16 + buffered : 24] = 0
    return state


def _challenge(device, state, *segments, **keywords):
    return _operation("challenge")(device, state, list(segments), **keywords)


def _opening(device, indices, rows, *stores, arity):
    layers = tuple((number, 0) for number in range(len(stores)))
    return _operation("gather_opening")(device, rows, list(stores), indices, layers=layers, arity=arity)


def _add_scaled(device, w, coefficients, table):
    """Nine tables take two launches."""
    tables, places = [table, *w] * 3, ((0, None, 1), (2, 1, None), (1, 1, 1), (0, 2, 0)) * 3
    return _operation("add_scaled")(device, w, coefficients, tables[:9], places=places[:9])


def _pack(device, *arrays):
    return _operation("pack")(device, list(arrays), [number % 3 != 2 for number in range(len(arrays))])


def _grind_windows(device, state):
    """Of one search: a window that finds nothing, one that meets a witness steps later, the same at once; then one that
    hands on what it is given. 8 bits: this state's first witness is 177."""
    window, none = partial(_operation("grind_sixteen"), device, state, bits=8), device.asarray(np.zeros(4, np.uint32))
    given = device.asarray(np.full(4, 7, np.uint32))
    shapes = ((none, 0, 4, 2), (none, 0, 4, 1 << 8), (none, 4, 1 << 9, 2), (given, 0, 4, 1))
    return [window(known, start=start, candidates=count, tries=tries) for known, start, count, tries in shapes]


def _climb(device, words, *, arity: int, rate: int):
    """Trees of 2^10 and 2^5 leaves, more of the first opened than a group has threads; and one of which nothing is."""
    shapes = ((400, 10 * 2 // arity, 9, 1), (0, 3, 0, 1), (7, 4 * 2 // arity, 33, 2))
    indices = splitmix(46, 407) % np.repeat(np.array([1 << 10, 1 << 5], np.uint32), (400, 7))
    opened = opened_shape(arity, shapes).nodes(indices.astype(np.int64))
    words = words[: 400 * 9 + 7 * 33 + 8 * opened.sizes["siblings"]]
    return _operation("climb")(device, words, device.asarray(opened.tables), **opened.sizes, arity=arity, rate=rate)


def _grind_shares(device, state, shares):
    """A window after a message: the state, the message, and the find, here in its first and in a later step."""
    absorbing, none = _operation("grind_sixteen_shares", "grind_sixteen"), device.asarray(np.zeros(4, np.uint32))
    found = []
    for count, tries in ((1 << 7, 1), (4, 1 << 6)):
        state_after, sent, find = absorbing(device, state, none, shares, bits=4, start=0, candidates=count, tries=tries)
        found += [state_after, sent[:8], find]
    return found


def _ext_sum(device, x):
    """A step of reductions, with no NumPy twin of its own: sums over axis 1."""
    if device.name == "numpy":
        return (x.astype(np.uint64).sum(axis=1) % P).astype(np.uint32)
    return _operation("ext_sum")(device, x)


def _fold_round(device, f, w, r, **strides):
    """A pass whose last result is a number of shares that differs from device to device, here added up."""
    f, w, shares = _operation("sumcheck_fold_round")(device, f, w, r, **strides)
    return [f, w, _ext_sum(device, shares.reshape((1, shares.shape[0], 2, 4)))]


def _draw_fold(device, state, found, f, w, **strides):
    """The same of a fold that draws its challenge; the last round's has no shares."""
    *made, shares = _operation("sumcheck_draw_fold")(device, state, found, f, w, **strides)
    if shares is None:
        return made
    return [*made, _ext_sum(device, shares.reshape((1, shares.shape[0], 2, 4)))]


def kernel_cases() -> Iterator[Case]:
    """All cases. Sizes cross a group of 256 threads, a SIMD group and, for inputs, Metal's limit of 8 elements."""
    for name in ("to_montgomery", "from_montgomery"):
        yield Case(f"montgomery: {name}", _operation(name, "montgomery"), (_words(1, 1000),))
    for name in ("field_add", "field_sub", "field_mul"):
        yield Case(
            f"field_arithmetic: {name}", _operation(name, "field_arithmetic"), (_words(2, 1000), _words(3, 1000))
        )
    yield Case("field_arithmetic: field_inverse", _operation("field_inverse", "field_arithmetic"), (_words(2, 300),))
    for name in ("ext_add", "ext_sub", "ext_mul"):
        yield Case(
            f"ext_arithmetic: {name}", _operation(name, "ext_arithmetic"), (_words(4, 300, 4), _words(5, 300, 4))
        )
    yield Case("ext_arithmetic: ext_inverse", _operation("ext_inverse", "ext_arithmetic"), (_words(4, 300, 4),))
    yield Case("simd_width", _operation("simd_width"), ())
    yield from _hashes()
    yield from _transforms()
    yield from _tables()
    yield from _transcripts()


def _hashes() -> Iterator[Case]:
    for width in (16, 24, 32):
        yield Case(f"poseidon2: width {width}", _operation("poseidon2"), (_words(6, 300, width),))
    for rate, width in ((8, 17), (16, 33)):
        yield Case(f"hash_rows: rate {rate}", partial(_operation("hash_rows"), rate=rate), (_words(7, 300, width),))
    yield Case("hash_rows_four", _operation("hash_rows_four"), (_words(7, 300, 17),))
    yield Case("hash_leaves", _operation("hash_leaves"), (_words(8, 1200, 16),))
    for arity in (2, 4):
        yield Case(
            f"compress: arity {arity}", partial(_operation("compress"), arity=arity), (_words(9, 300 * arity, 8),)
        )
    for arity, rate in ((2, 8), (4, 16)):
        call = partial(_climb, arity=arity, rate=rate)
        yield Case(f"climb: arity {arity}, rate {rate}", call, (_words(17, 1 << 14),))
    for name, sponge, shape in (("leaves", True, (256, 64)), ("pairs", False, (512, 8))):
        call = partial(_operation("tree_layers"), levels=4, sponge=sponge)
        yield Case(f"tree_layers: {name}", call, (_words(10, *shape),))


def _transforms() -> Iterator[Case]:
    # One column and many, one pass and three, every radix, zero padding, and back.
    for log_rows, width in ((3, 1), (9, 3), (10, 16), (14, 1), (12, 24)):
        call = partial(_operation("ntt"), log_rows=log_rows)
        yield Case(f"ntt: 2^{log_rows} x {width}", call, (_words(11, 1 << log_rows, width),))
        yield Case(f"ntt: 2^{log_rows} x {width}, padded", call, (_words(12, 1 << log_rows >> 1, width),))
    yield Case("ntt: inverse", partial(_operation("ntt"), log_rows=13, inverse=True), (_words(13, 1 << 13, 8),))


def _tables() -> Iterator[Case]:
    f, w, small = _words(14, 1 << 13, 4), _words(15, 1 << 13, 4), _words(16, 4)
    yield Case("dot", _operation("dot"), (f, w))
    yield Case("ext_sum: many", _ext_sum, (_words(17, 2, 300, 5, 4),))
    yield Case("ext_sum: few", _ext_sum, (_words(18, 2, 3, 300, 4),))
    yield Case("eq_table", _operation("eq_table"), (_words(19, 9, 4),))
    yield Case("eq_outer", _operation("eq_outer"), (_words(20, 5, 4), f))
    yield Case("add_scaled", _add_scaled, (_words(21, 3, 300, 4), _words(22, 3, 4), _words(23, 300, 4)))
    shapes = np.array([(v, v % 4, v % 2) for v in range(7)] * 43)
    arrays = (_words(25, 10, 4), _words(26, 301, 4), _words(27, 301, 4))
    yield Case("point_weights", partial(_operation("point_weights"), shapes=shapes), arrays)
    call = partial(_operation("claim_weights"), claims=((1, 0), (0, 1), (1, 6)))
    yield Case("claim_weights", call, (small, _words(29, 2, 300, 4)))
    yield Case("eq_table: challenge", partial(_operation("eq_tables", "eq_table"), lengths=(9, 4)), (small,))
    for stride in (0, 12):
        call = partial(_operation("sumcheck_round"), log_stride=stride)
        yield Case(f"sumcheck_round: stride 2^{stride}", call, (f, w))
        call = partial(_operation("sumcheck_fold"), log_stride=stride)
        yield Case(f"sumcheck_fold: stride 2^{stride}", call, (f, w, small))
    for stride, following in ((0, 0), (12, 11)):
        call = partial(_fold_round, log_stride=stride, next_log_stride=following)
        yield Case(f"sumcheck_fold_round: stride 2^{stride}", call, (f, w, small))
    for rounds, stride, falling in ((3, 0, False), (12, 12, True)):
        call = partial(_operation("sumcheck_rest"), rounds=rounds, log_stride=stride, falling=falling)
        yield Case(f"sumcheck_rest: {rounds} rounds", call, (_state(44, 0, 4), f, w, small))
    call = partial(_operation("sumcheck_phase", "sumcheck_rest"), rounds=9, log_stride=9, falling=True)
    yield Case("sumcheck_rest: whole phase", call, (_state(45, 0, 4), _words(46, 21), f[:3072], w[:3072]))
    for stride, following in ((0, None), (9, 8)):
        call = partial(_draw_fold, log_stride=stride, next_log_stride=following)
        arrays = (_state(47, 3, 0), ~_words(49, 1), f[:3072], w[:3072])
        yield Case(f"sumcheck_draw_fold: stride 2^{stride}", call, arrays)
    for shape, axis, ext in (
        ((512, 16), 0, False),
        ((512, 16), 1, False),
        ((16, 512), 1, True),
        ((512, 2), 0, True),
        ((16, 64), 1, True),
    ):
        call = partial(_operation("fold_axis"), axis=axis, ext=ext)
        f = _words(24, *shape, *((4,) if ext else ()))
        yield Case(
            f"fold_axis: {shape[0]} x {shape[1]}, axis {axis}{', ext' if ext else ''}",
            call,
            (f, _words(25, shape[axis], 4)),
        )
    indices = splitmix(26, 37) % np.uint32(1 << 12)
    for samples, queries in ((2, 37), (1, 0), (0, 5)):
        arrays = (_words(27, 1 << 10, 4), _words(28, samples, 1 << 10, 4), small, indices[:queries])
        label = f"query_weights: {samples} and {queries} claims"
        yield Case(label, partial(_operation("query_weights"), log_domain=12), arrays)


def _transcripts() -> Iterator[Case]:
    for buffered, left in ((0, 0), (5, 0), (0, 3)):
        call = partial(_challenge, num_samples=9, num_indices=40, index_bits=13)
        arrays = (_state(30, buffered, left), _words(31, 3), _words(32, 8), _words(33, 21))
        yield Case(f"challenge: {buffered} waiting, {left} left", call, arrays)
    call = partial(_operation("challenge_grind", "challenge"), num_samples=5, num_indices=9, index_bits=13)
    yield Case("challenge: a witness that was found", call, (_state(30, 7, 0), ~_words(31, 1)))
    steps = np.array([[3, 4, 0, 0], [0, 1, 30, 9], [21, 0, 5, 27], [1, 9, 0, 0]])
    yield Case("replay", partial(_operation("replay"), steps=steps), (_state(30, 5, 0), _words(33, 25)))
    for bits in (4, 12):
        yield Case(f"grind: {bits} bits", partial(_operation("grind"), bits=bits), (_state(34, 3, 0),))
    yield Case("grind_sixteen", _grind_windows, (_state(34, 3, 0),))
    yield Case("grind_sixteen: after a message", _grind_shares, (_state(50, 0, 4), _words(51, 37, 2, 4)))
    rows, indices = _words(35, 300, 16), splitmix(36, 50) % np.uint32(300)
    yield Case("gather_rows", _operation("gather_rows"), (rows, indices))
    for arity in (2, 4):
        layers = tuple(_words(37 + i, 256 // arity**i, 8) for i in range(4))
        arrays = (splitmix(41, 9) % np.uint32(256), _words(43, 256, 13), *layers)
        yield Case(f"gather_opening: arity {arity}", partial(_opening, arity=arity), arrays)
    # Two launches, and a third over their results.
    yield Case("pack", _pack, tuple(_words(42 + k, 1 + k * k % 67) for k in range(30)))
