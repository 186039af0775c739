"""The Fiat-Shamir transcript: one duplex challenger shared by every sub-protocol, for the prover and the verifier.

What is observed is queued and goes to the sponge together with the next draw, so that a sub-protocol's seed, its
messages and its challenge are one launch of `challenge`. Nothing that the prover calls reads a value back.

Source: p3-challenger 0.8.0 (`duplex_challenger.rs`, `grinding_challenger.rs`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.kernels.challenge import challenge, challenge_shares
from whir_mlx.kernels.grind import grind
from whir_mlx.kernels.montgomery import to_montgomery

__all__ = ["MAX_GRINDING_BITS", "MAX_INDEX_BITS", "Transcript"]

MAX_GRINDING_BITS = 30
"""2^bits must stay below p."""

MAX_INDEX_BITS = 27
"""Up to 27 bits a uniform draw takes one sample (and p - 1 is the one value drawn again)."""

STATE_WORDS = 26
MAX_SEGMENTS = 3
MONTY_INV = pow(MONTY_ONE, -1, P)


class PendingSum:
    """A message that the transcript adds up as it absorbs it. shares: (P, W); value: (W,) once it is absorbed, else
    None."""

    def __init__(self, shares):
        self.shares = shares
        self.value = None


class Transcript:
    """A duplex challenger (width 16, rate 8) on `device`.

    `state`: (26,) words to go on from, as `state()` gave them; fresh without. `trace`, where a list is given,
    collects every operation; `steps` renders it.
    """

    def __init__(self, device, *, state=None, trace: list | None = None):
        self.device = device
        self._state = device.asarray(np.zeros(STATE_WORDS, dtype=np.uint32)) if state is None else state
        self._queue = []  # flat arrays of Montgomery words, not yet absorbed
        self._pending: PendingSum | None = None  # shares whose sum is absorbed after the queue
        self._skip = 0  # samples that a grind consumed and that are not yet drawn
        self._trace = trace

    def fork(self) -> Transcript:
        """A copy without the trace that goes its own way. This one stays as it is, so threads may share it."""
        copy = Transcript(self.device)
        copy._state, copy._queue, copy._skip = self._state, list(self._queue), self._skip
        copy._pending = self._pending
        return copy

    def observe(self, x) -> None:
        """Absorbs `x`, Montgomery words of any shape in C order: a device array or a NumPy uint32 array.

        A NumPy array may be written to afterwards. Raises `TypeError` for a NumPy array of another dtype.
        """
        if isinstance(x, np.ndarray):
            if x.dtype != np.uint32:
                raise TypeError(f"observed words must be uint32, got {x.dtype}")
            if x.flags.writeable:
                x = x.copy()  # it waits in the queue until the next draw
        count = math.prod(x.shape)
        if count == 0:
            return
        if self._skip or self._pending:
            self._launch(0)  # a consumed sample comes before what is observed after it, a pending sum as well
        flat = x.reshape(count)
        self._queue.append(flat)
        self._record("observe", flat)

    def observe_seed(self, elements) -> None:
        """Absorbs the seed of a sub-protocol: canonical elements, a sequence of integers or an integer array."""
        canonical = np.ascontiguousarray(elements, dtype=np.uint32)
        self.observe(_seed_words(self.device, canonical.tobytes()))

    def observe_shares(self, shares) -> PendingSum:
        """Absorbs the sum of `shares`, (P, W) Montgomery words on the device, W <= 8; it is known after the next draw
        or grind."""
        if self._skip or self._pending:
            self._launch(0)
        self._pending = PendingSum(shares)
        return self._pending

    def sample(self, count: int):
        """Draws `count` base elements: (count,) Montgomery words on the device."""
        samples, _ = self._launch(count)
        self._record("sample", samples)
        return samples

    def sample_ext(self):
        """Draws one extension element: (4,) Montgomery words on the device."""
        return self.sample(4)

    def sample_scalar(self) -> tuple[int, ...]:
        """Draws one extension element and reads it back: 4 canonical ints, the verifier's form of a challenge."""
        return tuple(word * MONTY_INV % P for word in self.device.numpy(self.sample_ext()).tolist())

    def sample_indices(self, bits: int, count: int):
        """Draws `count` uniform integers below 2^bits (0 <= bits <= 27): (count,) plain integers on the device.

        0 bits give zeros and draw nothing. Raises `ValueError` for other `bits`.
        """
        if not 0 <= bits <= MAX_INDEX_BITS:
            raise ValueError(f"index bits must be in 0..{MAX_INDEX_BITS}, got {bits}")
        if bits == 0 or count == 0:
            return self.device.asarray(np.zeros(count, dtype=np.uint32))
        _, indices = self._launch(0, count, bits)
        self._record("sample_uniform_bits", bits, indices)
        return indices

    def grind(self, bits: int):
        """Finds and absorbs the smallest witness of `bits` bits (0..30): (1,) canonical, on the device.

        0 bits give zero and leave the transcript as it is. Raises `ValueError` for other `bits`.
        """
        if self._no_grinding(bits):
            return self.device.asarray(np.zeros(1, dtype=np.uint32))
        if self._queue or self._skip or self._pending:
            self._launch(0)
        witness = grind(self.device, self._state, bits=bits)
        self._record("grind", bits, witness)
        self._queue.append(to_montgomery(self.device, witness))
        self._skip = 1  # the sample that met the difficulty is consumed
        return witness

    def check_pow(self, bits: int, witness: int) -> bool:
        """Absorbs the canonical `witness` and says whether it meets `bits` bits of difficulty (0..30; 0: always)."""
        if self._no_grinding(bits):
            return True
        return _meets(bits, self._check(bits, witness, 0)[0])

    def check_pow_and_sample(self, bits: int, witness: int) -> tuple[bool, tuple[int, ...]]:
        """`check_pow`, then `sample_scalar`, in one launch."""
        if self._no_grinding(bits):
            return True, self.sample_scalar()
        first, *scalar = self._check(bits, witness, 4)
        return _meets(bits, first), tuple(scalar)

    def _check(self, bits: int, witness: int, num_samples: int) -> list[int]:
        """The sample that decides about a witness, and the next ones, canonical."""
        self._record("grind", bits, np.array([witness], dtype=np.uint32))
        if self._skip:
            self._launch(0)
        self._queue.append(np.array([int(witness) * MONTY_ONE % P], dtype=np.uint32))
        samples, _ = self._launch(1 + num_samples)
        if num_samples:
            self._record("sample", samples[1:])
        return [word * MONTY_INV % P for word in self.device.numpy(samples).tolist()]

    def state(self):
        """The challenger's (26,) state words with everything observed so far absorbed."""
        if self._queue or self._skip or self._pending:
            self._launch(0)
        return self._state

    def steps(self) -> list[list]:
        """The trace on the host, canonical numbers.

        ["observe", run of elements], ["sample", [x]], ["sample_uniform_bits", bits, x], ["grind", bits, witness].

        Raises `ValueError` where no trace was asked for.
        """
        if self._trace is None:
            raise ValueError("this transcript was made without a trace")
        steps = []
        for name, *arguments, array in self._trace:
            words = [int(word) for word in self.device.numpy(array)]
            if name in ("observe", "sample"):
                words = [word * MONTY_INV % P for word in words]
            if name == "observe" and steps and steps[-1][0] == "observe":
                steps[-1][1].extend(words)
            elif name == "observe":
                steps.append([name, words])
            elif name == "sample":
                steps.extend([name, [word]] for word in words)
            else:
                steps.extend([name, *arguments, word] for word in words)
        return steps

    def _no_grinding(self, bits: int) -> bool:
        if not 0 <= bits <= MAX_GRINDING_BITS:
            raise ValueError(f"grinding bits must be in 0..{MAX_GRINDING_BITS}, got {bits}")
        return bits == 0

    def _record(self, *step) -> None:
        if self._trace is not None:
            self._trace.append(step)

    def _launch(self, num_samples: int, num_indices: int = 0, index_bits: int = 0):
        """Absorbs the queue, draws what a grind consumed, then the samples, then the indices."""
        segments = self._segments() or [self.device.asarray(np.zeros(0, dtype=np.uint32))]
        while len(segments) > MAX_SEGMENTS:
            self._state, _, _ = challenge(self.device, self._state, segments[:MAX_SEGMENTS], num_samples=0)
            segments = segments[MAX_SEGMENTS:]
        skip, self._queue, self._skip = self._skip, [], 0
        if self._pending:
            samples = self._absorb_pending(segments, 0 if num_indices else skip + num_samples)
            if not num_indices:
                return samples[skip:] if skip else samples, samples[:0]
            segments = [samples]  # empty
        self._state, samples, indices = challenge(
            self.device,
            self._state,
            segments,
            num_samples=skip + num_samples,
            num_indices=num_indices,
            index_bits=index_bits,
        )
        return samples[skip:] if skip else samples, indices

    def _absorb_pending(self, segments: list, num_samples: int):
        """Absorbs the segments and the pending sum, which is known from here on; returns the samples."""
        pending, self._pending = self._pending, None
        self._state, samples, pending.value = challenge_shares(
            self.device, self._state, segments, pending.shares, num_samples=num_samples
        )
        self._record("observe", pending.value)
        return samples

    def _segments(self) -> list:
        """The queue as device arrays, neighbouring host arrays joined."""
        if len(self._queue) == 1:
            return [self._one(self._queue[0])]
        runs = []
        for array in self._queue:
            if runs and isinstance(array, np.ndarray) and isinstance(runs[-1][-1], np.ndarray):
                runs[-1].append(array)
            else:
                runs.append([array])
        return [self.device.asarray(np.concatenate(run)) if len(run) > 1 else self._one(run[0]) for run in runs]

    def _one(self, array):
        return self.device.asarray(array) if isinstance(array, np.ndarray) else array


def _meets(bits: int, sample: int) -> bool:
    return sample & ((1 << bits) - 1) == 0


@lru_cache(maxsize=1024)
def _seed_words(device, canonical: bytes):
    """A seed's Montgomery words on the device; a statement has a few dozen seeds, each sent once."""
    elements = np.frombuffer(canonical, dtype=np.uint32).astype(np.uint64)
    words = (elements * MONTY_ONE % P).astype(np.uint32)
    words.setflags(write=False)
    return device.asarray(words)
