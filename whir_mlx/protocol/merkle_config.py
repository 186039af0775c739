"""The shape of the Merkle trees: arity, leaf sponge and cap height.

Source: p3-merkle-tree 0.8.0 (`merkle_tree.rs`, `mmcs/mod.rs`), p3-symmetric 0.8.0 (`sponge.rs`, `compression.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DIGEST_WIDTH", "TREE_NAMES", "TreeConfig", "tree_config"]

DIGEST_WIDTH = 8
"""Field elements in a digest."""

TREE_NAMES = ("w16", "w24", "ary4")
"""The named trees: (arity 2, leaf rate 8), (arity 2, leaf rate 16), (arity 4, leaf rate 8)."""

_NAMED = {"w16": (2, 8), "w24": (2, 16), "ary4": (4, 8)}


@dataclass(frozen=True)
class TreeConfig:
    """Arity 2 or 4, leaf sponge rate 8 (width 16) or 16 (width 24), cap height in layers below the root (>= 0).

    Raises `TypeError` or `ValueError` for anything else.
    """

    arity: int = 2
    leaf_rate: int = 8
    cap_height: int = 0

    def __post_init__(self):
        for name in ("arity", "leaf_rate", "cap_height"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be an int, got {value!r}")
        if self.arity not in (2, 4):
            raise ValueError(f"arity must be 2 or 4, got {self.arity}")
        if self.leaf_rate not in (8, 16):
            raise ValueError(f"leaf_rate must be 8 or 16, got {self.leaf_rate}")
        if self.cap_height < 0:
            raise ValueError(f"cap_height must be at least 0, got {self.cap_height}")

    @property
    def name(self) -> str:
        """The tree's name where it has one (the cap height is not part of it), else ``"arity4-rate16"``."""
        for name, shape in _NAMED.items():
            if shape == (self.arity, self.leaf_rate):
                return name
        return f"arity{self.arity}-rate{self.leaf_rate}"

    def layer_lengths(self, height: int) -> tuple[int, ...]:
        """Padded lengths of the layers above `height` (a power of two) leaves, leaves first, the root's 1 last."""
        return _layer_lengths(self.arity, height)

    def cap_layer(self, height: int) -> int:
        """Index into `layer_lengths` of the layer that is the commitment of a tree of `height` leaves."""
        levels = len(self.layer_lengths(height)) - 1
        return levels - min(self.cap_height, levels)

    def cap_length(self, height: int) -> int:
        """Number of digests in the commitment: min(arity^c', padded layer length), c' the clipped cap height."""
        lengths = self.layer_lengths(height)
        layer = self.cap_layer(height)
        return min(self.arity ** (len(lengths) - 1 - layer), lengths[layer])


@lru_cache(maxsize=256)
def _layer_lengths(arity: int, height: int) -> tuple[int, ...]:
    lengths = [_padded(height, arity)]
    while lengths[-1] > 1:
        lengths.append(_padded(lengths[-1] // arity, arity))
    return tuple(lengths)


def _padded(length: int, arity: int) -> int:
    """A layer of more than one node is padded with zero digests to a multiple of the arity."""
    return length if length == 1 else -(-length // arity) * arity


def tree_config(name: str, cap_height: int = 0) -> TreeConfig:
    """The tree called `name` (one of `TREE_NAMES`). Raises `ValueError` for another name."""
    if name not in _NAMED:
        raise ValueError(f"tree must be one of {', '.join(TREE_NAMES)}, got {name!r}")
    arity, leaf_rate = _NAMED[name]
    return TreeConfig(arity, leaf_rate, cap_height)
