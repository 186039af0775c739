"""Tables and points as users give them, brought to the form that the protocol takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whir_mlx.choices import Choices
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.inputs import canonical_array, is_mlx
from whir_mlx.protocol.statement import OpeningBatch, Schedule, check_points

__all__ = ["make_schedule", "padded_points", "shape_of", "table_matrices"]


def shape_of(name: str, shape: tuple[int, ...], *, pad: bool = False) -> tuple[int, int]:
    """(log_rows, columns) of an array of one axis (one column) or two (columns, rows).

    Rows are a power of two, or with `pad` the next one. Raises ValueError for another rank, no entries, or other rows.
    """
    if len(shape) not in (1, 2):
        raise ValueError(f"{name} must be (rows,) or (columns, rows), got shape {tuple(shape)}")
    rows, columns = shape[-1], 1 if len(shape) == 1 else shape[0]
    if rows == 0 or columns == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(shape)}")
    if rows & (rows - 1) and not pad:
        raise ValueError(
            f"{name} must have a power of two of rows (its last axis), got {rows} in shape {tuple(shape)}; "
            f"pad=True appends zeros up to {1 << rows.bit_length()}"
        )
    return (rows - 1).bit_length(), columns


def table_matrices(choices: Choices, evals: object, *, pad: bool = False) -> list[np.ndarray]:
    """One (columns, 2^log_rows) canonical uint32 matrix a table, in table order, from what `Whir.commit` was given.

    Raises TypeError or ValueError as `canonical_array` and `shape_of`, and for shapes or names of another statement.
    """
    matrices = []
    for table, (shape, array) in enumerate(zip(choices.tables, _in_order(choices, evals), strict=True)):
        name = "evals" if len(choices.tables) == 1 and not choices.names else choices.table_name(table)
        array = canonical_array(name, array)
        expected = (shape.log_rows, shape.columns)
        found = shape_of(name, array.shape, pad=pad)
        if found != expected:
            wanted = f"({shape.columns}, {1 << shape.log_rows})"
            turned = array.shape == (1 << shape.log_rows, shape.columns)
            hint = "; rows are the last axis" if turned else ""
            raise ValueError(f"{name} must have shape {wanted} (columns, rows), got {array.shape}{hint}")
        matrix = array.reshape(shape.columns, array.shape[-1])
        missing = (1 << shape.log_rows) - matrix.shape[1]
        matrices.append(np.pad(matrix, ((0, 0), (0, missing))) if missing else matrix)
    return matrices


def _in_order(choices: Choices, evals: object) -> list:
    count = len(choices.tables)
    if isinstance(evals, Mapping):
        if choices.names is None:
            raise TypeError(
                "this statement's tables have no names; make it with tables={name: ...} to commit to a dict"
            )
        if set(evals) != set(choices.names):
            missing, unknown = set(choices.names) - set(evals), set(evals) - set(choices.names)
            raise ValueError(
                f"evals must name the statement's tables: missing {_few(missing)}, unknown {_few(unknown)}"
            )
        return [evals[name] for name in choices.names]
    is_list_of_arrays = isinstance(evals, (list, tuple)) and all(map(_is_array, evals)) and len(evals) > 0
    if count == 1 and not is_list_of_arrays:
        return [evals]
    if count == 1 and len(evals) > 1:
        return [np.stack([canonical_array(f"evals[{i}]", column) for i, column in enumerate(evals)])]
    if not isinstance(evals, (list, tuple)):
        raise TypeError(f"evals must be a list or dict of {count} arrays, got {type(evals).__name__}")
    if len(evals) != count:
        raise ValueError(f"evals must hold {count} tables, got {len(evals)}")
    return list(evals)


def _is_array(x: object) -> bool:
    return isinstance(x, np.ndarray) or is_mlx(x)


def _few(names: set) -> str:
    shown = sorted(map(repr, names))
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "") or "none"


def make_schedule(choices: Choices, schedule: object, points: object, num_points: int, next: bool) -> Schedule:
    """The schedule that the arguments of `Whir.open` and `Whir.verify` describe.

    schedule: a Schedule, a dict (table name -> OpeningBatch objects), or None: then every column of every table at
    `num_points` points (or as many as `points` has for each table), with `next` also through the successor view.
    """
    layout = choices.layout
    if isinstance(schedule, Schedule):
        return schedule.check(layout)
    if schedule is not None:
        if not isinstance(schedule, Mapping) or choices.names is None:
            raise TypeError(f"schedule must be a Schedule, or a dict for named tables, got {type(schedule).__name__}")
        unknown = set(schedule) - set(choices.names)
        if unknown:
            raise ValueError(f"schedule names no table of this statement: {_few(unknown)}")
        return Schedule(tuple(tuple(schedule.get(name, ())) for name in choices.names)).check(layout)
    if points is None:
        return Schedule.all_columns(layout, num_points, next)
    counts = [len(table) for table in _points_by_table(choices, points)]
    batches = []
    for shape, count in zip(layout.tables, counts):
        columns = tuple(range(shape.columns))
        batches.append((OpeningBatch(columns, columns if next else ()),) * count)
    return Schedule(tuple(batches))


def _points_by_table(choices: Choices, points: object) -> list[list]:
    if isinstance(points, Mapping):
        if choices.names is None or set(points) - set(choices.names):
            raise ValueError(f"points name no table of this statement: {_few(set(points) - set(choices.names or ()))}")
        return [list(points.get(name, ())) for name in choices.names]
    points = list(points)
    count, rest = divmod(len(points), len(choices.tables))
    if rest:
        raise ValueError(
            f"points must be as many for each of the {len(choices.tables)} tables, got {len(points)}; "
            f"give a schedule for anything else"
        )
    return [points[table * count : (table + 1) * count] for table in range(len(choices.tables))]


def padded_points(choices: Choices, schedule: Schedule, points: Mapping | Sequence | None):
    """Chosen points in schedule order as (padded log_rows, 4) canonical arrays; None stays None.

    A point may be (log_rows, 4), or (log_rows,) for coordinates in the base field. A table that was padded to the first
    fold has further leading variables; a point without them gets zeros there, where the padded column is the column.
    """
    if points is None:
        return None
    if isinstance(points, Mapping):
        points = [point for table in _points_by_table(choices, points) for point in table]
    flat = list(points)
    if len(flat) != schedule.num_batches:
        raise ValueError(f"expected {schedule.num_batches} points, one for each opening batch, got {len(flat)}")
    full = []
    for k, ((table, _), point) in enumerate(zip(schedule.flat, flat)):
        point = canonical_array(f"points[{k}]", point)
        if point.ndim == 1:
            point = np.concatenate([point[:, None], np.zeros((len(point), EXT_DEGREE - 1), np.uint32)], axis=1)
        missing = choices.layout.padded_log_rows[table] - choices.tables[table].log_rows
        if missing and point.shape == (choices.tables[table].log_rows, EXT_DEGREE):
            point = np.concatenate([np.zeros((missing, EXT_DEGREE), np.uint32), point])
        full.append(point)
    return check_points(choices.layout, schedule, full)
