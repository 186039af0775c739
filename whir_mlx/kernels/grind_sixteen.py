"""One window of a grind by sixteen lanes a candidate: quick where few candidates do (`grind_sixteen.metal`)."""

from __future__ import annotations

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation, product
from .poseidon2 import PERMUTATION_COST

LANES = 16
WORK = 3
"""A candidate's work, in permutations by one thread."""

# Where a window that absorbs a message has the new state, and what it found; the message comes first.
_STATE, _FOUND = 8, 34


@operation
def grind_sixteen(device: Device, state, previous, *, bits: int, start: int, candidates: int, tries: int):
    """The largest ~w of all witnesses w in start .. start + candidates * tries - 1; `previous` where it is not 0.

    state: (26,) uint32 transcript state; previous: (1,) or more words, the first of them the answer for the windows
    before, or 0; bits in 1..30; candidates of a step: a power of two, at least a SIMD group's; a witness is below p.
    Returns (1,) uint32, 0 where there is none. Raises ValueError for other shapes and numbers. Source: p3-challenger
    0.8.0 (`grinding_challenger.rs`).
    """
    return _launch(device, state, previous, None, (candidates, bits, start, tries))


@operation
def grind_sixteen_shares(
    device: Device, state, previous, shares, *, bits: int, start: int, candidates: int, tries: int
):
    """`challenge_shares` of the shares alone, then `grind_sixteen` from there.

    state: with nothing buffered, as just after a draw (this is not looked at); shares: (P, ...) Montgomery words, P >=
    1, 8 of them a share. Returns the new state (26,), an array whose first 8 words are the sum, and `grind_sixteen`'s
    answer.
    """
    if shares.shape[0] < 1 or product(shares.shape[1:]) != 8:
        raise ValueError(f"shares must be one or more of 8 words each, got {tuple(shares.shape)}")
    out = _launch(device, state, previous, shares, (candidates, bits, start, tries))
    return out[_STATE:_FOUND], out, out[_FOUND:]


def _launch(device: Device, state, previous, shares, window: tuple[int, int, int, int]):
    candidates, bits, start, tries = window
    check_shape("state", state.shape, ndim=1, last=26)
    least = device.simd_width // LANES
    if product(previous.shape) < 1:
        raise ValueError("previous must have at least one word, got none")
    if not 1 <= bits <= 30:
        raise ValueError(f"bits must be in 1..30, got {bits}")
    if candidates < least or candidates & (candidates - 1):
        raise ValueError(f"candidates must be a power of two of at least {least}, got {candidates}")
    if start < 0 or tries < 1 or start + candidates * tries >= 1 << 31:
        raise ValueError(f"candidates must be below 2^31, got {tries} times {candidates} from {start}")
    # One group a core: a group reads once a step what others have found.
    tuning = device.tuning
    each = least
    if tuning.cooperative_groups:
        each = max(least, min(candidates // tuning.cooperative_groups, tuning.tree_threads // LANES))
    (found,) = device.launch(
        "grind_sixteen",
        (*window, 0 if shares is None else shares.shape[0]),
        [tables(device), state, previous, state if shares is None else shares],
        [(1,) if shares is None else (_FOUND + 1,)],
        groups=(candidates // each, 1, 1),
        group=(LANES * each, 1, 1),
        lanes=device.simd_width,
        cost=WORK * PERMUTATION_COST[16] * min(1 << bits, candidates * tries),
    )
    return found
