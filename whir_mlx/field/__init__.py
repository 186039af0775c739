"""BabyBear and its quartic extension: constants, NumPy arithmetic, and the array API on NumPy and MLX arrays.

The array API (`add`, `mul`, `ntt`, `poseidon2`, `merkle_commit`, `Transcript`, ...) sits on the kernels, which need
this package's constants; so it is loaded when one of its names is first asked for.
"""

import importlib

from whir_mlx.field.constants import EXT_DEGREE, EXT_W, TWO_ADICITY, P, two_adic_generator

_API = {
    "arrays": (
        "add", "evaluate", "ext_add", "ext_inverse", "ext_mul", "ext_sub", "from_montgomery", "inverse", "mul", "sub",
        "sum", "to_montgomery",
    ),
    "hashing": ("compress", "hash_rows", "intt", "ntt", "poseidon2"),
    "merkle": ("MerkleTree", "merkle_commit", "merkle_open", "merkle_verify"),
    "transcript": ("Transcript",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _API.items() for name in names}

__all__ = ["EXT_DEGREE", "EXT_W", "TWO_ADICITY", "P", "two_adic_generator", *sorted(_MODULE_OF)]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_MODULE_OF})
