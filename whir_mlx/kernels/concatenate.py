"""Joining device arrays along their first axis, whichever library they are of."""

from __future__ import annotations

import numpy as np

from .device import Device


def concatenate(device: Device, arrays: list):
    """The arrays of `device`, one after the other along axis 0."""
    if device.lazy:
        import mlx.core as mx

        return mx.concatenate(arrays, axis=0)
    return np.concatenate(arrays, axis=0)


def stack(device: Device, arrays: list):
    """The arrays of `device`, of one shape, along a new first axis."""
    return concatenate(device, [x.reshape((1, *x.shape)) for x in arrays])
