"""Number-theoretic transforms down the rows of a matrix (`ntt.metal`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..field.constants import MONTY_ONE, TWO_ADICITY, P, two_adic_generator
from ..field.numpy_field import mont_mul
from .device import Device
from .gather_rows import gather_rows
from .operation import check_shape, log2_exact, operation
from .tuning import Tuning


@dataclass(frozen=True)
class NttPass:
    """One launch: `levels` levels of sub-transforms of 2^log_span rows, `lanes` lanes a tile, columns of one row if
    `wide`."""

    log_span: int
    levels: int
    lanes: int
    wide: bool

    @property
    def log_stride(self) -> int:
        """log2 of the rows between a tile's rows; 0 in the last pass."""
        return self.log_span - self.levels

    def lane_words(self, width: int, log_rows: int) -> int:
        """Independent lanes that the tiles at one place share out in blocks."""
        if self.wide:
            return width
        return width << (self.log_stride if self.log_stride else log_rows - self.levels)


def plan_passes(log_rows: int, width: int, log_input: int, tuning: Tuning, vector: int) -> tuple[NttPass, ...]:
    """Split the levels of transforms of 2^log_input rows of `width` words into passes whose tiles fit
    `tuning.tile_words`: as few passes as tiles of tile_least_lanes lanes allow, and as many lanes as those leave.

    `vector` is the number of lanes that one launch needs at least to fill a vector of threads (1 on GPUs). Lanes are
    columns of one row (`wide`) where rows are multiples of that and of `tuning.wide_columns`, else neighbouring words.
    """
    wide = width % max(vector, tuning.wide_columns) == 0
    most = min(tuning.tile_lanes, width & -width) if wide else max(tuning.tile_lanes, tuning.narrow_lanes)
    choices = [most >> bit for bit in range(most.bit_length()) if most >> bit >= min(most, tuning.tile_least_lanes)]
    count, lanes = min((-(-log_input // max(1, (tuning.tile_words // n).bit_length() - 1)), -n) for n in choices)
    lanes = -lanes
    tile = lanes << -(-log_input // count)
    while not wide and lanes > tuning.tile_least_lanes and (width << log_rows) // tile < tuning.narrow_groups:
        lanes, tile = lanes // 2, tile // 2
    passes: list[NttPass] = []
    log_span = log_input
    for number in range(count):
        levels = -(-log_span // (count - number))
        # Neighbouring words are far apart where the last pass reads them.
        here = lanes if wide or levels < log_span else min(lanes, tuning.tile_lanes)
        step = NttPass(log_span, levels, here, wide)
        available = step.lane_words(width, log_rows)
        if available % here:
            step = NttPass(log_span, levels, available & -available, wide)
        passes.append(step)
        log_span = step.log_stride
    return tuple(passes)


def pass_values(tuning: Tuning, wide: bool) -> dict[str, int]:
    """The specialisation of a pass."""
    return {"WIDE": int(wide), "TILE_WORDS": tuning.tile_words, "DIRECT": int(tuning.tile_direct)}


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
    table = device.table((1 << log_rows,), lambda: _twiddle_table(log_rows))
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
    if log_input == 0:
        # A constant polynomial: its value everywhere.
        return gather_rows(device, x, device.asarray(np.zeros(1 << log_rows, np.uint32)))
    tuning = device.tuning
    vector = device.vector_lanes
    out = x
    for number, step in enumerate(plan_passes(log_rows, width, log_input, tuning, vector)):
        words = width << log_rows
        scale = pow(1 << log_rows, -1, P) * MONTY_ONE % P if inverse and not step.log_stride else 0
        expand = -1 if number else log_rows - log_input
        blocks = step.lane_words(width, log_rows) // step.lanes
        across = min(max(tuning.tile_threads[0], 0 if step.wide else tuning.narrow_lanes), step.lanes)
        # At most a butterfly of radix 16 a thread.
        threads = min(tuning.tile_threads[0] * tuning.tile_threads[1], max(across, (step.lanes << step.levels) // 16))
        (out,) = device.launch(
            "ntt",
            (log_rows, width, step.log_span, step.levels, expand & 0xFFFFFFFF, step.lanes, blocks, scale),
            [out, twiddles(device, log_rows)],
            [(1 << log_rows, width)],
            groups=(words // (step.lanes << step.levels), 1, 1),
            group=(across, threads // across, 1),
            values=pass_values(tuning, step.wide),
            lanes=0 if step.lanes % vector == 0 else 1,
            cost=0.5 * words * step.levels,
        )
    return out
