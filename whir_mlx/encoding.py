"""Field elements from the bits of other data, exactly: floats, wide integers, bools.

Every element of the data becomes its little-endian bytes in 16-bit limbs (one limb for types of one or two bytes), each
below p, so nothing is rounded and `decode_bits` gives the data back bit for bit: NaNs, signed zeros and all.
"""

from __future__ import annotations

import numpy as np

from whir_mlx.inputs import canonical_array, is_mlx

__all__ = ["decode_bits", "encode_bits"]

LIMB_BITS = 16

_WORDS = (1, 2, 4, 8)
# By dtype kind, the sizes without padding bytes. "V" of two bytes is bfloat16, which NumPy itself has no name for.
_SIZES = {"b": (1,), "i": _WORDS, "u": _WORDS, "f": _WORDS, "c": (8, 16), "V": (2,)}


def encode_bits(x) -> np.ndarray:
    """The bits of `x` as 16-bit limbs: (size * limbs,) uint32, canonical, C order, the lowest limb of an element first.

    x: a NumPy or MLX array of any bool, integer, float or complex dtype, bfloat16 included, of at
    most 64 bits (complex: 128); limbs is half its bytes, at least 1. Raises
    TypeError for other dtypes.

        >>> encode_bits(np.array([1.0], np.float32))
        array([    0, 16256], dtype=uint32)
    """
    if is_mlx(x):
        x = _mlx_bits(x)
    array = np.asarray(x)
    size = array.dtype.itemsize
    if size not in _SIZES.get(array.dtype.kind, ()):
        raise TypeError(f"x must be an array of bools, integers or floats of at most 64 bits, got dtype {array.dtype}")
    if array.dtype.kind != "V":
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view("<u1" if size == 1 else "<u2").astype(np.uint32)


def decode_bits(limbs, dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The inverse of `encode_bits`: an array of `dtype` and `shape` from its limbs (limbs after the last are ignored).

    Raises ValueError where there are too few limbs or one is too large for the dtype.
    """
    dtype = np.dtype(dtype)
    words = canonical_array("limbs", limbs).reshape(-1)
    limb_bits = min(LIMB_BITS, 8 * dtype.itemsize)
    count = int(np.prod(shape)) * max(1, dtype.itemsize // 2)
    if len(words) < count:
        raise ValueError(f"an array of {dtype} of shape {tuple(shape)} has {count} limbs, got {len(words)}")
    words = words[:count]
    if count and int(words.max()) >> limb_bits:
        raise ValueError(f"limbs must be below 2^{limb_bits}, got {int(words.max())}")
    return words.astype(f"<u{limb_bits // 8}").view(dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def _mlx_bits(x):
    import mlx.core as mx

    return np.array(mx.view(x, mx.uint16)) if x.dtype == mx.bfloat16 else np.array(x)
