"""The edge of the array API: arguments are checked and brought to the device, results have the kind that came in.

NumPy in, NumPy out; MLX in, MLX out (where both come in, MLX). On a GPU, MLX arrays stay lazy and are never looked at:
their range is the caller's word. Values at hand (NumPy arrays, MLX arrays where the device is the host) are checked.
"""

from __future__ import annotations

import numpy as np

from whir_mlx.field.constants import P
from whir_mlx.inputs import is_mlx, shown_index
from whir_mlx.kernels.device import Device, get_device

__all__ = ["Edge"]


class Edge:
    """One call of the array API: `enter` each argument, compute on `device`, `leave` with each result."""

    def __init__(self, device: str | Device, *arguments):
        self.device = get_device(device)
        self._mlx = any(map(is_mlx, arguments))

    def enter(self, name: str, x, *, ndim: tuple[int, ...] | None = None, last: int | None = None, limit: int = P):
        """`x` as an array of the device.

        Raises TypeError unless `x` is a NumPy or MLX array of uint32, ValueError for another number of axes, another
        last axis, or (where they are at hand) entries not below `limit`.
        """
        self._check_form(name, x, ndim, last)
        if is_mlx(x) and self.device.lazy:
            return x
        # A copy in C order where strides, byte order or MLX's memory ask for one.
        array = np.array(x) if is_mlx(x) else np.ascontiguousarray(x, dtype=np.uint32)
        if array.size and int(array.max()) >= limit:
            index = np.unravel_index(int((array >= limit).argmax()), tuple(x.shape))
            value = int(array.reshape(x.shape)[index])
            raise ValueError(f"{name} must hold words below {limit}, got {value} at {shown_index(index)}")
        # NumPy's contiguous copies have at least one axis, so the shape of 0-d arrays is put back.
        return self.device.asarray(array).reshape(x.shape)

    @staticmethod
    def _check_form(name: str, x, ndim: tuple[int, ...] | None, last: int | None) -> None:
        is_word = str(x.dtype) == "mlx.core.uint32" if is_mlx(x) else isinstance(x, np.ndarray) and x.dtype == np.uint32
        # Other byte orders are other dtypes to NumPy, but words all the same.
        if not is_word and not (isinstance(x, np.ndarray) and x.dtype.kind == "u" and x.dtype.itemsize == 4):
            found = getattr(x, "dtype", type(x).__name__)
            raise TypeError(f"{name} must be a NumPy or MLX array of uint32, got {found}")
        if ndim is not None and len(x.shape) not in ndim:
            raise ValueError(f"{name} must have {' or '.join(map(str, ndim))} axes, got shape {tuple(x.shape)}")
        if last is not None and (not x.shape or x.shape[-1] != last):
            raise ValueError(f"{name} must have a last axis of length {last}, got shape {tuple(x.shape)}")

    def pair(self, a, b, *, last: int | None = None):
        """Two arguments of one elementwise operation, broadcast to one shape."""
        a, b = self.enter("a", a, last=last), self.enter("b", b, last=last)
        if tuple(a.shape) != tuple(b.shape):
            xp = self.device.array_module
            try:
                shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
            except ValueError:
                raise ValueError(f"a and b must have shapes that broadcast, got {a.shape} and {b.shape}") from None
            a, b = xp.broadcast_to(a, shape), xp.broadcast_to(b, shape)
        return a, b

    def leave(self, x):
        """A result of the device as the kind of array that came in."""
        if is_mlx(x):
            return x if self._mlx else np.array(x)
        if self._mlx:
            import mlx.core as mx

            return mx.array(np.ascontiguousarray(x), dtype=mx.uint32).reshape(x.shape)
        return x
