"""The statement: which columns are opened at which points, and the order in which the claims are combined.

A table's schedule is a list of batches; a batch is one point and the columns evaluated there, directly (`current`) or
through the repeat-last successor view (`next`: row i reads row min(i+1, last), padding rows included).
Transcript and proof order is the flat order: table after table, batch after batch. The exponents of the combination
challenge follow the placements instead (`claims`).

Source: p3-sumcheck 0.8.0 `table.rs`, `layout/verifier.rs`.
"""

from dataclasses import dataclass

import numpy as np

from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.protocol.folding import index_in_range
from whir_mlx.protocol.layout import Layout, Placement

__all__ = ["Claim", "OpeningBatch", "Schedule", "check_points", "claims"]


@dataclass(frozen=True)
class OpeningBatch:
    """The columns opened at one point, in transcript order: `current` first, then `next`.

    Raises TypeError for non-integers, IndexError for a negative column, ValueError when no column is named or one is
    named twice within a side. (The same column on both sides is fine.)
    """

    current: tuple[int, ...] = ()
    next: tuple[int, ...] = ()

    def __post_init__(self):
        for side in ("current", "next"):
            columns = tuple(_column(side, column) for column in getattr(self, side))
            if len(set(columns)) != len(columns):
                raise ValueError(f"{side} must not name a column twice, got {columns}")
            object.__setattr__(self, side, columns)
        if not self.current and not self.next:
            raise ValueError("an opening batch must name at least one column, got none")

    def __len__(self) -> int:
        """Number of column claims: len(current) + len(next)."""
        return len(self.current) + len(self.next)


def _column(side: str, column: object) -> int:
    try:
        return index_in_range(f"{side} column", column, high=2**30)
    except ValueError as error:
        raise IndexError(str(error)) from None


@dataclass(frozen=True)
class Schedule:
    """Opening batches per table, `batches[table][k]`; a table may have none."""

    batches: tuple[tuple[OpeningBatch, ...], ...]

    def __post_init__(self):
        object.__setattr__(self, "batches", tuple(tuple(table) for table in self.batches))
        for table, batches in enumerate(self.batches):
            for batch in batches:
                if not isinstance(batch, OpeningBatch):
                    raise TypeError(f"batches of table {table} must be OpeningBatch objects, got {type(batch)}")

    @classmethod
    def all_columns(cls, layout: Layout, points: int = 1, next: bool = False) -> "Schedule":
        """Every column of every table at `points` points each, with `next` also through the successor view."""
        points = index_in_range("points", points)
        tables = []
        for shape in layout.tables:
            columns = tuple(range(shape.columns))
            tables.append((OpeningBatch(columns, columns if next else ()),) * points)
        return cls(tuple(tables))

    @property
    def flat(self) -> tuple[tuple[int, OpeningBatch], ...]:
        """(table, batch) pairs in transcript order: tables in order, then the batches of each."""
        return tuple((table, batch) for table, batches in enumerate(self.batches) for batch in batches)

    @property
    def num_batches(self) -> int:
        """Number of points."""
        return sum(len(batches) for batches in self.batches)

    @property
    def num_claims(self) -> int:
        """Number of column claims, current and next, over all batches."""
        return sum(len(batch) for _, batch in self.flat)

    def check(self, layout: Layout) -> "Schedule":
        """Returns self if it fits the layout; ValueError for another number of tables, IndexError for a column."""
        if len(self.batches) != len(layout.tables):
            raise ValueError(f"expected a schedule for each of {len(layout.tables)} tables, got {len(self.batches)}")
        for table, batch in self.flat:
            width = layout.tables[table].columns
            for column in batch.current + batch.next:
                if column >= width:
                    raise IndexError(f"column of table {table} must be in 0..{width - 1}, got {column}")
        return self


@dataclass(frozen=True)
class Claim:
    """One claimed value.

    batch_index: its batch in flat order. value_index: its position in that batch's `current` or `next` list (kind).
    flat_index: its position among all values of all batches, flat order, current before next.
    """

    batch_index: int
    table: int
    column: int
    kind: str
    placement: Placement
    value_index: int
    flat_index: int


def claims(layout: Layout, schedule: Schedule) -> tuple[Claim, ...]:
    """The column claims in exponent order: entry e is multiplied by the e-th power of the combination challenge.

    Tables in cursor order (not table order), each table's batches in order, current then next. Out-of-domain claims
    follow after these. Raises as `Schedule.check`.
    """
    schedule.check(layout)
    per_table: list[list[Claim]] = [[] for _ in layout.tables]
    flat_index = 0
    for batch_index, (table, batch) in enumerate(schedule.flat):
        for kind, columns in (("current", batch.current), ("next", batch.next)):
            for value_index, column in enumerate(columns):
                placement = layout.placement(table, column)
                per_table[table].append(Claim(batch_index, table, column, kind, placement, value_index, flat_index))
                flat_index += 1
    return tuple(claim for table in layout.table_order for claim in per_table[table])


def check_points(layout: Layout, schedule: Schedule, points) -> tuple[np.ndarray, ...]:
    """Caller-chosen points, one per batch in flat order, checked and copied.

    points: a sequence of integer arrays (log_rows, 4), canonical, log_rows the padded arity of the batch's table,
    variable 0 first. Returns read-only (log_rows, 4) uint32 arrays, canonical. Raises ValueError for a wrong count,
    shape or value, TypeError for a wrong dtype.
    """
    schedule.check(layout)
    points = list(points)
    if len(points) != schedule.num_batches:
        raise ValueError(f"expected {schedule.num_batches} points, one for each opening batch, got {len(points)}")
    checked = []
    for k, ((table, _), point) in enumerate(zip(schedule.flat, points)):
        arity = layout.padded_log_rows[table]
        array = np.asarray(point)
        if array.size == 0 and array.shape != (arity, EXT_DEGREE):
            raise ValueError(f"point {k} (table {table}) must have shape ({arity}, {EXT_DEGREE}), got {array.shape}")
        if array.dtype.kind not in "iu":
            raise TypeError(f"point {k} must hold integers, got dtype {array.dtype}")
        if array.shape != (arity, EXT_DEGREE):
            raise ValueError(f"point {k} (table {table}) must have shape ({arity}, {EXT_DEGREE}), got {array.shape}")
        bad = (array < 0) | (array >= P)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"point {k} must hold values in 0..{P - 1}, got {int(array[where])} at {where}")
        array = np.array(array, dtype=np.uint32, order="C")
        array.setflags(write=False)
        checked.append(array)
    return tuple(checked)
