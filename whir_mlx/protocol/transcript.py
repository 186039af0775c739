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
from whir_mlx.field.numpy_field import to_montgomery
from whir_mlx.kernels.challenge import MAX_INDEX_BITS, challenge, challenge_grind, challenge_shares
from whir_mlx.kernels.grind import grind_found, grind_shares, witness_of
from whir_mlx.kernels.replay import replay
from whir_mlx.protocol.pending_sum import PendingSum
from whir_mlx.protocol.trace import rendered
from whir_mlx.protocol.transcript_limits import check_index_bits, no_grinding, witness_words

__all__ = ["Transcript"]

STATE_WORDS = 26
MAX_SEGMENTS = 3
MONTY_INV = pow(MONTY_ONE, -1, P)


class Transcript:
    """A duplex challenger (width 16, rate 8) on `device`.

    `state`: (26,) words to go on from, as `state()` gave them; fresh without. `trace`, where a list is given,
    collects every operation; `steps` renders it.
    """

    def __init__(self, device, *, state=None, trace: list | None = None):
        self.device = device
        self._state = _fresh_state(device) if state is None else state
        self._buffered = state is not None  # whether the state may hold inputs that no permutation took yet
        self._queue = []  # arrays of Montgomery words, not yet absorbed
        self._pending: PendingSum | None = None  # shares whose sum is absorbed after the queue
        self._after = []  # arrays that are absorbed after the pending sum
        self._ground = 0  # bits of a grind whose find is all that waits; its sample is not yet drawn
        self._grinds: list | None = None  # where a list: (bits, outcome) of every grind, as its sample is drawn
        self._trace = trace

    def fork(self) -> Transcript:
        """A copy without the trace that goes its own way. This one stays as it is, so threads may share it."""
        copy = Transcript(self.device, state=self._state)
        copy._queue, copy._ground, copy._buffered = list(self._queue), self._ground, self._buffered
        copy._pending, copy._after = self._pending, list(self._after)
        return copy

    def keep_grinds(self) -> None:
        """From here on keeps what became of every grind; `take_grinds` gives it and ends it."""
        self._grinds = []

    def take_grinds(self) -> list[tuple[int, object]]:
        """(bits, outcome) of every grind of a bit or more since `keep_grinds`, in order.

        outcome: (8,) on the device, of which the first is the witness and the second the sample that it led to, both
        canonical. That sample's low bits must be 0: another kernel than the search's computed it from the witness.
        """
        if self._ground:
            self._launch(0)
        taken, self._grinds = self._grinds, None
        return taken

    def observe(self, x) -> None:
        """Absorbs `x`, Montgomery words of any shape in C order: a device array or a NumPy uint32 array.

        A NumPy array may be written to afterwards. Raises `TypeError` for a NumPy array of another dtype.
        """
        if isinstance(x, np.ndarray):
            if x.dtype != np.uint32:
                raise TypeError(f"observed words must be uint32, got {x.dtype}")
            if x.flags.writeable or x.base is not None:
                x = x.copy()  # it waits in the queue until the next draw
        count = math.prod(x.shape)
        if count == 0:
            return
        if self._ground:
            self._launch(0)  # the sample that a grind consumes comes before what is observed after it
        if self._pending:
            self._after.append(x)  # recorded once the sum is
        else:
            self._queue.append(x)
            self._record_observed(x)

    def observe_seed(self, elements) -> None:
        """Absorbs the seed of a sub-protocol: canonical elements, a sequence of integers or an integer array."""
        canonical = np.ascontiguousarray(elements, dtype=np.uint32)
        self.observe(_seed_words(self.device, canonical.tobytes()))

    def observe_shares(self, shares) -> PendingSum:
        """Absorbs the sum of `shares`, (P, ...) Montgomery words on the device, of 8 words or fewer each; it is known
        after the next draw or grind."""
        if self._ground or self._pending:
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
        check_index_bits(bits)
        if bits == 0 or count == 0:
            return self.device.asarray(np.zeros(count, dtype=np.uint32))
        return self._draw_indices(bits, count, 0)[0]

    def sample_indices_and_ext(self, bits: int, count: int):
        """`sample_indices`, then `sample_ext`, in one launch."""
        if not 0 < bits <= MAX_INDEX_BITS or count == 0:
            return self.sample_indices(bits, count), self.sample_ext()
        return self._draw_indices(bits, count, 4)

    def _draw_indices(self, bits: int, count: int, num_after: int):
        samples, indices = self._launch(0, count, bits, num_after)
        self._record("sample_uniform_bits", bits, indices)
        if num_after:
            self._record("sample", samples)
        return indices, samples

    def grind(self, bits: int):
        """Finds and absorbs the smallest witness of `bits` bits (0..30): (1,) canonical, on the device.

        0 bits give zero and leave the transcript as it is. Raises `ValueError` for other `bits`.
        """
        if no_grinding(bits):
            return self.device.asarray(np.zeros(1, dtype=np.uint32))
        pending = self._pending
        if pending and pending.fills_block and not (self._buffered or self._queue or self._after):
            self._pending = None  # after a draw, alone: the grind absorbs it
            self._state, pending.words, found = grind_shares(self.device, self._state, pending.shares, bits=bits)
            self._record_observed(pending.value)
        else:
            found = grind_found(self.device, self.state(), bits=bits)
        witness = witness_of(self.device, found)  # nobody may want it: on a lazy device it then costs nothing
        self._record("grind", bits, witness)
        # It stays alone in the queue: the sample that met the difficulty is consumed before anything is observed.
        self._queue.append(found)
        self._ground = bits
        return witness

    def check_pow(self, bits: int, witness: int) -> bool:
        """Absorbs the canonical `witness` and says whether it meets `bits` bits of difficulty (0..30; 0: always)."""
        if no_grinding(bits):
            return True
        self._record("grind", bits, np.array([witness], dtype=np.uint32))
        if self._ground:
            self._launch(0)
        self._queue.append(witness_words(witness))
        samples, _ = self._launch(1)
        return int(self.device.numpy(samples)[0]) * MONTY_INV % P & ((1 << bits) - 1) == 0

    def replay(self, words: np.ndarray, steps: np.ndarray, recorded) -> np.ndarray:
        """Absorbs Montgomery words and draws, step after step as `kernels.replay` takes them, in one launch: the draws
        on the host. recorded(draws): what a trace is to say of it."""
        state = self.state()
        self._state, drawn = replay(self.device, state, self.device.asarray(words), steps=steps)
        self._buffered = False
        drawn = self.device.numpy(drawn)
        if self._trace is not None:
            self._trace += recorded(drawn)
        return drawn

    def state(self):
        """The challenger's (26,) state words with everything observed so far absorbed."""
        if self._queue or self._ground or self._pending:
            self._launch(0)
        return self._state

    def waiting(self):
        """(state, the words that it has yet to absorb) where a draw was the last step but for one `observe`, else None:
        (26,) and an array of Montgomery words on the device, for a kernel that absorbs them itself (`resume`)."""
        if self._buffered or self._ground or self._pending or len(self._queue) != 1:
            return None
        return self._state, self._one(self._queue[0])

    def ground(self):
        """(state, found) where what a grind found is all that waits, for a kernel that absorbs it itself (`resume`)."""
        return (self._state, self._queue[0]) if self._ground else None

    def resume(self, state, steps, outcome=None) -> None:
        """Goes on from `state`, which another kernel made: it absorbed what is `waiting`, or what was `ground`, then
        observed and drew.

        steps: ("observe" or "sample", Montgomery words), in order; asked for only where there is a trace. outcome: of
        the grind that was absorbed, as in `take_grinds`.
        """
        self._state, self._queue, self._buffered = state, [], False
        self._end_grind(outcome)
        for step in steps if self._trace is not None else ():
            self._record(*step)

    def steps(self) -> list[list]:
        """The trace on the host, canonical numbers.

        ["observe", run of elements], ["sample", [x]], ["sample_uniform_bits", bits, x], ["grind", bits, witness].

        Raises `ValueError` where no trace was asked for.
        """
        if self._trace is None:
            raise ValueError("this transcript was made without a trace")
        return rendered(self.device, self._trace)

    def _end_grind(self, outcome) -> None:
        if self._ground and self._grinds is not None:
            self._grinds.append((self._ground, outcome))
        self._ground = 0

    def _record(self, *step) -> None:
        if self._trace is not None:
            self._trace.append(step)

    def _record_observed(self, x) -> None:
        if self._trace is not None:
            self._record("observe", x.reshape(math.prod(x.shape)))

    def _launch(self, num_samples: int, num_indices: int = 0, index_bits: int = 0, num_after: int = 0):
        """Absorbs all that waits, draws what a grind consumed, then the samples, the indices, and samples again."""
        self._buffered = not (self._ground or num_samples or num_indices or num_after)
        draws = {"num_samples": num_samples, "num_indices": num_indices, "index_bits": index_bits}
        if self._ground:
            (found,), self._queue = self._queue, []
            self._state, samples, indices, outcome = challenge_grind(
                self.device, self._state, found, num_after=num_after, **draws
            )
            self._end_grind(outcome)
            return samples, indices
        segments, self._queue = self._segments(self._queue), []
        if self._pending:
            # The kernel takes one run before the sum and two after it, and no indices then.
            self._absorb(segments[:-1])
            pending, self._pending = self._pending, None
            late, self._after = self._segments(self._after), []
            last = not num_indices and len(late) <= 2
            self._state, samples, pending.words = challenge_shares(
                self.device,
                self._state,
                segments[-1] if segments else self._state[:0],
                pending.shares,
                late[:2],
                num_samples=num_samples if last else 0,
            )
            for array in (pending.value, *late) if self._trace is not None else ():
                self._record_observed(array)
            if last:
                return samples, samples[:0]
            segments = late[2:]
        self._absorb(segments[:-MAX_SEGMENTS])
        self._state, samples, indices = challenge(
            self.device,
            self._state,
            segments[-MAX_SEGMENTS:] or [self._state[:0]],
            num_after=num_after,
            **draws,
        )
        return samples, indices

    def _absorb(self, segments: list) -> None:
        for start in range(0, len(segments), MAX_SEGMENTS):
            part = segments[start : start + MAX_SEGMENTS]
            self._state, _, _ = challenge(self.device, self._state, part, num_samples=0)

    def _segments(self, queue: list) -> list:
        """A queue as device arrays, neighbouring host arrays joined."""
        if len(queue) == 1:
            return [self._one(queue[0])]
        runs = []
        for array in queue:
            if runs and isinstance(array, np.ndarray) and isinstance(runs[-1][-1], np.ndarray):
                runs[-1].append(array)
            else:
                runs.append([array])
        return [self._one(np.concatenate([x.reshape(-1) for x in run]) if len(run) > 1 else run[0]) for run in runs]

    def _one(self, array):
        return self.device.asarray(array) if isinstance(array, np.ndarray) else array


@lru_cache(maxsize=8)
def _fresh_state(device):
    """The state of a transcript that has seen nothing, sent to the device once: MLX's CUDA back-end moves whatever
    buffer it takes for a host array to managed memory, 0.3 ms each time."""
    state = device.asarray(np.zeros(STATE_WORDS, dtype=np.uint32))
    device.evaluate(state)
    return state


@lru_cache(maxsize=1024)
def _seed_words(device, canonical: bytes):
    """A seed's Montgomery words on the device; a statement has a few dozen seeds, each sent once."""
    words = to_montgomery(np.frombuffer(canonical, dtype=np.uint32))
    words.setflags(write=False)
    return device.asarray(words)
