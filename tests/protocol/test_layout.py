"""The stacked layout, against definitions written index by index in plain Python.

Sizes are tiny on purpose: every path (padding, several arities, equal arities, gaps after the cursor, selectors of 0
bits) is reached with at most 2^10 cells.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whir_mlx.protocol.layout import Layout, TableShape, reverse_bits

P = 2013265921

orders = st.sampled_from(["suffix", "prefix"])
shapes = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5)
layouts = st.builds(Layout, orders, shapes.map(tuple), st.integers(0, 4))


def reversed_number(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2) if bits else 0


def slots_ref(shapes, k0):
    """(n, {(table, column): (arity, slot)}, keys in cursor order): sort ascending and stably, walk backwards."""
    arities = [max(a, k0) for a, _ in shapes]
    total = sum(w << a for (_, w), a in zip(shapes, arities))
    n = 0
    while 2**n < total:
        n += 1
    cursor, slots = 0, {}
    for table in sorted(range(len(shapes)), key=lambda t: (-arities[t], -t)):
        for column in range(shapes[table][1]):
            assert cursor % 2 ** arities[table] == 0
            slots[table, column] = (arities[table], cursor // 2 ** arities[table])
            cursor += 2 ** arities[table]
    return n, slots


def stack_ref(order, shapes, k0, matrices):
    n, slots = slots_ref(shapes, k0)
    stacked = [0] * 2**n
    for (table, column), (arity, slot) in slots.items():
        for row, value in enumerate(matrices[table][column]):
            if order == "suffix":
                index = slot * 2**arity + row
            else:
                index = row << (n - arity) | reversed_number(slot, n - arity)
            stacked[index] = int(value)
    return stacked


def matrices_of(layout):
    """Distinct values: cell (t, c, r) is never zero, so a cell lost or written twice shows."""
    count, matrices = 1, []
    for shape in layout.tables:
        size = shape.columns << shape.log_rows
        matrices.append(np.arange(count, count + size, dtype=np.uint32).reshape(shape.columns, -1))
        count += size
    return matrices


def pairs(layout):
    return [(shape.log_rows, shape.columns) for shape in layout.tables]


@given(layouts)
def test_stack_is_the_definition(layout):
    matrices = matrices_of(layout)
    stacked = layout.stack(matrices)
    assert stacked.dtype == np.uint32
    assert stacked.tolist() == stack_ref(layout.order, pairs(layout), layout.folding_factor, matrices)


@settings(max_examples=25, deadline=None)
@given(layouts)
def test_stack_of_mlx_arrays(layout):
    mx = pytest.importorskip("mlx.core")
    matrices = matrices_of(layout)
    stacked = layout.stack([mx.array(matrix) for matrix in matrices], mx)
    assert stacked.dtype == mx.uint32
    assert np.array_equal(np.array(stacked), layout.stack(matrices))


@given(layouts)
def test_placements(layout):
    n, slots = slots_ref(pairs(layout), layout.folding_factor)
    assert layout.num_variables == n
    assert [(p.table, p.column) for p in layout.placements] == list(slots)
    for place in layout.placements:
        arity, slot = slots[place.table, place.column]
        assert (place.log_rows, place.slot, place.offset) == (arity, slot, slot << arity)
        assert place.interleave_slot == reversed_number(slot, n - arity)
        chosen = slot if layout.order == "suffix" else place.interleave_slot
        assert place.selector_bits == tuple(chosen >> (n - arity - 1 - i) & 1 for i in range(n - arity))
        assert layout.placement(place.table, place.column) == place


def multilinear(values, point):
    """Value at a base point of the multilinear polynomial with these cube values; variable 0 is the top index bit."""
    values = [int(v) for v in values]
    for x in point:
        half = len(values) // 2
        values = [(lo + x * (hi - lo)) % P for lo, hi in zip(values[:half], values[half:])]
    return values[0]


@given(layouts, st.integers(0, 2**32))
def test_lifted_point_opens_the_column(layout, seed):
    """The defining property of `lift`: the stacked polynomial there equals the padded column at the local point."""
    rng = np.random.default_rng(seed)
    matrices = matrices_of(layout)
    stacked = layout.stack(matrices)
    for place in layout.placements:
        point = np.zeros((place.log_rows, 4), dtype=np.uint32)
        point[:, 0] = rng.integers(0, P, place.log_rows)
        lifted = layout.lift(place, point)
        assert lifted.dtype == np.uint32 and lifted.shape == (layout.num_variables, 4)
        column = np.zeros(1 << place.log_rows, dtype=np.uint32)
        row = matrices[place.table][place.column]
        column[: len(row)] = row
        assert multilinear(stacked, lifted[:, 0].tolist()) == multilinear(column, point[:, 0].tolist())
        selector, local = layout.split(place, lifted)
        assert tuple(selector[:, 0].tolist()) == place.selector_bits
        assert np.array_equal(local, point)


def test_lift_writes_the_given_word_of_one():
    layout = Layout("suffix", ((1, 2),), 1)
    lifted = layout.lift(layout.placements[1], np.array([[5, 6, 7, 8]], dtype=np.uint32), one=268435454)
    assert lifted.tolist() == [[268435454, 0, 0, 0], [5, 6, 7, 8]]


@pytest.mark.parametrize("order", ["suffix", "prefix"])
def test_one_full_column_is_not_copied(order):
    matrix = np.arange(16, dtype=np.uint32).reshape(1, 16)
    assert np.shares_memory(Layout(order, ((4, 1),), 2).stack([matrix]), matrix)


def test_stack_of_views():
    """Strided and Fortran-ordered input gives what its contiguous copy gives."""
    layout = Layout("prefix", ((3, 2), (2, 3)), 2)
    wide = np.arange(64, dtype=np.uint32).reshape(8, 8)
    views = [wide.T[::4], wide[::3, ::2]]
    assert np.array_equal(layout.stack(views), layout.stack([view.copy() for view in views]))


def test_equal_arities_put_the_higher_table_first():
    layout = Layout("suffix", ((2, 1), (3, 1), (2, 1), (0, 1)), 2)
    assert layout.table_order == (1, 3, 2, 0)
    assert [place.offset for place in layout.placements] == [0, 8, 12, 16]
    assert layout.num_variables == 5


def test_binding_bytes():
    """Two tables, the second padded from arity 1 to 2; n = 4."""

    def number(value):
        return b"\0\0\0\x08" + value.to_bytes(8, "big")

    shapes = number(2) + number(3) + number(1) + number(2) + number(2)
    suffix, prefix = (Layout(order, ((3, 1), (1, 2)), 2).binding() for order in ("suffix", "prefix"))
    assert suffix == number(4) + b"\0\0\0\x01\0" + b"\0\0\0\x01\x01" + shapes
    assert prefix == number(4) + b"\0\0\0\x01\x01" + b"\0\0\0\x01\0" + shapes


@given(st.integers(0, 10))
def test_reverse_bits(bits):
    assert reverse_bits(bits).tolist() == [reversed_number(i, bits) for i in range(2**bits)]


def test_equal_layouts_are_equal():
    assert Layout("suffix", [(3, 1)], np.int64(2)) == Layout("suffix", (TableShape(3, 1),), 2)
    assert hash(Layout("suffix", [(3, 1)], 2)) == hash(Layout("suffix", (TableShape(3, 1),), 2))
    assert Layout("suffix", ((3, 1),), 2) != Layout("prefix", ((3, 1),), 2)


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        (("middle", ((3, 1),), 2), ValueError, "order must be"),
        (("suffix", (), 2), ValueError, "at least one table"),
        (("suffix", ((3, 0),), 2), ValueError, "columns must be"),
        (("suffix", ((-1, 1),), 2), ValueError, "log_rows must be"),
        (("suffix", ((31, 1),), 2), ValueError, "log_rows must be"),
        (("suffix", ((3.0, 1),), 2), TypeError, "log_rows must be an integer"),
        (("suffix", ((3, True),), 2), TypeError, "columns must be an integer"),
        (("suffix", ((3, 1),), -1), ValueError, "folding_factor must be"),
        (("suffix", ((30, 1), (0, 1)), 0), ValueError, "2^31 cells"),
        (("suffix", ((0, 2**29 + 1),), 1), ValueError, "2^31 cells"),
    ],
)
def test_layout_refuses(args, error, text):
    with pytest.raises(error) as caught:
        Layout(*args)
    assert text in str(caught.value)


def test_largest_layout_is_accepted():
    assert Layout("suffix", ((30, 1),), 4).num_variables == 30
    assert Layout("prefix", ((0, 1),), 0).num_variables == 0


def test_stack_refuses_other_shapes():
    layout = Layout("suffix", ((2, 2),), 1)
    good = np.zeros((2, 4), dtype=np.uint32)
    with pytest.raises(ValueError, match="expected one matrix for each of 1 tables, got 2"):
        layout.stack([good, good])
    for bad in (good.T, good[:1], good.reshape(8)):
        with pytest.raises(ValueError, match="table 0 must have shape"):
            layout.stack([bad])


def test_lift_and_split_refuse_other_arities():
    layout = Layout("suffix", ((2, 2),), 1)
    with pytest.raises(ValueError, match="point must have shape"):
        layout.lift(layout.placements[0], np.zeros((3, 4), dtype=np.uint32))
    with pytest.raises(ValueError, match="3 coordinates, got 2"):
        layout.split(layout.placements[0], [1, 2])


@pytest.mark.parametrize(("table", "column"), [(1, 0), (-1, 0), (0, 2), (0, -1)])
def test_placement_refuses(table, column):
    with pytest.raises(IndexError):
        Layout("suffix", ((2, 2),), 1).placement(table, column)
