"""Calls of every operation at the largest sizes that it may have, on stand-ins (`kernels/targets/cpu_sparse.py`).

An array of a kernel has fewer than 2^31 words, so fewer than 2^33 bytes; each case has one of nearly that size, or the
largest power of two below where the operation takes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from unittest import mock

import numpy as np

from tests.kernels.operation_cases import challenge_shares, gather_opening, operation
from whir_mlx.field.constants import P
from whir_mlx.kernels.targets.cpu_sparse import SparseDevice, StandIn

MOST = 2**31 - 1
QUADS = 2**29 - 1


@dataclass(frozen=True)
class LargeCase:
    """`call(device, *arrays)`. reference: the twin's result for the words written by the last launch, where it is
    quickly made: (launch, places) -> words."""

    label: str
    call: Callable
    arrays: tuple
    reference: Callable | None = None


def run_large(case: LargeCase, device: SparseDevice) -> str:
    """What is wrong with the values that a case writes far out; the device raises where an index is wrong.

    Twiddles are stand-ins too. A sum's threads take eight items each, as the device would with as many threads: the
    indices are the same, in fewer steps. The sums of those many shares are left out; ext_sum has cases of its own.
    """
    with ExitStack() as stack:
        for module in ("ntt", "query_weights"):
            made = lambda device, log_rows: StandIn((1 << log_rows,), salt=11)  # noqa: E731
            stack.enter_context(mock.patch(f"whir_mlx.kernels.{module}.twiddles", made))
        for module in ("dot", "sumcheck_round", "fold_axis"):
            summed = lambda device, x: StandIn((x.shape[0], *x.shape[2:]))  # noqa: E731
            stack.enter_context(mock.patch(f"whir_mlx.kernels.{module}.ext_sum", summed))
        for module in ("dot", "sumcheck_round", "sumcheck_fold_round"):
            stack.enter_context(mock.patch(f"whir_mlx.kernels.{module}.share_out", _share_out))
        stack.enter_context(
            mock.patch("whir_mlx.kernels.fold_axis._divisor", lambda device, count: max(1, (count & -count) // 8))
        )
        case.call(device, *case.arrays)
    launch = device.launches[-1]
    if not all(len(places) for places, _ in launch.written):
        return "an output was not written"
    if case.reference:
        places, words = launch.written[0]
        if places.min() != 0 or places.max() != launch.lengths[0] - 1:
            return "the first or the last word was not written"
        order = np.argsort(places)
        if not np.array_equal(words[order], case.reference(launch, places[order])):
            return "wrong answer"
    return ""


def _share_out(device, count: int) -> tuple[int, int]:
    threads = max(device.reduce_width, 1 << (count // 8).bit_length())
    return threads, -(-count // threads)


def _rows(x: StandIn, rows: np.ndarray) -> np.ndarray:
    """Rows (of the last axis) of a stand-in."""
    width = x.shape[-1]
    return x.words(rows[:, None] * width + np.arange(width))


def _by_row(name: str, file: str | None = None, widen: int = 1, **keywords) -> Callable:
    """Reference of an operation that makes row r from rows [widen r, widen (r + 1)) of each of its arrays."""

    def reference(launch, places: np.ndarray) -> np.ndarray:
        inputs = launch.inputs[:2] if name == "ext_mul" else launch.inputs[-1:]
        width = 4 if name == "ext_mul" else inputs[0].shape[-1] if name == "poseidon2" else 8
        rows = np.unique(places // width)
        wide = (rows[:, None] * widen + np.arange(widen)).reshape(-1)
        made = operation(name, file)(_numpy(), *(_rows(x, wide) for x in inputs), **keywords)
        assert np.array_equal(places, (rows[:, None] * width + np.arange(width)).reshape(-1))
        return made.reshape(-1)

    return reference


def _numpy():
    from whir_mlx.kernels.device import get_device

    return get_device("numpy")


def _montgomery(launch, places):
    return operation("to_montgomery", "montgomery")(_numpy(), launch.inputs[0].words(places))


def _gathered(launch, places):
    x, indices = launch.inputs
    rows = indices.words(places // x.shape[1]) if isinstance(indices, StandIn) else indices[places // x.shape[1]]
    return x.words(rows.astype(np.int64) * x.shape[1] + places % x.shape[1])


def _outer(launch, places):
    high, low = launch.inputs
    quads = np.unique(places // 4)
    count = low.shape[0]
    made = operation("ext_mul", "ext_arithmetic")(_numpy(), _rows(high, quads // count), _rows(low, quads % count))
    return made.reshape(-1)


def _added(launch, places):
    w, coefficients, table = launch.inputs[:3]
    quads = np.unique(places // 4)
    count = table.shape[0]
    scaled = operation("ext_mul", "ext_arithmetic")(
        _numpy(), _rows(coefficients, quads // count), _rows(table, quads % count)
    )
    return operation("ext_add", "ext_arithmetic")(_numpy(), w.words(places).reshape(-1, 4), scaled).reshape(-1)


def _add_scaled(device, w, coefficients, table):
    return operation("add_scaled")(device, w, coefficients, [table], places=((0, 1, 2),))


# Two trees, with rows and a sibling at both ends of all words: leaves 0 and 1 under node 3, leaf 2 and a sibling under
# node 4.
_CLIMB = {"trees": 2, "levels": 1, "leaves": 3, "nodes": 5, "siblings": 1, "arity": 2, "rate": 8}
_RECORDS = [[9, 0, 2, 0, 0, 3, 4], [15, 2, 3, 0, 1, 4, 5]]


def _climb_tables(starts: list[int]) -> np.ndarray:
    return np.array([*_RECORDS[0], *_RECORDS[1], *starts, 0, 1, 5, 2], np.uint32)


def _climb(device, words):
    return operation("climb")(device, words, _climb_tables([0, MOST - 17, MOST - 23]), **_CLIMB)


def _climbed(launch, places):
    # The words that are read, one after the other.
    rows = [np.arange(9), np.arange(9) + (MOST - 17), np.arange(MOST - 23, MOST)]
    words = launch.inputs[1].words(np.concatenate(rows))
    return operation("climb")(_numpy(), words, _climb_tables([0, 9, 18]), **_CLIMB).reshape(-1)[places]


def _grind(device, state, *, start: int, tries: int):
    """The last window of a search that finds nothing before: candidates up to p."""
    return device.launch(
        "grind",
        (1 << 16, 30, start, tries),
        [state, np.zeros(1, np.uint32)],
        [(1,)],
        groups=(1 << 8, 1, 1),
        group=(256, 1, 1),
        values={"WIDTH": 16},
    )


def _grind_sixteen(device, state):
    """The same."""
    window = operation("grind_sixteen")
    return window(device, state, np.zeros(4, np.uint32), bits=30, start=P - (3 << 15), candidates=1 << 16, tries=2)


def _draw_fold(device, state, f, **strides):
    """The folded values alone: how many shares there are is the device's business."""
    return operation("sumcheck_draw_fold")(device, state, np.array([7], np.uint32), f, f, **strides)[:5]


