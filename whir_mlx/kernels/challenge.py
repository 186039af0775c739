"""One step of the Fiat-Shamir transcript on the device (`challenge.metal`)."""

from __future__ import annotations

import struct
import threading
from functools import lru_cache

import numpy as np

from ..field.constants import MONTY_ONE, P
from ..field.poseidon2_constants import diagonal, external_final, external_initial, internal
from .device import Device
from .operation import check_shape, operation, product

MAX_INDEX_BITS = 27


def table_words() -> list[int]:
    """Constants of the cooperative permutation, see challenger.h: (157,) Montgomery words."""
    rows = [*external_initial(16), *external_final(16), diagonal(16), internal(16)]
    return [word % P * MONTY_ONE % P for row in rows for word in row]


@lru_cache(maxsize=8)
def _tables(device: Device):
    words = device.asarray(np.array(table_words(), np.uint32))
    device.evaluate(words)
    return words


class _FixedBuffers(threading.local):
    """Where the step runs on the host at once (`Device.bind`): its buffers, one set a thread, and the bound launch.

    A proof takes some 60 steps of a few permutations, and packing a launch anew would cost as much as the step.
    """

    SIZE = struct.Struct("=8I")
    LIMITS = (4096, 1024, 64, 1024)  # words absorbed, words of shares, samples, indices

    def __init__(self, device: Device):
        self.size = np.zeros(8, np.uint32)
        self.state = np.zeros(26, np.uint32)
        self.words, self.shares, self.samples, self.indices = (np.zeros(n, np.uint32) for n in self.LIMITS)
        self.new_state = np.zeros(26, np.uint32)
        self.message = np.zeros(8, np.uint32)
        buffers = [self.size, _tables(device), self.state, self.words, self.words, self.words, self.shares]
        buffers += [self.new_state, self.samples, self.indices, self.message]
        self.run = device.bind("challenge", buffers, grid=(device.simd_width, 1, 1), lanes=device.simd_width)
        self._packed_size = memoryview(self.size).cast("B")

    def step(self, state, segments: list, shares, numbers: tuple[int, ...]) -> tuple | None:
        """New state, samples, indices and message; None where the step does not fit.

        numbers: samples, indices, index bits, and the shares' shape.
        """
        num_samples, num_indices = numbers[:2]
        if num_samples > len(self.samples) or num_indices > len(self.indices):
            return None
        end = 0
        for segment in segments:
            start, end = end, end + segment.size
            if end > len(self.words):
                return None
            self.words[start:end] = segment.reshape(-1)
        if shares is not None:
            if shares.size > len(self.shares):
                return None
            self.shares[: shares.size] = shares.reshape(-1)
        self.state[:] = state
        self.SIZE.pack_into(self._packed_size, 0, end, 0, 0, *numbers)
        self.run()
        samples = self.samples[:num_samples].copy() if num_samples else _NOTHING
        indices = self.indices[:num_indices].copy() if num_indices else _NOTHING
        return self.new_state.copy(), samples, indices, _NOTHING if shares is None else self.message.copy()


_NOTHING = np.zeros(0, np.uint32)
_NOTHING.setflags(write=False)


@lru_cache(maxsize=8)
def _fixed(device: Device) -> _FixedBuffers:
    return _FixedBuffers(device)


@operation
def challenge(device: Device, state, segments: list, *, num_samples: int, num_indices: int = 0, index_bits: int = 0):
    """Absorb, then sample field elements, then draw indices.

    state: (26,) uint32, see docs/architecture.md; segments: 1 to 3 arrays of Montgomery words, absorbed in order.
    Returns the new state (26,), samples (num_samples,) Montgomery words, indices (num_indices,) plain integers below
    2^index_bits (uniform: the one biased sample, p - 1, is drawn again; 0 bits draw nothing and give zeros).
    Raises ValueError for more segments or index_bits > 27. Source: p3-challenger 0.8.0 (`duplex_challenger.rs`).
    """
    return _step(device, state, segments, None, num_samples, num_indices, index_bits)[:3]


@operation
def challenge_shares(device: Device, state, segments: list, shares, *, num_samples: int):
    """As `challenge`, but after the segments absorbs the sum of `shares`, (P, W) Montgomery words with W <= 8 words a
    share.

    Returns the new state, the samples, and that sum, (W,). Adding up here saves a reduction its last launch.
    """
    check_shape("shares", shares.shape, ndim=2)
    if shares.shape[0] < 1 or not 1 <= shares.shape[1] <= 8:
        raise ValueError(f"shares must be (P, W) with P >= 1 and W in 1..8, got {tuple(shares.shape)}")
    state, samples, _, message = _step(device, state, segments, shares, num_samples, 0, 0)
    return state, samples, message[: shares.shape[1]]


def _step(device: Device, state, segments: list, shares, num_samples: int, num_indices: int, index_bits: int):
    check_shape("state", state.shape, ndim=1, last=26)
    if not 1 <= len(segments) <= 3:
        raise ValueError(f"segments must be 1 to 3 arrays, got {len(segments)}")
    if not 0 <= index_bits <= MAX_INDEX_BITS:
        raise ValueError(f"index_bits must be in 0..{MAX_INDEX_BITS}, got {index_bits}")
    drawn = num_indices if index_bits else 0
    added = (0, 0) if shares is None else shares.shape
    fixed = _fixed(device)
    outputs = fixed.step(state, segments, shares, (num_samples, drawn, index_bits, *added)) if fixed.run else None
    if outputs is None:
        sizes = [product(x.shape) for x in segments]
        runs = [x if n else state for x, n in zip(segments, sizes)]
        while len(runs) < 3:
            runs.append(state)
            sizes.append(0)
        outputs = device.launch(
            "challenge",
            (*sizes, num_samples, drawn, index_bits, *added),
            [_tables(device), state, *runs, state if shares is None else shares],
            [(26,), (max(1, num_samples),), (max(1, drawn),), (8,)],
            grid=(device.simd_width, 1, 1),
            group=(device.simd_width, 1, 1),
            lanes=device.simd_width,
        )
    new_state, samples, indices, message = outputs
    if num_indices and not drawn:
        indices = device.asarray(np.zeros(num_indices, np.uint32))
    samples = samples if num_samples else samples[:0]
    return new_state, samples, indices if num_indices else indices[:0], message
