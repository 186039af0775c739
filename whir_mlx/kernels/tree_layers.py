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
def tree_layers(device: Device, rows, *, levels: int, sponge: bool, start: int = 0):
    """N digests and `levels` layers above them, one after the other, lowest first: (N + N/2 + ..., 8) Montgomery words.

    With `sponge` rows are leaves, (N, w) uint32 Montgomery words, w >= 1, and the digests theirs (rate 8, width 16).
    Without, rows are digests, (start + 2 N, 8), and those from `start` on are compressed two by two. N is a positive
    multiple of 2^levels, levels in 0..6. Raises ValueError for other shapes. Source: p3-merkle-tree 0.8.0
    (`merkle_tree.rs`).
    """
    check_shape("rows", rows.shape, ndim=2)
    count, width = rows.shape if sponge else ((rows.shape[0] - start) // 2, 16)
    if not 0 <= levels <= MOST_LEVELS:
        raise ValueError(f"levels must be in 0..{MOST_LEVELS}, got {levels}")
    if sponge and (start or width < 1):
        raise ValueError(f"rows must have a word or more and start at 0, got {width} words from {start}")
    if not sponge and (rows.shape[1] != 8 or not 0 <= start <= rows.shape[0] or (rows.shape[0] - start) % 2):
        raise ValueError(f"rows must be digests of 8 words, two by two from {start}, got {tuple(rows.shape)}")
    if count < 1 or count % (1 << levels):
        raise ValueError(f"rows must give a positive multiple of {1 << levels} digests, got {count}")
    # No more rows a group than its layers need: small groups spread over all cores.
    log_block = min(max(4, levels), (count & -count).bit_length() - 1)
    threads = device.simd_width
    if device.lazy:
        threads = max(threads, min(LANES << log_block, device.tuning.tree_threads))
    return device.launch(
        "tree_layers",
        (count, width, log_block, levels, int(sponge), 8 * start),
        [tables(device), rows],
        [(sum(count >> level for level in range(levels + 1)), 8)],
        groups=(count >> log_block, 1, 1),
        group=(threads, 1, 1),
        lanes=device.simd_width,
        cost=3 * PERMUTATION_COST[16] * count * (2 + width / 8),
    )[0]
