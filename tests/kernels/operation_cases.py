"""Calls of every operation at sizes around its switches, for tests that run or trace a GPU target.

A case calls an operation with a device and its arrays; with the `numpy` device the same call gives the expected result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np

from whir_mlx.protocol.opened_nodes import opened_shape

P = 15 * 2**27 + 1
EDGES = np.array([0, 1, 2, 11, 2**27, 2**30, (P - 1) // 2, P - 2, P - 1], np.uint32)


@dataclass(frozen=True)
class Case:
    """`call(device, *arrays)` returns one array or a list of them."""

    label: str
    call: Callable
    arrays: tuple[np.ndarray, ...]

    def run(self, device) -> list:
        """Results on `device`, as a list of its arrays."""
        out = self.call(device, *(device.asarray(x) for x in self.arrays))
        return list(out) if isinstance(out, (list, tuple)) else [out]


# One tree of one leaf, which is its own last layer (and whose row is in Metal's `constant` space); trees that end at
# different levels, below their roots too, among them one without queries; levels of one node and of all nodes; repeated
# leaves, and rows of part of a block, one and more.
SMALL_OPENINGS = (
    (2, 8, ((1, 0, 0, 5),)),
    (2, 8, ((9, 3, 3, 16), (0, 4, 4, 8), (5, 5, 3, 8), (2, 1, 1, 19))),
    (2, 16, ((0, 2, 2, 1), (11, 6, 5, 17), (1, 7, 7, 16))),
    (4, 8, ((7, 5, 3, 12), (4, 4, 1, 1), (2, 0, 0, 9))),
    (4, 16, ((1, 6, 3, 33),)),
)
# More leaves and more nodes of a level than a group has threads.
LARGE_OPENINGS = ((2, 8, ((600, 12, 12, 3), (40, 11, 9, 16))), (4, 8, ((700, 11, 6, 3),)))


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random words below p, one in eight an edge value."""
    draw = rng.integers(0, P, shape, dtype=np.uint32)
    return np.where(rng.random(shape) < 0.125, rng.choice(EDGES, shape), draw)


def operation(name: str, file: str | None = None) -> Callable:
    """The wrapper `name` of `whir_mlx/kernels/<file>.py`."""
    return getattr(import_module(f"whir_mlx.kernels.{file or name}"), name)


def challenge_state(rng: np.random.Generator, buffered: int, left: int) -> np.ndarray:
    """A transcript state (docs/architecture.md) with `buffered` inputs waiting and `left` outputs."""
    state = np.concatenate([words(rng, 16), words(rng, 8), np.array([buffered, left], np.uint32)])
    state[16 + buffered : 24] = 0
    return state


def elementwise_cases(rng, counts: tuple[int, ...]) -> list[Case]:
    """Base and extension arithmetic; the counts are those of elements."""
    found = []
    for n in counts:
        x, a, b = words(rng, n), words(rng, n, 4), words(rng, n, 4)
        for name in ("to_montgomery", "from_montgomery"):
            found.append(Case(f"{name} {n}", operation(name, "montgomery"), (x,)))
        for name in ("field_add", "field_sub", "field_mul"):
            found.append(Case(f"{name} {n}", operation(name, "field_arithmetic"), (x, words(rng, n))))
        found.append(Case(f"field_inverse {n}", operation("field_inverse", "field_arithmetic"), (x,)))
        for name in ("ext_add", "ext_sub", "ext_mul"):
            found.append(Case(f"{name} {n}", operation(name, "ext_arithmetic"), (a, b)))
        found.append(Case(f"ext_inverse {n}", operation("ext_inverse", "ext_arithmetic"), (a,)))
    return found


