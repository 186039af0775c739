"""What users hand in, checked once at the edge: arrays of canonical field elements as C-contiguous ``uint32``.

NumPy arrays of any integer dtype, order, stride and byte order, MLX integer arrays, and (nested) lists of Python
integers are taken; nothing is rounded, reduced mod p or reinterpreted. Floats and bools are refused: `encode_bits`
turns them into field elements exactly.
"""

from __future__ import annotations

import sys

import numpy as np

from whir_mlx.field.constants import P

__all__ = ["canonical_array", "integer_array", "is_mlx", "shown_index"]

_RULE = f"must hold integers in 0..{P - 1}"


def is_mlx(x: object) -> bool:
    """Whether `x` is an MLX array. Never imports MLX: without it there is no such array."""
    core = sys.modules.get("mlx.core")
    return core is not None and isinstance(x, core.array)


def canonical_array(name: str, x: object) -> np.ndarray:
    """`x` as a C-contiguous uint32 array with all entries in 0..p-1, its shape kept.

    Raises TypeError for anything but integers and ValueError for an integer out of range, naming `name`, the rule, the
    first bad entry and its index. The result may share memory with a C-contiguous uint32 `x`.
    """
    array = integer_array(name, x)
    if array.dtype == object:
        _refuse_out_of_range(name, array)
    elif array.size:
        lowest = int(array.min()) if array.dtype.kind == "i" else 0
        if lowest < 0 or int(array.max()) >= P:
            _refuse_out_of_range(name, array)
    return np.ascontiguousarray(array, dtype=np.uint32).reshape(array.shape)


def integer_array(name: str, x: object) -> np.ndarray:
    """`x` as a NumPy array of integers (dtype object where it came as Python integers). Raises TypeError otherwise."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} {_RULE}, got a masked array")
    if is_mlx(x):
        return _from_mlx(name, x)
    if isinstance(x, (list, tuple, int)):
        return _from_python(name, x)
    array = np.asarray(x)
    if array.dtype == object:
        return _from_python(name, array)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} {_RULE}, got dtype {array.dtype}{_hint(array.dtype.kind)}")
    return array


def _from_mlx(name: str, x) -> np.ndarray:
    # Asked first: NumPy has no bfloat16 and would fail with words of its own.
    dtype = str(x.dtype).removeprefix("mlx.core.")
    if not dtype.startswith(("int", "uint")):
        raise TypeError(f"{name} {_RULE}, got an MLX array of {dtype}{_hint('f' if 'float' in dtype else '')}")
    return np.array(x)


def _from_python(name: str, x: object) -> np.ndarray:
    """Python integers stay what they are: NumPy's guess of a dtype would turn large ones into floats."""
    try:
        array = np.array(x, dtype=object)
    except ValueError as error:
        raise ValueError(f"{name} must be a regular array, got a ragged sequence") from error
    for i, value in np.ndenumerate(array):
        if isinstance(value, (list, tuple)):
            raise ValueError(f"{name} must be a regular array, got a ragged sequence at {shown_index(i)}")
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            what = f"{type(value).__name__} {value!r}"[:60]
            raise TypeError(f"{name} {_RULE}, got {what} at {shown_index(i)}")
    # An empty list has no values to be wrong.
    return array if array.size else array.astype(np.uint32)


def _refuse_out_of_range(name: str, array: np.ndarray) -> None:
    bad = (array < 0) | (array >= P)
    if bad.any():
        index = np.unravel_index(int(bad.argmax()), bad.shape)
        raise ValueError(f"{name} {_RULE}, got {int(array[index])} at {shown_index(index)}")


def shown_index(index: tuple) -> str:
    """An index as users write it: [3] or [1, 5]."""
    return f"index [{', '.join(str(int(i)) for i in index)}]"


def _hint(kind: str) -> str:
    return "; encode_bits makes field elements of floats and bools exactly" if kind in ("f", "b", "V") else ""
