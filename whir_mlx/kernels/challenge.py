"""One step of the Fiat-Shamir transcript on the device (`challenge.metal`)."""

from __future__ import annotations

import struct
import threading
from functools import lru_cache

import numpy as np

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation, product

MAX_INDEX_BITS = 27
"""Up to 27 bits a uniform draw takes one sample (and p - 1 is the one value drawn again)."""
# Where a step's result has its message and its samples, after which the indices come; the state comes first.
MESSAGE, SAMPLES = 28, 36
MAX_ABSORBED = 1 << 30  # the kernel counts them, and what is buffered, in one `int`


class _FixedBuffers(threading.local):
    """Where the step runs on the host at once (`Device.bind`): its buffers, one set a thread, and the bound launch.

    A proof takes some 60 steps of a few permutations, and packing a launch anew would cost as much as the step.
    """

    SIZE = struct.Struct("=10I")
    LIMITS = (4096, 1024, 64, 1024)  # words absorbed before or after the shares, of shares, samples, indices

    def __init__(self, device: Device):
        self.size = np.zeros(10, np.uint32)
        self.state = np.zeros(26, np.uint32)
        self.words, self.shares = (np.zeros(n, np.uint32) for n in self.LIMITS[:2])
        self.late = np.zeros_like(self.words)
        self.out = np.zeros(SAMPLES + sum(self.LIMITS[2:]), np.uint32)
        buffers = [self.size, tables(device), self.state, self.words, self.late, self.late, self.shares]
        buffers.append(self.out)
        self.run = device.bind("challenge", buffers, grid=(device.simd_width, 1, 1), lanes=device.simd_width)
        self._packed_size = memoryview(self.size).cast("B")

    def step(self, state, segments: list, shares, numbers: tuple[int, ...]) -> tuple | None:
        """New state, samples, indices and message; None where the step does not fit.

        segments: all absorbed, the first before the shares where there are any. numbers: samples, indices, index bits,
        the shares' count and words, samples after the indices, whether the segment is what a grind found.
        """
        num_samples, num_indices = numbers[0] + numbers[5], numbers[1]
        if num_samples > self.LIMITS[2] or num_indices > self.LIMITS[3]:
            return None
        before = len(segments) if shares is None else 1
        early = _fill(self.words, segments[:before])
        late = _fill(self.late, segments[before:])
        if early is None or late is None:
            return None
        if shares is not None:
            if shares.size > len(self.shares):
                return None
            self.shares[: shares.size] = shares.reshape(-1)
        self.state[:] = state
        self.SIZE.pack_into(self._packed_size, 0, early, late, 0, *numbers)
        self.run()
        return _parts(self.out[: SAMPLES + num_samples + num_indices].copy(), num_samples)


def _fill(buffer: np.ndarray, segments: list) -> int | None:
    """Puts the segments into `buffer`, one after the other; the words taken, None where they do not fit."""
    end = 0
    for segment in segments:
        start, end = end, end + segment.size
        if end > len(buffer):
            return None
        buffer[start:end] = segment.reshape(-1)
    return end


def _parts(out, num_samples: int) -> tuple:
    """State, samples, indices and message of a step: views, of which those that nobody uses cost a graph nothing."""
    indices = SAMPLES + num_samples
    return out[:26], out[SAMPLES:indices], out[indices:], out[MESSAGE:SAMPLES]


@lru_cache(maxsize=8)
def _fixed(device: Device) -> _FixedBuffers:
    return _FixedBuffers(device)


@operation
def challenge(
    device: Device,
    state,
    segments: list,
    *,
    num_samples: int,
    num_indices: int = 0,
    index_bits: int = 0,
    num_after: int = 0,
):
    """Absorb, then sample field elements, then draw indices, then sample again.

    state: (26,) uint32, see docs/architecture.md; segments: 1 to 3 arrays of Montgomery words, absorbed in order.
    Returns the new state (26,), samples (num_samples + num_after,) Montgomery words, indices (num_indices,) plain
    integers below 2^index_bits (uniform: the one biased sample, p - 1, is drawn again; 0 bits draw nothing and give
    zeros). Raises ValueError for more segments or index_bits > 27. Source: p3-challenger 0.8.0
    (`duplex_challenger.rs`).
    """
    if not 1 <= len(segments) <= 3:
        raise ValueError(f"segments must be 1 to 3 arrays, got {len(segments)}")
    return _drawn(device, state, segments, num_samples, num_indices, index_bits, num_after)[:3]


