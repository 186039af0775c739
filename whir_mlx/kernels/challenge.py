"""One step of the Fiat-Shamir transcript on the device (`challenge.metal`)."""

from __future__ import annotations

import numpy as np

from .cooperative import tables
from .device import Device
from .operation import check_shape, operation, product

MAX_INDEX_BITS = 27
MAX_ABSORBED = 1 << 30  # the kernel counts them, and what is buffered, in one `int`


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
    sizes = [product(x.shape) for x in segments]
    if sum(sizes) >= MAX_ABSORBED:
        raise ValueError(f"segments must hold fewer than 2^30 words together, got {sum(sizes)}")
    runs = [x if n else state for x, n in zip(segments, sizes)]
    while len(runs) < 3:
        runs.append(state)
        sizes.append(0)
    drawn = num_indices if index_bits else 0
    new_state, samples, indices, message = device.launch(
        "challenge",
        (*sizes, num_samples, drawn, index_bits, *((0, 0) if shares is None else shares.shape)),
        [tables(device), state, *runs, state if shares is None else shares],
        [(26,), (max(1, num_samples),), (max(1, drawn),), (8,)],
        grid=(device.simd_width, 1, 1),
        group=(device.simd_width, 1, 1),
        lanes=device.simd_width,
    )
    if num_indices and not drawn:
        indices = device.asarray(np.zeros(num_indices, np.uint32))
    samples = samples if num_samples else samples[:0]
    return new_state, samples, indices if num_indices else indices[:0], message
