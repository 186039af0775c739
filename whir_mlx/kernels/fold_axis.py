"""Contraction of a matrix with extension weights along one axis (`fold_axis.metal`)."""

from __future__ import annotations

from .device import Device
from .ext_sum import ext_sum
from .operation import log2_exact, operation

# A row this short is summed by one thread, and so is any row where there are rows enough to fill the device (and more
# than CUDA's grids would take along y); longer rows are shared among threads.
_SHORT_ROW = 64
_MANY_ROWS = 1 << 14
# Rows summed by one thread before the shares are added, and chunks of rows at most: CUDA's grids end at 65535 along y. On a
# GPU fewer where values are few: a thread waits some 0.6 us for each four of its rows (H200).
_CHUNK = 256
_CHUNK_LAZY = 16
_THREADS_LAZY = 1 << 16
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
        chunk = min(_CHUNK, max(_CHUNK_LAZY, rows * columns // _THREADS_LAZY)) if device.lazy else _CHUNK
        each = min(rows, max(chunk, rows // _MOST_CHUNKS))
        return 0, columns, rows // each, each, 0
    if axis == 0:
        # Few columns: threads run over neighbouring values of all columns, `columns` of which share a weight.
        threads = max(columns, _divisor(device, rows * columns))
        return 2, threads, 1, rows * columns // threads, columns.bit_length() - 1
    if columns <= _SHORT_ROW or rows >= _MANY_ROWS:
        return 1, rows, 1, columns, 0
    threads = _divisor(device, columns)
    return 2, threads, rows, columns // threads, 0


def _divisor(device: Device, count: int) -> int:
    """Threads that share `count` values evenly: the largest power of two that divides it, up to what fills the
    device."""
    return min(count & -count, 4096 if device.lazy else 64)
