"""Opening schedules, the exponent order of their claims, and the checks of caller-chosen points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.statement import OpeningBatch, Schedule, check_points, claims

P = 2013265921

# Up to five small tables: equal arities (padding makes more of them) and tables out of cursor order all occur.
shapes = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5)
layouts = st.builds(Layout, st.sampled_from(["suffix", "prefix"]), shapes.map(tuple), st.integers(0, 4))


def random_schedule(draw, layout):
    tables = []
    for shape in layout.tables:
        side = st.lists(st.integers(0, shape.columns - 1), unique=True, max_size=3)
        batch = st.tuples(side, side).filter(lambda sides: sides[0] or sides[1])
        tables.append(tuple(OpeningBatch(*sides) for sides in draw(st.lists(batch, max_size=3))))
    return Schedule(tuple(tables))


@given(st.data())
def test_claims_are_the_definition(data):
    layout = data.draw(layouts)
    schedule = random_schedule(data.draw, layout)
    ascending = sorted(range(len(layout.tables)), key=lambda t: max(layout.tables[t].log_rows, layout.folding_factor))
    cursor_tables = ascending[::-1]
    flat, expected = [], {table: [] for table in cursor_tables}
    for table, batches in enumerate(schedule.batches):
        for batch in batches:
            for side in ("current", "next"):
                for place, column in enumerate(getattr(batch, side)):
                    expected[table].append((len(flat), table, column, side, place))
            flat.append((table, batch))
    assert list(schedule.flat) == flat and schedule.num_batches == len(flat)
    got = claims(layout, schedule)
    assert [(c.batch_index, c.table, c.column, c.kind, c.value_index) for c in got] == [
        entry for table in cursor_tables for entry in expected[table]
    ]
    assert schedule.num_claims == len(got)
    sides = [(i, side, getattr(batch, side)) for i, (_, batch) in enumerate(flat) for side in ("current", "next")]
    values = [(i, side, k) for i, side, columns in sides for k in range(len(columns))]
    assert [values[c.flat_index] for c in got] == [(c.batch_index, c.kind, c.value_index) for c in got]
    assert all(c.placement == layout.placement(c.table, c.column) for c in got)


def test_all_columns():
    layout = Layout("suffix", ((3, 2), (2, 1)), 2)
    schedule = Schedule.all_columns(layout, points=2, next=True)
    assert schedule.flat == ((0, OpeningBatch((0, 1), (0, 1))),) * 2 + ((1, OpeningBatch((0,), (0,))),) * 2
    assert (schedule.num_batches, schedule.num_claims) == (4, 12)
    assert Schedule.all_columns(layout).flat == ((0, OpeningBatch((0, 1))), (1, OpeningBatch((0,))))
    assert Schedule.all_columns(layout, points=0).num_batches == 0
    with pytest.raises(ValueError, match="points must be"):
        Schedule.all_columns(layout, points=-1)


@pytest.mark.parametrize(
    ("current", "next_", "error"),
    [
        ((), (), ValueError),
        ((0, 0), (), ValueError),
        ((0,), (1, 1), ValueError),
        ((-1,), (), IndexError),
        ((), (-1,), IndexError),
        ((0.5,), (), TypeError),
        ((True,), (), TypeError),
    ],
)
def test_batch_refuses(current, next_, error):
    with pytest.raises(error):
        OpeningBatch(current, next_)


def test_schedule_refuses_what_does_not_fit():
    layout = Layout("suffix", ((3, 2),), 2)
    for batch in (OpeningBatch((2,)), OpeningBatch((0,), (2,))):
        with pytest.raises(IndexError, match=r"column of table 0 must be in 0\.\.1, got 2"):
            claims(layout, Schedule(((batch,),)))
    with pytest.raises(ValueError, match="each of 1 tables, got 2"):
        claims(layout, Schedule(((), ())))
    with pytest.raises(TypeError, match="OpeningBatch"):
        Schedule((((0,),),))


def points_case():
    layout = Layout("suffix", ((1, 1), (3, 1)), 2)
    return layout, Schedule.all_columns(layout), [np.full((2, 4), P - 1), np.zeros((3, 4), dtype=np.int8)]


def test_points_are_checked_and_copied():
    """The padded arity counts: table 0 has one variable of its own and is padded to two."""
    layout, schedule, points = points_case()
    checked = check_points(layout, schedule, points)
    assert [p.shape for p in checked] == [(2, 4), (3, 4)] and all(p.dtype == np.uint32 for p in checked)
    assert (checked[0] == P - 1).all()
    points[0][:] = 1
    assert (checked[0] == P - 1).all() and not checked[0].flags.writeable


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (np.full((2, 4), P), ValueError, "got 2013265921 at (0, 0)"),
        (np.full((2, 4), -1), ValueError, "got -1 at (0, 0)"),
        (np.full((2, 4), 2**63, dtype=np.uint64), ValueError, "got 9223372036854775808"),
        (np.zeros((2, 4)), TypeError, "float64"),
        (np.zeros((2, 4), dtype=bool), TypeError, "bool"),
        (np.zeros((1, 4), dtype=np.uint32), ValueError, "(2, 4), got (1, 4)"),
        (np.zeros((4, 2), dtype=np.uint32), ValueError, "(2, 4), got (4, 2)"),
        ([], ValueError, "(2, 4), got (0,)"),
    ],
)
def test_points_refuse(bad, error, text):
    layout, schedule, points = points_case()
    with pytest.raises(error) as caught:
        check_points(layout, schedule, [bad, points[1]])
    assert text in str(caught.value)


def test_points_refuse_another_count():
    layout, schedule, points = points_case()
    with pytest.raises(ValueError, match="expected 2 points"):
        check_points(layout, schedule, points[:1])
