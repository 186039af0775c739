"""What every operation's wrapper shares: dispatch to the NumPy twin, and checks of its arguments."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from .device import Device


def operation(function: Callable) -> Callable:
    """Make `function(device, ...)` run `reference.<module>.<name>(...)` on the numpy device, itself elsewhere."""
    module = f"{__package__}.reference.{function.__module__.rsplit('.', 1)[-1]}"

    @functools.wraps(function)
    def dispatch(device: Device, *arguments, **keywords):
        if device.name == "numpy":
            return getattr(importlib.import_module(module), function.__name__)(*arguments, **keywords)
        return function(device, *arguments, **keywords)

    return dispatch


def check_shape(name: str, shape: tuple[int, ...], *, last: int | None = None, ndim: int | None = None) -> None:
    """Refuse an array whose last axis or number of axes is not the one that the operation takes."""
    if ndim is not None and len(shape) != ndim:
        raise ValueError(f"{name} must have {ndim} axes, got shape {tuple(shape)}")
    if last is not None and (not shape or shape[-1] != last):
        raise ValueError(f"{name} must have a last axis of length {last}, got shape {tuple(shape)}")


def log2_exact(name: str, value: int) -> int:
    """log2 of a power of two; refuses other values."""
    if value < 1 or value & (value - 1):
        raise ValueError(f"{name} must be a power of two, got {value}")
    return value.bit_length() - 1


def product(shape: tuple[int, ...]) -> int:
    """Number of elements of a shape."""
    result = 1
    for extent in shape:
        result *= extent
    return result
