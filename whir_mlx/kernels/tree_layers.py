"""Digests of rows and the layers above them by sixteen lanes each: quick where rows are few (`tree_layers.metal`)."""

from __future__ import annotations

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST

# Lanes of a digest, and log2 of a group's rows at most: 1,024 words of threadgroup memory hold two layers of them.
LANES = 16
MOST_LEVELS = 6


@operation
def tree_layers(device: Device, rows, *, levels: int, sponge: bool) -> list:
    """The digests of `rows` and `levels` layers above, lowest first: (N, 8), (N/2, 8), ..., Montgomery words.

    rows: (N, w) uint32 Montgomery words, w >= 1, N a multiple of 2^levels, levels in 0..6. With `sponge` a digest is
    that of a leaf (rate 8, width 16); without, w is 16 and a digest is the 2-to-1 compression of its row. Raises
    ValueError for other shapes. Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`).
    """
    check_shape("rows", rows.shape, ndim=2)
    count, width = rows.shape
    if not 0 <= levels <= MOST_LEVELS:
        raise ValueError(f"levels must be in 0..{MOST_LEVELS}, got {levels}")
    if count < 1 or count % (1 << levels):
        raise ValueError(f"rows must be a positive multiple of {1 << levels} rows, got {count}")
    if width < 1 or not (sponge or width == 16):
        raise ValueError(f"rows must have {'a word or more' if sponge else '16 words'}, got {width}")
    # No more rows a group than its layers need: small groups spread over all cores.
    log_block = min(max(4, levels), (count & -count).bit_length() - 1)
    threads = device.simd_width
    if device.lazy:
        threads = max(threads, min(LANES << log_block, device.tuning.tree_threads))
    lengths = [count >> level for level in range(levels + 1)]
    (layers,) = device.launch(
        "tree_layers",
        (count, width, log_block, levels, int(sponge)),
        [tables(device), rows],
        [(sum(lengths), 8)],
        groups=(count >> log_block, 1, 1),
        group=(threads, 1, 1),
        lanes=device.simd_width,
        cost=3 * PERMUTATION_COST[16] * count * (2 + width / 8),
    )
    starts = [sum(lengths[:level]) for level in range(levels + 1)]
    return [layers[start : start + length] for start, length in zip(starts, lengths)]
