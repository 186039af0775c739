"""Proof-of-work grinding: the smallest witness (`grind.metal`)."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from ..errors import WhirError
from ..field.constants import P
from .challenge import challenge_shares
from .device import Device
from .grind_sixteen import WORK, grind_sixteen, grind_sixteen_shares
from .operation import check_shape, operation
from .poseidon2 import PERMUTATION_COST

MAX_GRINDING_BITS = 30
"""2^bits must stay below p."""
_FIRST_STEP = 8
"""Candidates of the first step of a cooperative search, as a multiple of the expected number."""
_SEARCH_GROUPS, _LEAST_GROUP, _MOST_GROUP = 128, 128, 1024
"""Groups of a search by single threads, unless they would be of fewer or more threads than the others say."""


@operation
def grind(device: Device, state, *, bits: int):
    """The smallest w such that, after absorbing w, the low `bits` bits of the next canonical sample are 0.

    state: (26,) uint32 transcript state; bits in 0..30. Returns (1,) uint32, **canonical**; 0 for 0 bits. The state
    is not changed: the caller absorbs the witness and draws the sample. Raises ValueError for other bits and
    WhirError if no word below p will do (where nothing can be read yet: returns a word above p). Source: p3-challenger
    0.8.0 (`grinding_challenger.rs`).
    """
    return witness_of(device, grind_found(device, state, bits=bits))


def witness_of(device: Device, found):
    """The witness, (1,) canonical, that `grind_found` found."""
    # ~found, in a form that MLX can export.
    return device.asarray(np.array([0xFFFFFFFF], np.uint32)) - found


@operation
def grind_found(device: Device, state, *, bits: int):
    """The complement of what `grind` returns, (1,): the form in which a search keeps a witness and `challenge_grind`
    takes it."""
    return _search(device, state, bits)[2]


@operation
def grind_shares(device: Device, state, shares, *, bits: int):
    """Absorbs the sum of shares, (P, 2, 4), and grinds, in one launch where sixteen lanes search.

    state: (26,) with nothing buffered, as just after a draw (this is not looked at); bits in 1..30. Returns the new
    state, an array whose first 8 words are the sum, and (1,), what `grind_found` gives.
    """
    if not 0 < bits <= device.tuning.cooperative_bits:
        state, _, message = challenge_shares(device, state, state[:0], shares, [], num_samples=0)
        return state, message, grind_found(device, state, bits=bits)
    return _search(device, state, bits, shares)


def _search(device: Device, state, bits: int, shares=None) -> tuple:
    """State, message and find; without shares the state as it is, and no message."""
    check_shape("state", state.shape, ndim=1, last=26)
    if not 0 <= bits <= MAX_GRINDING_BITS:
        raise ValueError(f"bits must be in 0..{MAX_GRINDING_BITS}, got {bits}")
    if bits == 0:
        return state, None, device.asarray(np.array([0xFFFFFFFF], np.uint32))
    # A lazy search cannot be asked whether it found something: it is given a multiple of the expected candidates.
    tuning = device.tuning
    reach = min(tuning.search_reach << bits, P) if device.lazy else P
    if bits <= tuning.cooperative_bits:
        # The first step misses once in e^8 times, unless so many candidates would not run at once.
        step, work = min(_FIRST_STEP << bits, tuning.cooperative_candidates), WORK
        window = partial(grind_sixteen, device, bits=bits, candidates=step)
    else:
        cost = PERMUTATION_COST[16] * (1 << bits)
        step, group = _shape(device, bits, cost)
        work, window = 1, partial(_window, device, bits=bits, threads=step, group=group, cost=cost)
    tries = -(-reach // step)
    most = max(1, tuning.window_permutations // work // step) if device.lazy and tuning.window_permutations else tries
    found, message = _none_known(device), None
    for first in range(0, tries, most):
        at = {"start": first * step, "tries": min(most, tries - first)}
        if shares is not None and not first:
            state, message, found = grind_sixteen_shares(device, state, found, shares, bits=bits, candidates=step, **at)
        else:
            found = window(state, found, **at)
    # ~0 is no word below p: a search without a hit shows as one.
    if not (device.lazy or device.recording) and int(witness_of(device, found)[0]) >= P:
        raise WhirError(f"no grinding witness of {bits} bits exists for this transcript")
    return state, message, found


def _window(device: Device, state, previous, *, bits: int, start: int, tries: int, threads: int, group: int, cost):
    """`grind_sixteen` with a thread a candidate."""
    (found,) = device.launch(
        "grind",
        (threads, bits, start, tries),
        [state, previous],
        [(1,)],
        groups=(threads // group, 1, 1),
        group=(group, 1, 1),
        values={"WIDTH": 16},
        cost=cost,
    )
    return found


@lru_cache(maxsize=8)
def _none_known(device: Device):
    """(4,) zeros, kept: one alone MLX's CUDA back-end would keep with the host, across the bus (`targets.gpu`)."""
    return device.asarray(np.zeros(4, np.uint32))


def _shape(device: Device, bits: int, cost: float) -> tuple[int, int]:
    """Threads of the search, and of a group."""
    least, most = device.tuning.search_threads
    if not most:
        return device.threads_for(cost) * device.vector_lanes, device.vector_lanes
    threads = min(max(1 << bits >> 1, least), most)
    # Few threads are spread over all cores. Many are one group a core of an H200 and keep step: as four groups a core
    # they drift apart, and the first ones search two or three steps in vain (20 bits, 12 states: 379 us against 250).
    return threads, min(_MOST_GROUP, max(_LEAST_GROUP, threads // _SEARCH_GROUPS))
