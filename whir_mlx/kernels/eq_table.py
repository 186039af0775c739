"""The tables of eq(point, .) over the hypercube (`eq_table.metal`)."""

from __future__ import annotations

import numpy as np

from ..field.constants import MONTY_ONE
from .device import Device
from .eq_outer import eq_outer
from .operation import check_shape, operation


@operation
def eq_table(device: Device, point):
    """eq(point, b) for all b, coordinate 0 at the most significant bit. point: (n, 4) uint32 Montgomery words ->
    (2^n, 4).

    Source: p3-multilinear-util 0.8.0 (`point.rs`).
    """
    check_shape("point", point.shape, ndim=2, last=4)
    if point.shape[0] == 0:
        return device.asarray(np.array([[MONTY_ONE, 0, 0, 0]], np.uint32))
    return _tables(device, point, (point.shape[0],))[0]


@operation
def eq_tables(device: Device, point, *, lengths: tuple[int, ...]) -> list:
    """The eq tables of runs of a point's coordinates, of `lengths` each, one after the other: (2^length, 4) each.

    point: (n, 4) uint32 Montgomery words, n >= 1 the sum of `lengths`, or a univariate challenge y, (4,), which stands
    for the point (y^(2^(n-1)), ..., y^2, y). Raises ValueError for lengths that do not add up to the coordinates.
    Source: p3-multilinear-util 0.8.0 (`point.rs`, expand_from_univariate).
    """
    check_shape("point", point.shape, last=4)
    if len(point.shape) > 2 or sum(lengths) < 1 or min(lengths) < 0:
        raise ValueError(
            f"point must be (n, 4) or (4,) and lengths have a coordinate, got {tuple(point.shape)} and {lengths}"
        )
    if len(point.shape) == 2 and point.shape[0] != sum(lengths):
        raise ValueError(f"lengths must add up to the {point.shape[0]} coordinates, got {lengths}")
    return _tables(device, point, tuple(lengths))


def _tables(device: Device, point, lengths: tuple[int, ...]) -> list:
    # One launch makes tables of at most 2^direct_variables entries; longer ones are multiplied out of several.
    most, each = device.tuning.direct_variables, device.tuning.eq_log_each
    pieces = [_split(length, most) for length in lengths]
    runs, coordinate, start = [], 0, 0
    for length in (piece for split in pieces for piece in split):
        runs.append((coordinate, length, start))
        coordinate, start = coordinate + length, start + (1 << length)
    longest = max(length for _, length, _ in runs)
    (out,) = device.launch(
        "eq_table",
        (coordinate, int(len(point.shape) == 1), *(number for run in runs for number in run)),
        [point],
        [(start, 4)],
        grid=(1 << max(longest - each, 0), len(runs), 1),
        values={"LOG_EACH": each},
        cost=20.0 * coordinate * start,
    )
    parts = [out if len(runs) == 1 else out[first : first + (1 << length)] for _, length, first in runs]
    tables = []
    for split in pieces:
        mine, parts = parts[: len(split)], parts[len(split) :]
        table = mine.pop()
        while mine:
            table = eq_outer(device, mine.pop(), table)
        tables.append(table)
    return tables


def _split(length: int, most: int) -> list[int]:
    """`length` as a sum of as few numbers up to `most` as there can be, all nearly equal."""
    count = max(1, -(-length // most))
    return [length // count + (number < length % count) for number in range(count)]
