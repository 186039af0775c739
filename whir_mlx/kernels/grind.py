"""Proof-of-work grinding: the smallest witness (`grind.metal`)."""

from __future__ import annotations

import numpy as np

from ..errors import WhirError
from ..field.constants import P
from .device import Device
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST

MAX_GRINDING_BITS = 30
_TRIES = 4
_NONE = 0xFFFFFFFF


@operation
def grind(device: Device, state, *, bits: int):
    """The smallest w such that, after absorbing w, the low `bits` bits of the next canonical sample are 0.

    state: (26,) uint32 transcript state; bits in 0..30. Returns (1,) uint32, **canonical**; 0 for 0 bits. The state is not
    changed: the caller absorbs the witness and draws the sample. Raises ValueError for other bits and WhirError if no
    word below p will do. Source: p3-challenger 0.8.0 (`grinding_challenger.rs`).
    """
    check_shape("state", state.shape, ndim=1, last=26)
    if not 0 <= bits <= MAX_GRINDING_BITS:
        raise ValueError(f"bits must be in 0..{MAX_GRINDING_BITS}, got {bits}")
    if bits == 0:
        return device.asarray(np.zeros(1, np.uint32))
    return _grind_lazily(device, state, bits) if device.lazy else _grind_eagerly(device, state, bits)


def _window(device: Device, state, previous, bits: int, start: int, threads: int):
    return device.launch(
        "grind",
        (threads, bits, start),
        [state, previous],
        [(threads,)],
        grid=(threads, 1, 1),
        values={"WIDTH": 16, "TRIES": _TRIES},
        cost=PERMUTATION_COST[16] * threads * _TRIES,
    )[0]


def _grind_eagerly(device: Device, state, bits: int):
    """Windows one after the other until one holds a witness; a quarter of the expected search each."""
    none = np.array([_NONE], np.uint32)
    threads = min(max(1 << bits >> 2, 64), 1 << 14) // _TRIES
    start = 0
    while start < P:
        found = int(device.numpy(_window(device, state, none, bits, start, threads)).min())
        if found != _NONE:
            return device.asarray(np.array([found], np.uint32))
        start += threads * _TRIES
    raise WhirError(f"no grinding witness of {bits} bits exists for this transcript")


def _grind_lazily(device: Device, state, bits: int):
    """A fixed chain of windows: each looks at what the ones before found and has nothing to do after a hit.

    The windows reach 32 * 2^bits candidates: all miss once in e^32 proofs, and the result then is no witness, which the
    host sees when it checks what it read.
    """
    import mlx.core as mx

    found = device.asarray(np.array([_NONE], np.uint32))
    start = 0
    size = max(1 << bits >> 1, 1 << 10)
    reach = min(32 << bits, P)
    while start < reach:
        # 2^21 permutations a dispatch stay under 100 ms on the smallest Apple GPU.
        threads = min(size, 1 << 21) // _TRIES
        window = _window(device, state, found, bits, start, threads)
        found = mx.minimum(found, mx.min(window, keepdims=True))
        start += threads * _TRIES
        size *= 2
    return found