@operation
def challenge_grind(
    device: Device,
    state,
    found,
    *,
    num_samples: int,
    num_indices: int = 0,
    index_bits: int = 0,
    num_after: int = 0,
):
    """As `challenge`, absorbing the witness that a grind found and first drawing the sample that decides about it.

    found: (1,), what `grind_found` gave. Returns the new state, samples and indices of `challenge`, and (8,): the
    witness, then that sample, both canonical, then zeros. Source: p3-challenger 0.8.0 (`grinding_challenger.rs`).
    """
    check_shape("found", found.shape, ndim=1, last=1)
    return _drawn(device, state, [found], num_samples, num_indices, index_bits, num_after, ground=True)


def _drawn(device: Device, state, segments: list, samples: int, num_indices: int, index_bits: int, after: int, **rest):
    if not 0 <= index_bits <= MAX_INDEX_BITS:
        raise ValueError(f"index_bits must be in 0..{MAX_INDEX_BITS}, got {index_bits}")
    drawn = num_indices if index_bits else 0
    state, samples, indices, message = _step(device, state, segments, None, samples, drawn, index_bits, after, **rest)
    if num_indices and not drawn:
        indices = device.asarray(np.zeros(num_indices, np.uint32))
    return state, samples, indices, message


@operation
def challenge_shares(device: Device, state, before, shares, after: list, *, num_samples: int):
    """As `challenge`, absorbing `before`, then the sum of `shares`, then `after`.

    shares: (P, ...) Montgomery words, P >= 1, W in 1..8 of them a share; before: an array; after: 0 to 2 arrays.
    Returns the new state, the samples, and (8,): the sum's W words, then zeros. Adding up here saves a reduction its
    last launch.
    """
    if len(shares.shape) < 2 or shares.shape[0] < 1 or not 1 <= product(shares.shape[1:]) <= 8:
        raise ValueError(f"shares must be one or more of 1 to 8 words each, got {tuple(shares.shape)}")
    if len(after) > 2:
        raise ValueError(f"after must be at most 2 arrays, got {len(after)}")
    state, samples, _, message = _step(device, state, [before, *after], shares, num_samples, 0, 0)
    return state, samples, message


def _step(device, state, segments: list, shares, samples: int, indices: int, index_bits: int, after=0, ground=False):
    check_shape("state", state.shape, ndim=1, last=26)
    if min(samples, indices, after) < 0:
        raise ValueError(f"samples and indices must be at least 0, got {samples}, {indices} and {after}")
    added = (0, 0) if shares is None else (shares.shape[0], product(shares.shape[1:]))
    fixed = _fixed(device)
    numbers = (samples, indices, index_bits, *added, after, int(ground))
    outputs = fixed.step(state, segments, shares, numbers) if fixed.run and not device.recording else None
    if outputs is not None:
        return outputs
    sizes = [product(x.shape) for x in segments]
    if sum(sizes) >= MAX_ABSORBED:
        raise ValueError(f"segments must hold fewer than 2^30 words together, got {sum(sizes)}")
    runs = [x if n else state for x, n in zip(segments, sizes)]
    while len(runs) < 3:
        runs.append(state)
        sizes.append(0)
    (out,) = device.launch(
        "challenge",
        (*sizes, *numbers),
        [tables(device), state, *runs, state if shares is None else shares],
        [(SAMPLES + samples + after + indices,)],
        grid=(device.simd_width, 1, 1),
        group=(device.simd_width, 1, 1),
        lanes=device.simd_width,
    )
    return _parts(out, samples + after)