def hash_cases(rng, counts: tuple[int, ...]) -> list[Case]:
    """Permutations, sponges and trees; row widths 1, 16 and 17 fill sponge blocks partly, wholly and over."""
    found = []
    for n in counts:
        for width in (16, 24, 32):
            found.append(Case(f"poseidon2 {n}x{width}", operation("poseidon2"), (words(rng, n, width),)))
        for rate in (8, 16):
            for width in (1, 16, 17):
                call = partial(operation("hash_rows"), rate=rate)
                found.append(Case(f"hash_rows {n}x{width} rate {rate}", call, (words(rng, n, width),)))
        for width in (1, 16, 21):
            found.append(Case(f"hash_rows_four {n}x{width}", operation("hash_rows_four"), (words(rng, n, width),)))
        found.append(Case(f"hash_leaves {4 * n}x16", operation("hash_leaves"), (words(rng, 4 * n, 16),)))
        for arity in (2, 4):
            call = partial(operation("compress"), arity=arity)
            found.append(Case(f"compress {n} arity {arity}", call, (words(rng, n * arity, 8),)))
    # One row, a group of fewer than 16 rows, a whole one, several, groups of 64, which a device takes at once or in
    # turns; leaves of part of a block, one, eight and more.
    for n, levels in ((1, 0), (2, 1), (8, 2), (16, 4), (48, 3), (160, 4), (128, 6)):
        for width in (1, 8, 67):
            call = partial(operation("tree_layers"), levels=levels, sponge=True)
            found.append(Case(f"tree_layers {n}x{width}, {levels} above", call, (words(rng, n, width),)))
        # Nodes from the first one on, and from the middle of an array, as a launch before this one leaves them.
        for start in (0, 3):
            call = partial(operation("tree_layers"), levels=levels, sponge=False, start=start)
            label = f"tree_layers {n} pairs from {start}, {levels} above"
            found.append(Case(label, call, (words(rng, start + 2 * n, 8),)))
    return found


def climb_cases(rng, openings: tuple[tuple[int, int, tuple], ...]) -> list[Case]:
    """Opened trees by arity, leaf rate and trees: each (queries, log2 of its leaves, levels, words of a row).

    Tables are no field words, so they are no arrays of a case.
    """
    found = []
    for arity, rate, trees in openings:
        shapes = tuple((queries, levels, width if queries else 0, 1) for queries, _, levels, width in trees)
        opened = opened_shape(arity, shapes).nodes(
            np.concatenate([rng.integers(0, 1 << log_leaves, queries) for queries, log_leaves, _, _ in trees])
        )
        rows = sum(queries * width for queries, _, _, width in trees)
        call = partial(climb, tables=opened.tables, **opened.sizes, arity=arity, rate=rate)
        label = f"climb of {trees}, arity {arity}, rate {rate}"
        found.append(Case(label, call, (words(rng, rows + 8 * opened.sizes["siblings"]),)))
    return found


def ntt_cases(rng, logs: tuple[int, ...], widths: tuple[int, ...]) -> list[Case]:
    """Transforms: every radix remainder, one pass and several, zero padding, and inverses."""
    found = []
    for log_rows in logs:
        for width in widths:
            full, part = words(rng, 1 << log_rows, width), words(rng, max(1, 1 << log_rows >> 1), width)
            transform = operation("ntt")
            found.append(Case(f"ntt 2^{log_rows}x{width}", partial(transform, log_rows=log_rows), (full,)))
            found.append(Case(f"ntt 2^{log_rows}x{width} padded", partial(transform, log_rows=log_rows), (part,)))
            call = partial(transform, log_rows=log_rows, inverse=True)
            found.append(Case(f"intt 2^{log_rows}x{width}", call, (full,)))
    return found