def _pack(device, *arrays):
    return operation("pack")(device, list(arrays), [True, False, True])


def large_cases() -> list[LargeCase]:
    """Every kernel file at its largest; the ones that know no large array are here at sizes of a proof."""
    x, quads, small = StandIn((MOST,)), StandIn((QUADS, 4)), StandIn((4,), salt=7)
    cases = [
        LargeCase("montgomery", operation("to_montgomery", "montgomery"), (x,), _montgomery),
        LargeCase("field_mul", operation("field_mul", "field_arithmetic"), (x, x)),
        LargeCase(
            "ext_mul",
            operation("ext_mul", "ext_arithmetic"),
            (quads, StandIn((QUADS, 4), salt=5)),
            _by_row("ext_mul", "ext_arithmetic"),
        ),
        LargeCase("poseidon2", operation("poseidon2"), (StandIn((2**27 - 1, 16)),), _by_row("poseidon2")),
        LargeCase("poseidon2 w24", operation("poseidon2"), (StandIn((89_478_485, 24)),), _by_row("poseidon2")),
        LargeCase(
            "hash_rows",
            partial(operation("hash_rows"), rate=8),
            (StandIn((69_273_666, 31)),),
            _by_row("hash_rows", rate=8),
        ),
        LargeCase(
            "hash_rows of 1",
            partial(operation("hash_rows"), rate=16),
            (StandIn((2**28 - 1, 1)),),
            _by_row("hash_rows", rate=16),
        ),
        LargeCase(
            "hash_rows_four", operation("hash_rows_four"), (StandIn((69_273_666, 31)),), _by_row("hash_rows", rate=8)
        ),
        LargeCase("hash_leaves", operation("hash_leaves"), (StandIn((2**27 - 4, 16)),), _by_row("hash_rows", rate=8)),
        LargeCase(
            "compress",
            partial(operation("compress"), arity=2),
            (StandIn((2**28 - 2, 8)),),
            _by_row("compress", widen=2, arity=2),
        ),
        LargeCase(
            "compress by 4",
            partial(operation("compress"), arity=4),
            (StandIn((2**28 - 4, 8)),),
            _by_row("compress", widen=4, arity=4),
        ),
        LargeCase(
            "tree_layers", partial(operation("tree_layers"), levels=4, sponge=True), (StandIn((138_547_328, 15)),)
        ),
        LargeCase(
            "tree_layers of nodes",
            partial(operation("tree_layers"), levels=1, sponge=False),
            (StandIn((2**28 - 4, 8)),),
        ),
        LargeCase("climb", _climb, (StandIn((MOST,)),), _climbed),
        LargeCase(
            "gather_rows of many",
            operation("gather_rows"),
            (StandIn((143_165_576, 15)), np.array([143_165_575, 0, 71_582_788], np.uint32)),
            _gathered,
        ),
        LargeCase(
            "gather_rows to many",
            operation("gather_rows"),
            (StandIn((1000, 15)), StandIn((143_165_576,), modulus=1000)),
            _gathered,
        ),
        LargeCase(
            "gather_opening",
            partial(gather_opening, layers=tuple((k, 0) for k in range(27)), arity=2),
            (
                np.array([2**27 - 1, 0, 2**26], np.uint32),
                StandIn((2**27, 15)),
                *(StandIn((2**27 >> k, 8)) for k in range(27)),
            ),
        ),
        LargeCase("pack", _pack, (StandIn((2**30 + 7,)), StandIn((2**29 + 1,)), StandIn((2**29 - 9,)))),
        LargeCase("eq_table", operation("eq_table"), (StandIn((28, 4)),)),
        LargeCase("eq_outer", operation("eq_outer"), (StandIn((32767, 4)), StandIn((16384, 4), salt=3)), _outer),
        LargeCase(
            "add_scaled",
            _add_scaled,
            (StandIn((3, 178_956_970, 4)), StandIn((3, 4), salt=2), StandIn((178_956_970, 4), salt=3)),
            _added,
        ),
        LargeCase(
            "claim_weights",
            partial(operation("claim_weights"), claims=((2, 0), (0, 5), (1, 1))),
            (small, StandIn((3, 178_956_970, 4))),
        ),
        LargeCase("ext_sum", operation("ext_sum"), (StandIn((3, 7, 25_565_281, 4)),)),
        LargeCase("ext_sum of many", operation("ext_sum"), (StandIn((5, 37, 2_902_000, 4)),)),
        LargeCase("dot", operation("dot"), (quads, quads)),
    ]
    for stride in (0, 20, 27):
        pairs = StandIn(((QUADS >> (stride + 1)) << (stride + 1), 4))
        call = partial(operation("sumcheck_round"), log_stride=stride)
        cases.append(LargeCase(f"sumcheck_round stride 2^{stride}", call, (pairs, pairs)))
        call = partial(operation("sumcheck_fold"), log_stride=stride)
        cases.append(LargeCase(f"sumcheck_fold stride 2^{stride}", call, (pairs, pairs, small)))
    for stride, following in ((0, 0), (26, 25), (0, 26), (26, 0)):
        call = partial(operation("sumcheck_fold_round"), log_stride=stride, next_log_stride=following)
        f = StandIn((7 << 26, 4)) if max(stride, following) < 26 else StandIn((2**28, 4))
        cases.append(LargeCase(f"sumcheck_fold_round strides 2^{stride}, 2^{following}", call, (f, f, small)))
    for variables, samples, queries in ((28, 1, 9), (26, 7, 5), (27, 0, 3)):
        call = partial(operation("query_weights"), log_domain=27)
        w, ood = StandIn((1 << variables, 4)), StandIn((samples, 1 << variables, 4))
        cases.append(
            LargeCase(
                f"query_weights 2^{variables} of {samples} + {queries}",
                call,
                (w, ood, small, StandIn((queries,), modulus=1 << 27)),
            )
        )
    for label, shape, axis, ext in (
        ("columns", (7, 2**14, 2**14), 0, False),
        ("columns ext", (7, 2**13, 2**13, 4), 0, True),
        ("rows", (134_217_727, 16), 1, False),
        ("rows ext", (33_554_431, 16, 4), 1, True),
        ("strided", (7, 2**27, 2), 0, False),
        ("strided ext", (7, 2**25, 2, 4), 0, True),
        ("strided rows", (15, 2**27), 1, False),
    ):
        call = partial(operation("fold_axis"), axis=axis, ext=ext)
        weights = StandIn((shape[: len(shape) - ext][axis - 2], 4), salt=9)
        cases.append(LargeCase(f"fold_axis {label}", call, (StandIn(shape), weights)))
    for log_rows, width, log_input, inverse in (
        (27, 15, 27, False),
        (27, 15, 25, False),
        (27, 8, 27, True),
        (27, 1, 26, False),
        (10, 2_000_000, 10, False),
    ):
        call = partial(operation("ntt"), log_rows=log_rows, inverse=inverse)
        label = f"ntt 2^{log_input} to 2^{log_rows} x {width}{' inverse' if inverse else ''}"
        cases.append(LargeCase(label, call, (StandIn((1 << log_input, width)),)))
    # No more is taken; there is one group, so it runs whole.
    f, drawn = StandIn((1 << 16, 4)), np.concatenate([np.arange(16), [0] * 9, [4]]).astype(np.uint32)
    call = partial(operation("sumcheck_rest"), rounds=2, log_stride=0, falling=False)
    cases.append(LargeCase("sumcheck_rest", call, (drawn, f, f, small)))
    call = partial(operation("sumcheck_phase", "sumcheck_rest"), rounds=1, log_stride=15, falling=True)
    cases.append(LargeCase("sumcheck_phase", call, (drawn, small, f, f)))
    state = np.concatenate([np.arange(24), [3, 0]]).astype(np.uint32)
    f = StandIn((1 << 20, 4))  # no more is taken
    call = partial(_draw_fold, log_stride=0, next_log_stride=0)
    cases.append(LargeCase("sumcheck_draw_fold", call, (state, f)))
    cases.append(LargeCase("grind", partial(_grind, start=P - (3 << 15), tries=2), (state,)))
    cases.append(LargeCase("grind_sixteen", _grind_sixteen, (state,)))
    cases.append(LargeCase("simd_width", operation("simd_width"), ()))
    cases.append(
        LargeCase(
            "challenge",
            partial(challenge_shares, num_samples=5),
            (state, StandIn((128, 8)), StandIn((11,))),
        )
    )
    steps = np.array([[9, 4, 0, 0], [0, 0, 9, 27]])
    shapes = np.array([[1 << 20, 0, k % 2] for k in range(9)])
    arrays = StandIn((1 << 20, 4)), StandIn((9, 4), salt=2), StandIn((9, 4), salt=3)
    cases.append(LargeCase("point_weights", partial(operation("point_weights"), shapes=shapes), arrays))
    cases.append(LargeCase("replay", partial(operation("replay"), steps=steps), (state, StandIn((9,)))))
    return cases
