"""Sums of multiples of tables (`add_scaled.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import check_shape, operation

MAX_TABLES = 8


@operation
def add_scaled(device: Device, w, coefficients, tables: list, *, places: tuple[tuple[int | None, ...], ...]):
    """w[c, i] + the sum over tables s of coefficients[places[s][c]] * tables[s][i], none where the place is None.

    w: (C, N, 4), or None for 0; coefficients: (T, 4); tables: one or more (N, 4); Montgomery words. places: C host
    integers below T for each table. Returns (C, N, 4).
    """
    check_shape("coefficients", coefficients.shape, ndim=2, last=4)
    if not tables or len(places) != len(tables) or len({len(row) for row in places}) != 1:
        raise ValueError(f"places must have a row of one length for each of {len(tables)} tables, got {places}")
    count, groups = tables[0].shape[0], len(places[0])
    shapes = [tuple(x.shape) for x in (*tables, *(() if w is None else (w,)))]
    if shapes != [(count, 4)] * len(tables) + ([] if w is None else [(groups, count, 4)]):
        raise ValueError(f"tables must be (N, 4) and w ({groups}, N, 4) with one N, got {shapes}")
    if any(place is not None and not 0 <= place < coefficients.shape[0] for row in places for place in row):
        raise ValueError(f"places must be below {coefficients.shape[0]} or None, got {places}")
    for start in range(0, len(tables), MAX_TABLES):
        part, rows = tables[start : start + MAX_TABLES], places[start : start + MAX_TABLES]
        numbers = (0 if place is None else 1 + place for row in rows for place in row)
        (w,) = device.launch(
            "add_scaled",
            (count, groups, len(part), int(w is not None), *numbers),
            [part[0] if w is None else w, coefficients, *part, *[part[-1]] * (MAX_TABLES - len(part))],
            [(groups, count, 4)],
            grid=(count, groups, 1),
            cost=12.0 * len(part) * groups * count,
        )
    return w