def table_cases(rng, logs: tuple[int, ...]) -> list[Case]:
    """Sumcheck and tables of 2^log extension elements."""
    found = []
    for log in logs:
        n = 1 << log
        f, w, point = words(rng, n, 4), words(rng, n, 4), words(rng, log, 4)
        found.append(Case(f"dot 2^{log}", operation("dot"), (f, w)))
        found.append(Case(f"eq_table 2^{log}", operation("eq_table"), (point,)))
        found.append(Case(f"eq_outer 4x2^{log}", operation("eq_outer"), (words(rng, 4, 4), w)))
        for count in (1, 8, 9):  # of tables: 8 are one launch
            arrays = (words(rng, 3, n, 4), words(rng, 3, 4), *(words(rng, n, 4) for _ in range(count)))
            found.append(Case(f"add_scaled {count} to 3x2^{log}", add_scaled, arrays))
        # One claim, all of the point; every length and place of a claim's rows, more claims than a vector's threads.
        for shapes in ([(log + 1, 0, 1)], [(v, min(k, log + 1 - v), k % 2) for v in range(log + 2) for k in range(6)]):
            arrays = (words(rng, log + 1, 4), words(rng, len(shapes), 4), words(rng, len(shapes), 4))
            call = partial(operation("point_weights"), shapes=np.array(shapes))
            found.append(Case(f"point_weights of {len(shapes)} at {log + 1} coordinates", call, arrays))
        call = partial(operation("claim_weights"), claims=((1, 0), (0, 1), (1, n + 1)))
        found.append(Case(f"claim_weights of 2x2^{log}", call, (words(rng, 4), words(rng, 2, n, 4))))
        # Two tables of one challenge, the first of more, and of fewer coordinates than a GPU's thread takes.
        for first in {log - 1, min(log, 2)}:
            call = partial(operation("eq_tables", "eq_table"), lengths=(first, log - first))
            found.append(Case(f"eq_tables 2^{first} and 2^{log - first}", call, (words(rng, 4),)))
        for stride in {0, log - 1}:
            call = partial(operation("sumcheck_round"), log_stride=stride)
            found.append(Case(f"sumcheck_round 2^{log} stride 2^{stride}", call, (f, w)))
            call = partial(operation("sumcheck_fold"), log_stride=stride)
            found.append(Case(f"sumcheck_fold 2^{log} stride 2^{stride}", call, (f, w, words(rng, 4))))
            if log >= 2:
                call = partial(fold_round, log_stride=stride, next_log_stride=max(stride - 1, 0))
                found.append(Case(f"sumcheck_fold_round 2^{log} stride 2^{stride}", call, (f, w, words(rng, 4))))
        for samples, queries in ((0, 5), (2, 0), (2, 9)):
            call = partial(operation("query_weights"), log_domain=log + 1)
            indices = rng.integers(0, 2 * n, queries, dtype=np.uint32)
            label = f"query_weights 2^{log} of {samples} + {queries}"
            found.append(Case(label, call, (w, words(rng, samples, n, 4), words(rng, 4), indices)))
    return found


