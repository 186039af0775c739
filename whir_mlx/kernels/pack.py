"""Many small arrays into one, so that one array is read back (`pack.metal`)."""

from __future__ import annotations

from .device import Device
from .operation import operation, product

MAX_ARRAYS = 26


@operation
def pack(device: Device, arrays: list, montgomery: list, *, room: int = 0):
    """The words of `arrays`, any shapes, one after the other: (N,) uint32, or (room,) if that is more: the rest is then
    left as it is.

    arrays: one or more; montgomery: one bool each, whether its words are turned from Montgomery to canonical form; the
    others stay as they are. Raises ValueError for lists of different lengths and where there is no word at all.
    """
    if len(arrays) != len(montgomery):
        raise ValueError(f"montgomery must have one entry for each of {len(arrays)} arrays, got {len(montgomery)}")
    filled = [(x, flag) for x, flag in zip(arrays, montgomery) if product(x.shape)]
    if not filled:
        raise ValueError("arrays must have at least one word, got none")
    while True:
        runs = [filled[start : start + MAX_ARRAYS] for start in range(0, len(filled), MAX_ARRAYS)]
        filled = [(_pack(device, run, room if len(runs) == 1 else 0), False) for run in runs]
        if len(filled) == 1:
            return filled[0][0]


def _pack(device: Device, run: list, room: int):
    lengths = [product(x.shape) for x, _ in run]
    starts = [sum(lengths[:k]) for k in range(len(run))]
    missing = [0] * (MAX_ARRAYS - len(run))
    size = (*starts, *missing, *lengths, *missing, *(int(flag) for _, flag in run), *missing)
    arrays = [x for x, _ in run]
    return device.launch(
        "pack",
        size,
        [*arrays, *[arrays[-1]] * len(missing)],
        [(max(sum(lengths), room),)],
        grid=(max(lengths), len(run), 1),
        cost=1.0 * max(lengths) * len(run),
    )[0]
