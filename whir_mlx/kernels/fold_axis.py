"""Contraction of a matrix with extension weights along one axis (`fold_axis.metal`)."""

from __future__ import annotations

from .device import Device
from .ext_sum import ext_sum
from .operation import log2_exact, operation

# Chunks of rows at most: CUDA's grids end at 65535 along y.
_MOST_CHUNKS = 1 << 15


@operation
def fold_axis(device: Device, f, weights, *, axis: int, ext: bool):
    """sum over a of f[a, b] weights[a] (axis 0), or over b of f[a, b] weights[b] (axis 1).

    f: (A, B), or with `ext` (A, B, 4), B (and for axis 0 also A) a power of two; weights: (A, 4) for axis 0, (B, 4)
    for axis 1. A leading batch axis, f (C, A, B[, 4]), uses the same weights for all. Montgomery words. Returns (B,
    4) or (A, 4), after the batch axis if any.
    """
    matrix_axes = 3 if ext else 2
    if len(f.shape) not in (matrix_axes, matrix_axes + 1) or axis not in (0, 1) or (ext and f.shape[-1] != 4):
        raise ValueError(f"f must be (A, B{', 4' if ext else ''}) with axis 0 or 1, got {tuple(f.shape)}, axis {axis}")
    batched = len(f.shape) > matrix_axes
    batch = f.shape[0] if batched else 1
    rows, columns = f.shape[batched : batched + 2]
    if tuple(weights.shape) != ((rows, columns)[axis], 4):
        raise ValueError(f"weights must be ({(rows, columns)[axis]}, 4), got {tuple(weights.shape)}")
    if axis == 0:
        log2_exact("rows of f", rows)
    log2_exact("columns of f", columns)
    kept = columns if axis == 0 else rows
    mode, across, down, each, shift = _geometry(device, rows, columns, axis)
    (partial,) = device.launch(
        "fold_axis",
        (across, down, each, shift),
        [f, weights],
        [(batch * down * across, 4)],
        grid=(across, down, batch),
        values={"MODE": mode, "EXT": int(ext)},
        cost=(12.0 if ext else 3.0) * batch * rows * columns,
    )
    shares = batch * down * across // (batch * kept)
    if shares > 1:
        groups, inner = (batch, kept) if axis == 0 else (batch * kept, 1)
        partial = ext_sum(device, partial.reshape((groups, shares, inner, 4)))
    return partial.reshape((batch, kept, 4) if batched else (kept, 4))


def _geometry(device: Device, rows: int, columns: int, axis: int) -> tuple[int, int, int, int, int]:
    """(mode, threads along x, along y, values a thread, weight shift); see `fold_axis.metal`."""
    if axis == 0 and columns >= max(8, device.vector_lanes):
        tuning = device.tuning
        chunk = min(tuning.fold_rows, max(tuning.fold_least_rows, rows * columns // tuning.fold_threads))
        each = min(rows, max(chunk, rows // _MOST_CHUNKS))
        return 0, columns, rows // each, each, 0
    if axis == 0:
        # Few columns: threads run over neighbouring values of all columns, `columns` of which share a weight.
        threads = max(columns, _divisor(device, rows * columns))
        return 2, threads, 1, rows * columns // threads, columns.bit_length() - 1
    # Short rows, and rows enough to fill the device (and more than CUDA's grids would take along y), are summed by a
    # thread each; longer rows are shared among threads.
    if columns <= device.tuning.fold_short_row or rows >= device.tuning.fold_many_rows:
        return 1, rows, 1, columns, 0
    threads = _divisor(device, columns)
    return 2, threads, rows, columns // threads, 0


def _divisor(device: Device, count: int) -> int:
    """Threads that share `count` values evenly: the largest power of two that divides it, up to what fills the
    device."""
    return min(count & -count, device.tuning.sum_threads)
