"""The Poseidon2 permutation (`poseidon2.metal`)."""

from __future__ import annotations

from ..field.poseidon2_constants import WIDTHS
from .concatenate import concatenate
from .device import Device
from .dispatch_limits import dispatch_windows
from .operation import check_shape, operation

PERMUTATION_COST = {16: 250.0, 24: 500.0, 32: 800.0}
"""Rough nanoseconds of one permutation by width on one core."""


@operation
def poseidon2(device: Device, states):
    """Permute each row. states: (N, t) uint32 Montgomery words, t in 16, 24, 32 -> (N, t).

    Raises ValueError for another width. Source: p3-poseidon2 0.8.0, p3-baby-bear 0.8.0 (`poseidon2.rs`).
    """
    check_shape("states", states.shape, ndim=2)
    count, width = states.shape
    if width not in WIDTHS:
        raise ValueError(f"states must have rows of 16, 24 or 32 words, got {width}")
    if count == 0:
        return states
    cost = PERMUTATION_COST[width]
    parts = []
    for first, end in dispatch_windows(device, count, cost / PERMUTATION_COST[16]):
        parts += device.launch(
            "poseidon2",
            (end - first,),
            [states if end - first == count else states[first:end]],
            [(end - first, width)],
            grid=(end - first, 1, 1),
            values={"WIDTH": width},
            cost=cost * (end - first),
        )
    return parts[0] if len(parts) == 1 else concatenate(device, parts)
