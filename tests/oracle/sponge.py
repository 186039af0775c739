"""Leaf hash (padding-free overwrite sponge) and the two compressions (p3-symmetric 0.8.0)."""

from .poseidon2 import permute

EMPTY = (0,) * 8
WIDTH_OF_RATE = {8: 16, 16: 24}


def hash_row(values: list, rate: int = 8) -> tuple:
    """A partial last block overwrites only its own words; an empty input gives zeros."""
    state = [0] * WIDTH_OF_RATE[rate]
    for start in range(0, len(values), rate):
        block = values[start : start + rate]
        state[: len(block)] = block
        state = permute(state)
    return tuple(state[:8])


def compress(children: list) -> tuple:
    """Two digests on width 16, four digests on width 32."""
    return tuple(permute([word for digest in children for word in digest])[:8])
