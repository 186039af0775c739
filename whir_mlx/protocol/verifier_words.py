"""The Montgomery form of a proof, for what is absorbed or hashed: all arrays in one launch.

Source: p3-monty-31 0.8.0 (`monty_31.rs`).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import numpy as np

from whir_mlx.kernels.montgomery import to_montgomery

__all__ = ["montgomery_copy"]


def montgomery_copy(device, value):
    """`value` with every canonical uint32 array in it replaced by its Montgomery words (NumPy, read-only use).

    `value` is a proof object, or a tuple of them: dataclasses, tuples, arrays. Numbers, texts and None stay as they
    are, so a grinding witness of a round stays canonical.
    """
    arrays = []
    _visit(value, lambda array: arrays.append(array.reshape(-1)) or array)
    if not any(array.size for array in arrays):
        return value
    words = device.numpy(to_montgomery(device, device.asarray(np.concatenate(arrays))))
    start = 0

    def take(array: np.ndarray) -> np.ndarray:
        nonlocal start
        start += array.size
        return words[start - array.size : start].reshape(array.shape)

    return _visit(value, take)


def _visit(value, change):
    """`value` rebuilt with `change` applied to its arrays, in a fixed order."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_visit(item, change) for item in value)
    if is_dataclass(value):
        return replace(value, **{f.name: _visit(getattr(value, f.name), change) for f in fields(value)})
    return value
