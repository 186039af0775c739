"""The Poseidon2 permutation at widths 16, 24 and 32."""

from functools import lru_cache

import numpy as np

from ...field import poseidon2_constants as constants
from ...field.constants import MONTY_ONE, P
from ...field.numpy_field import mont_reduce
from .check import require

__all__ = ["poseidon2"]

_P = np.uint64(P)

_BLOCK_WORDS = 2**16
"""Words permuted at a time: enough that some 900 NumPy calls a block cost little beside the work, few enough that the
temporaries (512 KiB each) stay near the core. Measured on a 2-core EPYC: 4.2 us a permutation of width 16, 8 us at
2^13 and at 2^18 words."""


def poseidon2(states: np.ndarray) -> np.ndarray:
    """The permutation of every row: (N, t) -> (N, t) Montgomery words, t in 16, 24, 32.

    Source: p3-poseidon2 0.8.0 (`external.rs`, `internal.rs`), p3-baby-bear 0.8.0 (`poseidon2.rs`).
    """
    fits = states.ndim == 2 and states.shape[1] in constants.WIDTHS
    require(fits, "states", "(N, t), t in 16, 24, 32", f"shape {states.shape}")
    count, width = states.shape
    out = np.empty((count, width), np.uint32)
    step = _BLOCK_WORDS // width
    for start in range(0, count, step):
        # Word i of all states lies together, so that rounds are whole-row operations.
        block = states[start : start + step].T.astype(np.uint64, order="C")
        out[start : start + step] = _permute(block).T
    return out


def _permute(s: np.ndarray) -> np.ndarray:
    """The permutation down the columns of s, (t, N) `uint64` words below p -> the same."""
    initial, internal, final, diagonal = _tables(len(s))
    s = _external(s, initial[0])
    for following in (*initial[1:], np.uint64(0)):
        s = _external(_seventh_power(s), following)
    for constant in internal:
        s[0] = _mod_p(_seventh_power(_mod_p(s[0] + constant)))
        total = _mod_p(s.sum(axis=0))
        # Words stay below 1.9 p: the product is then below 1.9 p^2, its reduction below 0.9 p + p, the sum below 2.9 p.
        s = mont_reduce(s * diagonal, canonical=False)
        s += total
        s = np.minimum(s, s - _P)
    s = _mod_p(s + final[0])
    for following in (*final[1:], np.uint64(0)):
        s = _external(_seventh_power(s), following)
    return s


def _external(s: np.ndarray, constants_after: np.ndarray) -> np.ndarray:
    """The external layer, then the addition of the next round's constants; s below 2^35 -> below p.

    The layer is M4 on each group of four words, then the sum of the groups added to each of them.
    """
    groups = s.reshape(len(s) // 4, 4, -1)
    # M4 = circulant [2 3 1 1]: the group's sum, plus the word itself, plus twice its successor.
    mixed = groups + groups.sum(axis=1, keepdims=True)
    for k in range(4):
        successor = groups[:, (k + 1) % 4]
        mixed[:, k] += successor
        mixed[:, k] += successor
    mixed += mixed.sum(axis=0)
    mixed = mixed.reshape(s.shape)
    mixed += constants_after
    return _mod_p(mixed)


def _mod_p(x: np.ndarray) -> np.ndarray:
    """x mod p for any `uint64` x; NumPy vectorises the division by a scalar but not the remainder."""
    quotient = x // _P
    quotient *= _P
    return x - quotient


def _seventh_power(x: np.ndarray) -> np.ndarray:
    """x^7 for x below p; the result, congruent to it, is below 1.8 p."""
    x2 = mont_reduce(x * x, canonical=False)  # < 0.47 p + p
    x3 = mont_reduce(x2 * x, canonical=False)  # < 0.69 p + p
    x4 = mont_reduce(x2 * x2)  # its input is below 2.2 p^2; < p
    return mont_reduce(x3 * x4, canonical=False)  # < 0.8 p + p


@lru_cache(maxsize=3)
def _tables(width: int) -> tuple[np.ndarray, ...]:
    """Constants as Montgomery words in `uint64`: (4, t, 1), (partial rounds,), (4, t, 1), (t, 1)."""
    tables = (
        constants.external_initial(width),
        constants.internal(width),
        constants.external_final(width),
        constants.diagonal(width),
    )
    initial, internal, final, diagonal = (np.array(t, np.uint64) * np.uint64(MONTY_ONE) % _P for t in tables)
    return initial[..., None], internal, final[..., None], diagonal[:, None]
