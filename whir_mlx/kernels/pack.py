"""Many small arrays into one, so that one array is read back (`pack.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import operation, product

MAX_ARRAYS = 26


@operation
def pack(device: Device, arrays: list, montgomery: list, *, counts: list | None = None, room: int = 0):
    """The words of `arrays`, any shapes, one after the other: (N,) uint32, or (room,) if that is more: the rest is then
    left as it is.

    arrays: one or more; montgomery: one bool each, whether its words are turned from Montgomery to canonical form; the
    others stay as they are. counts: how many of its first words each array gives (None: all; this spares a view).
    Raises ValueError for lists of different lengths, for counts past an array's end and where there is no word at all.
    """
    if len(arrays) != len(montgomery):
        raise ValueError(f"montgomery must have one entry for each of {len(arrays)} arrays, got {len(montgomery)}")
    sizes = [product(x.shape) for x in arrays]
    counts = sizes if counts is None else counts
    if len(counts) != len(arrays) or any(not 0 <= count <= size for count, size in zip(counts, sizes)):
        raise ValueError(f"counts must be at most the arrays' words, {sizes}, got {counts}")
    filled = [(x, flag, count) for x, flag, count in zip(arrays, montgomery, counts) if count]
    if not filled:
        raise ValueError("arrays must have at least one word, got none")
    while True:
        runs = [filled[start : start + MAX_ARRAYS] for start in range(0, len(filled), MAX_ARRAYS)]
        packed = [_pack(device, run, room if len(runs) == 1 else 0) for run in runs]
        filled = [(x, False, product(x.shape)) for x in packed]
        if len(filled) == 1:
            return filled[0][0]


def _pack(device: Device, run: list, room: int):
    lengths = [count for _, _, count in run]
    starts = [sum(lengths[:k]) for k in range(len(run))]
    missing = [0] * (MAX_ARRAYS - len(run))
    size = (*starts, *missing, *lengths, *missing, *(int(flag) for _, flag, _ in run), *missing)
    arrays = [x for x, _, _ in run]
    return device.launch(
        "pack",
        size,
        [*arrays, *[arrays[-1]] * len(missing)],
        [(max(sum(lengths), room),)],
        grid=(max(lengths), len(run), 1),
        cost=1.0 * max(lengths) * len(run),
    )[0]