def rest_cases(rng, sizes: tuple[tuple[int, int], ...]) -> list[Case]:
    """The rest of a sumcheck phase of so many values and rounds, and whole phases, in both orders."""
    found = []
    for n, rounds in sizes:
        block = n & -n
        # The first variable of the largest blocks, of the smallest, and the last variable.
        for stride, falling in sorted({(block.bit_length() - 2, True), (rounds, True), (0, False)}):
            call = partial(operation("sumcheck_rest"), rounds=rounds, log_stride=stride, falling=falling)
            label = f"sumcheck_rest {n} values, {rounds} rounds, stride 2^{stride}{' falling' if falling else ''}"
            arrays = (challenge_state(rng, 0, 4), words(rng, n, 4), words(rng, n, 4), words(rng, 4))
            found.append(Case(label, call, arrays))
            # A seed of less than a block of 8 words, with a message that fills one or several, and of whole blocks.
            seed = words(rng, (1, 7, 8, 21)[len(found) // 2 % 4])
            phase = operation("sumcheck_phase", "sumcheck_rest")
            call = partial(phase, rounds=rounds, log_stride=stride, falling=falling)
            label = label.replace("rest", "phase") + f", seed of {len(seed)}"
            found.append(Case(label, call, (challenge_state(rng, 0, 4), seed, words(rng, n, 4), words(rng, n, 4))))
    return found


def draw_cases(rng, sizes: tuple[int, ...]) -> list[Case]:
    """A ground round's challenge and the fold of so many values at it, as the last round and before another, in both
    orders."""
    found = []
    for n in sizes:
        for stride in sorted({0, (n & -n).bit_length() - 2}):
            for following in (None, max(stride - 1, 0))[: 1 + (n // 2 % (2 << max(stride - 1, 0)) == 0)]:
                buffered = len(found) % 8
                call = partial(draw_fold, log_stride=stride, next_log_stride=following)
                label = f"sumcheck_draw_fold {n} values, stride 2^{stride}, then {following}, {buffered} waiting"
                # Every fourth search found nothing: 0, whose complement is no word below p.
                find = ~words(rng, 1) if len(found) % 4 else np.zeros(1, np.uint32)
                state = challenge_state(rng, buffered, 0)
                found.append(Case(label, call, (state, find, words(rng, n, 4), words(rng, n, 4))))
    return found


def fold_cases(rng, shapes: tuple[tuple[int, int], ...]) -> list[Case]:
    """Contractions of matrices along both axes, base and extension, one and a batch of two."""
    found = []
    for rows, columns in shapes:
        for axis in (0, 1):
            weights = words(rng, (rows, columns)[axis], 4)
            for ext in (False, True):
                last = (4,) if ext else ()
                call = partial(operation("fold_axis"), axis=axis, ext=ext)
                label = f"fold_axis {rows}x{columns}{' ext' if ext else ''} axis {axis}"
                found.append(Case(label, call, (words(rng, rows, columns, *last), weights)))
                found.append(Case(f"{label} batch", call, (words(rng, 2, rows, columns, *last), weights)))
    return found


def transcript_cases(rng, grinding_bits: tuple[int, ...]) -> list[Case]:
    """Challenger steps, grinding and gathering."""

    def challenge(device, state, *segments, **keywords):
        return operation("challenge")(device, state, list(segments), **keywords)

    found = [Case("simd_width", operation("simd_width"), ())]
    for buffered, left in ((0, 0), (0, 3), (5, 0), (7, 0)):
        state = challenge_state(rng, buffered, left)
        call = partial(challenge, num_samples=9, num_indices=20, index_bits=13, num_after=4)
        found.append(
            Case(
                f"challenge {buffered} waiting, {left} left",
                call,
                (state, words(rng, 3), words(rng, 8), words(rng, 2, 4)),
            )
        )
        found.append(
            Case(
                f"challenge {buffered} waiting, {left} left, samples",
                partial(challenge, num_samples=4),
                (state, words(rng, 1)),
            )
        )
        # A witness, and what a search without one gives (0, whose complement is no word below p).
        for name, found_word in (("a witness", ~words(rng, 1)), ("none", np.zeros(1, np.uint32))):
            call = partial(operation("challenge_grind", "challenge"), num_samples=3, num_indices=5, index_bits=7)
            label = f"challenge of {name} that was found, {buffered} waiting, {left} left"
            found.append(Case(label, call, (state, found_word)))
            found.append(Case(f"{label}, samples after", partial(call, num_after=4), (state, found_word)))
        # A step that absorbs nothing goes on drawing; blocks of 8 end within, at and past a step's words; samples,
        # indices, and both; more than a permutation gives.
        for steps in (((3, 4, 0, 0), (0, 2, 0, 0), (8, 1, 9, 13), (9, 0, 3, 1), (0, 0, 20, 27)), ((0, 5, 0, 0),)):
            call = partial(operation("replay"), steps=np.array(steps))
            absorbed = sum(step[0] for step in steps)
            label = f"replay of {len(steps)} steps, {buffered} waiting, {left} left"
            found.append(Case(label, call, (state, words(rng, absorbed))))
        for bits in grinding_bits:
            found.append(
                Case(
                    f"grind {bits} bits, {buffered} waiting, {left} left",
                    partial(operation("grind"), bits=bits),
                    (state,),
                )
            )
        # Windows of a search: in steps of few and of many candidates a witness is met in a later step or in the first,
        # in two candidates none; one window past others, one at the end of the field, and one after a hit.
        windows = ((0, 2, 128, 0), (0, 128, 2, 0), (9, 2, 1, 0), (P - 9, 8, 2, 0), (5, 32, 8, 7))
        for start, candidates, tries, known in windows:
            call = partial(operation("grind_sixteen"), bits=5, start=start, candidates=candidates, tries=tries)
            label = f"grind_sixteen {tries}x{candidates} from {start}, {known} before, {buffered} waiting, {left} left"
            found.append(Case(label, call, (state, np.full(4, known, np.uint32))))
        # The same after a message, of one share, and of more than lanes add up at once.
        for number, (start, candidates, tries, known) in enumerate(windows if buffered == 0 else ()):
            call = partial(grind_sixteen_shares, bits=5, start=start, candidates=candidates, tries=tries)
            count = (1, 3, 33)[number % 3]
            label = f"grind_sixteen {tries}x{candidates} from {start}, {known} before, {count} shares, {left} left"
            found.append(Case(label, call, (state, np.full(4, known, np.uint32), words(rng, count, 2, 4))))
        # 1 and 2 shares end in one step of the sum, 3 leave one over, 128 are a GPU's; of a quad and of a round's two.
        for count, size in ((1, 4), (2, 8), (3, 8), (128, 8)):
            call = partial(challenge_shares, num_samples=5)
            arrays = (state, words(rng, count, size), words(rng, 11), *(words(rng, n) for n in (5, 13)[: count % 3]))
            found.append(Case(f"challenge_shares {count}x{size}, {buffered} waiting", call, arrays))
    for width in (1, 16, 64):
        x, indices = words(rng, 37, width), rng.integers(0, 37, 11, dtype=np.uint32)
        found.append(Case(f"gather_rows 37x{width}", operation("gather_rows"), (x, indices)))
    for arity, lengths in ((2, (32, 16, 8, 4, 2)), (4, (64, 16, 4))):
        stores = [words(rng, length, 8) for length in lengths]
        # A store a layer, and all but the lowest layer in one store.
        apart = tuple((number, 0) for number in range(len(lengths)))
        joined = ((0, 0), *((1, sum(lengths[1:number])) for number in range(1, len(lengths))))
        indices = np.append(rng.integers(0, lengths[0], 9, dtype=np.uint32), np.uint32(lengths[0] - 1))
        for width in (1, 8, 19):
            rows, label = words(rng, lengths[0], width), f"gather_opening of {width} words, arity {arity}"
            call = partial(gather_opening, layers=apart, arity=arity)
            found.append(Case(label, call, (indices, rows, *stores)))
            call = partial(gather_opening, layers=joined, arity=arity)
            found.append(Case(f"{label}, joined", call, (indices, rows, stores[0], np.concatenate(stores[1:]))))
        call = partial(gather_opening, layers=(), arity=arity)
        found.append(Case(f"gather_opening without layers, arity {arity}", call, (indices, rows)))
    # One launch, and two with a third over their results; an array without words, plain words, and arrays of Metal's
    # constant space.
    for count in (1, 26, 27, 60):
        arrays = tuple(words(rng, 1 + k * k % 67) for k in range(count)) + (words(rng, 0, 8),)
        found.append(Case(f"pack {count}", packed, arrays))
    # 32 entries are added by one thread, more by a SIMD group where there is one; 77 leave its last lanes idle.
    for count in (1, 32, 33, 77, 256):
        found.append(Case(f"ext_sum of {count}", operation("ext_sum"), (words(rng, 3, count, 2, 4),)))
    return found


def fold_round(device, f, w, r, **strides) -> list:
    """The operation with its shares added up: how many there are is the device's business."""
    f, w, shares = operation("sumcheck_fold_round")(device, f, w, r, **strides)
    return [f, w, operation("ext_sum")(device, shares.reshape((1, shares.shape[0], 2, 4)))]


def draw_fold(device, state, found, f, w, *, next_log_stride, **strides) -> list:
    """The same of a fold that draws its challenge; the last round's has no shares."""
    made = operation("sumcheck_draw_fold")(device, state, found, f, w, next_log_stride=next_log_stride, **strides)
    *made, shares = made
    if shares is None:
        return made
    return [*made, operation("ext_sum")(device, shares.reshape((1, shares.shape[0], 2, 4)))]


def add_scaled(device, w, coefficients, *tables):
    """The operation takes its tables as one list; with one table w is left out."""
    rows = tuple(tuple((None, 0, 2, 1)[(number + c) % 4] for c in range(3)) for number in range(len(tables)))
    w = None if len(tables) == 1 else w
    return operation("add_scaled")(device, w, coefficients, list(tables), places=rows)


def challenge_shares(device, state, shares, before, *after, num_samples: int):
    """The operation takes what comes after its shares as one list."""
    return operation("challenge_shares", "challenge")(
        device, state, before, shares, list(after), num_samples=num_samples
    )


def grind_sixteen_shares(device, state, previous, shares, **window):
    """The operation's array has the message first; the rest of it is the same as its other results."""
    window = operation("grind_sixteen_shares", "grind_sixteen")(device, state, previous, shares, **window)
    return [window[0], window[1][:8], window[2]]


def gather_opening(device, indices, rows, *stores, layers: tuple, arity: int):
    """The operation takes its stores as one list."""
    return operation("gather_opening")(device, rows, list(stores), indices, layers=layers, arity=arity)


def climb(device, words, *, tables: np.ndarray, **keywords):
    """The operation with its tables put on the device."""
    return operation("climb")(device, words, device.asarray(tables), **keywords)


def packed(device, *arrays):
    """The operation takes lists; every third array holds plain words, and every fifth gives half of its words."""
    counts = [x.size // 2 if k % 5 == 4 else x.size for k, x in enumerate(arrays)]
    return operation("pack")(device, list(arrays), [k % 3 != 2 for k in range(len(arrays))], counts=counts)


def small_cases(seed: int = 1) -> list[Case]:
    """Every operation and specialisation, in a second or two of NumPy; under 8 words take Metal's `constant` form."""
    rng = np.random.default_rng(seed)
    return [
        *elementwise_cases(rng, (1, 257)),
        *hash_cases(rng, (1, 33)),
        *climb_cases(rng, SMALL_OPENINGS),
        *ntt_cases(rng, (1, 2, 3, 4, 5, 9), (1, 3, 16)),
        *table_cases(rng, (1, 4, 8)),
        # Fewer pairs than a SIMD group has threads, as many, several SIMD groups of which the last is not full.
        *rest_cases(rng, ((4, 1), (64, 5), (176, 2))),
        *draw_cases(rng, (2, 6, 64, 176)),
        *fold_cases(rng, ((2, 2), (4, 16), (512, 16), (16, 128))),
        # Bits up to 4 are sixteen lanes' on the check build and the emulated GPU, up to 10 on Metal.
        *transcript_cases(rng, (0, 4, 5, 10, 11)),
    ]


def large_cases(seed: int = 2) -> list[Case]:
    """Sizes past one group, one tile and one share of a reduction; for a GPU, whose twins take NumPy about a minute."""
    rng = np.random.default_rng(seed)
    return [
        *elementwise_cases(rng, (100_003,)),
        *hash_cases(rng, (1000,)),
        *climb_cases(rng, LARGE_OPENINGS),
        *ntt_cases(rng, (10, 13, 17), (1, 4, 16, 24)),
        *table_cases(rng, (13, 17)),
        # Several values a thread, at most; an odd number of blocks.
        *rest_cases(rng, ((1 << 13, 3), (1 << 16, 13), (3 << 10, 8))),
        # Several groups, each with its own draw of the challenge; an odd number of blocks.
        *draw_cases(rng, (1 << 14, 1 << 16, 3 << 12)),
        *fold_cases(rng, ((4096, 16), (1 << 16, 2), (64, 4096), (1 << 15, 8), (1 << 17, 1))),
        *transcript_cases(rng, (14, 16)),
    ]
