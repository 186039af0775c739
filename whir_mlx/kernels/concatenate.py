"""Joining device arrays along their first axis, whichever library they are of."""

from __future__ import annotations

from .device import Device
from .pack import pack


def concatenate(device: Device, arrays: list):
    """The arrays of `device`, one after the other along axis 0."""
    if not device.lazy:
        return device.array_module.concatenate(arrays, axis=0)
    if len(arrays) == 1:
        return arrays[0]
    # One launch; MLX's own takes one an array.
    rows = sum(x.shape[0] for x in arrays)
    return pack(device, arrays, [False] * len(arrays)).reshape((rows, *arrays[0].shape[1:]))


def stack(device: Device, arrays: list):
    """The arrays of `device`, of one shape, along a new first axis."""
    return concatenate(device, [x.reshape((1, *x.shape)) for x in arrays])
