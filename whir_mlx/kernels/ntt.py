"""Number-theoretic transforms down the rows of a matrix (`ntt.metal`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..field.constants import MONTY_ONE, P, TWO_ADICITY, two_adic_generator
from ..field.numpy_field import mont_mul
from .device import Device
from .operation import check_shape, log2_exact, operation


@dataclass(frozen=True)
class NttTuning:
    """Shape of a pass: words a tile (threadgroup memory), lanes a tile at most, threads along lanes and butterflies."""

    tile_words: int
    lanes: int
    threads: tuple[int, int]


# 4096 words are 16 KB: half of a core's 32 KB first-level cache, and half of the threadgroup memory of an Apple GPU, so that
# two groups share a core. 16 lanes make 64-byte rows.
_TUNING = {
    "cpu": NttTuning(4096, 16, (1, 1)),
    "cuda": NttTuning(4096, 16, (16, 16)),
    "metal": NttTuning(4096, 16, (16, 16)),
}


@dataclass(frozen=True)
class NttPass:
    """One launch: which levels, how the lanes lie, and how many rows of its tiles' input are not zero padding."""

    log_span: int
    levels: int
    live: int
    lanes: int
    wide: bool


def plan_passes(log_rows: int, width: int, log_input: int, tuning: NttTuning, vector: int) -> tuple[NttPass, ...]:
    """Split 2^log_rows rows of `width` words into passes whose tiles fit `tuning.tile_words`.

    `vector` is the number of lanes that one launch needs at least to fill a vector of threads (1 on GPUs).
    """
    wide = width % vector == 0
    passes: list[NttPass] = []
    lanes = min(tuning.lanes, width & -width) if wide else tuning.lanes
    most = max(1, (tuning.tile_words // lanes).bit_length() - 1)
    count = -(-log_rows // most)
    log_span = log_rows
    for number in range(count):
        levels = -(-log_span // (count - number))
        if number == 0:
            # The padding test is by whole local rows, so the first pass spans at least the expansion.
            levels = max(levels, log_rows - log_input)
        log_stride = log_span - levels
        pass_lanes = lanes
        if not wide:
            # Lanes are words of neighbouring rows (stride > 1) or whole neighbouring tiles (stride 1).
            available = (width << log_stride) if log_stride else width << (log_rows - levels)
            pass_lanes = lanes if available % lanes == 0 else available & -available
        live = 1 << levels if number else 1 << max(0, log_input - (log_rows - levels))
        passes.append(NttPass(log_span, levels, live, pass_lanes, wide))
        log_span = log_stride
        if log_span == 0:
            break
    return tuple(passes)


@lru_cache(maxsize=64)
def _twiddle_table(log_rows: int) -> np.ndarray:
    powers = np.array([MONTY_ONE], np.uint32)
    for bit in range(log_rows):
        factor = pow(two_adic_generator(log_rows), 1 << bit, P) * MONTY_ONE % P
        powers = np.concatenate([powers, mont_mul(powers, np.uint32(factor))])
    return powers


@lru_cache(maxsize=64)
def twiddles(device: Device, log_rows: int):
    """The powers 1, g, g^2, ... of g(log_rows): (2^log_rows,) Montgomery words on the device, kept."""
    table = device.asarray(_twiddle_table(log_rows))
    device.evaluate(table)
    return table


@operation
def ntt(device: Device, x, *, log_rows: int, inverse: bool = False):
    """Forward (or inverse) DFT down the rows, natural order in and out.

    x: (R, W) uint32 Montgomery words, R a power of two <= N = 2^log_rows; rows R..N-1 count as 0.
    Returns (N, W): y[i, c] = sum_b x[b, c] g(log_rows)^(i b); with `inverse`, g^-(i b) / N (then R must be N).
    Raises ValueError for other shapes or log_rows > 27. Source: p3-dft 0.8.0 `traits.rs` (dft_batch).
    """
    check_shape("x", x.shape, ndim=2)
    rows, width = x.shape
    log_input = log2_exact("rows of x", rows)
    if not log_input <= log_rows <= TWO_ADICITY:
        raise ValueError(f"log_rows must be in {log_input}..{TWO_ADICITY} for {rows} rows, got {log_rows}")
    if width < 1:
        raise ValueError("x must have at least one column, got 0")
    if inverse and log_input != log_rows:
        raise ValueError(f"an inverse transform takes all {1 << log_rows} rows, got {rows}")
    if log_rows == 0:
        return x
    tuning = _TUNING[device.name]
    vector = device.vector_lanes
    out = x
    passes = plan_passes(log_rows, width, log_input, tuning, vector)
    for number, step in enumerate(passes):
        log_stride = step.log_span - step.levels
        last = number == len(passes) - 1
        scale = pow(1 << log_rows, -1, P) * MONTY_ONE % P if inverse and last else 0
        words = width << log_rows
        blocks = (width if step.wide else (width << log_stride if log_stride else width << (log_rows - step.levels))) // step.lanes
        groups = words // (step.lanes << step.levels)
        across, along = tuning.threads
        across = min(across, step.lanes)
        lanes = 0 if step.lanes % vector == 0 else 1
        (out,) = device.launch(
            "ntt",
            (log_rows, width, step.log_span, step.levels, step.live, step.lanes, blocks, scale),
            [out, twiddles(device, log_rows)],
            [(1 << log_rows, width)],
            groups=(groups, 1, 1),
            group=(across, along, 1),
            values={"WIDE": int(step.wide), "TILE_WORDS": tuning.tile_words},
            lanes=lanes,
            cost=0.5 * words * step.levels,
        )
    return out
