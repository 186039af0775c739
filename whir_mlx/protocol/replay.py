"""A transcript whose messages are all known: noted step by step, then done in one launch.

A verifier has the whole proof before it, so nothing that it observes waits for what it draws. Until `run`, a draw is
known by its place among all draws.

Source: p3-challenger 0.8.0 (`duplex_challenger.rs`, `grinding_challenger.rs`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.field.numpy_field import from_montgomery
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.transcript_limits import check_index_bits, no_grinding, witness_words

__all__ = ["Replay"]


class Replay:
    """Notes of what a transcript absorbs and draws; `run` lets a `Transcript` do it."""

    def __init__(self):
        self._waiting: list[np.ndarray] = []  # observed after the last draw
        self._num_waiting = 0  # their words
        self._words: list[np.ndarray] = []
        self._steps: list[tuple[int, int, int, int]] = []  # as `kernels.replay` takes them
        self._noted: list[tuple] = []  # as a trace has them, a place instead of what is drawn there
        self._grinds: list[tuple[int, int, Callable[[], Exception]]] = []
        self._count = 0
        self._drawn = np.zeros(0, dtype=np.uint32)
        self._canonical: list[int] = []

    def observe(self, words: np.ndarray) -> None:
        """Absorbs Montgomery words, uint32 of any shape in C order, that stay as they are until `run`."""
        if words.size:
            flat = words.reshape(-1)
            self._waiting.append(flat)
            self._num_waiting += flat.size
            self._noted.append(("observe", flat))

    def sample_ext(self) -> slice:
        """Draws one extension element: its place, for `scalar`."""
        place = self._draw(EXT_DEGREE, 0, 0)
        self._noted.append(("sample", place))
        return place

    def sample_indices(self, bits: int, count: int) -> slice | None:
        """Draws `count` uniform integers below 2^bits (0 <= bits <= 27): their place, for `indices`.

        0 bits draw nothing: None. Raises `ValueError` for other `bits`.
        """
        check_index_bits(bits)
        if bits == 0 or count == 0:
            return None
        place = self._draw(0, count, bits)
        self._noted.append(("sample_uniform_bits", bits, place))
        return place

    def sample_rounds(
        self, messages: np.ndarray, bits: int, witnesses: np.ndarray, error: Callable[[int], Exception]
    ) -> list[slice]:
        """Absorbs messages, (k, w) words, k >= 1, and draws an extension element after each: their places.

        bits > 0: between the two comes `check_pow` of each of (k,) witnesses, here Montgomery words; it makes
        error(number).
        """
        absorbed, extra = messages, int(not no_grinding(bits))
        if extra:
            absorbed = np.concatenate((messages, witnesses[:, None]), axis=1)
        count, width, draws = len(messages), absorbed.shape[1], EXT_DEGREE + extra
        starts = range(self._count, self._count + count * draws, draws)
        # The sample that decides about a witness, and the next four: one step a round.
        self._steps += [(width + before, draws, 0, 0) for before in (self._num_waiting, *[0] * (count - 1))]
        self._words += [*self._waiting, absorbed.reshape(-1)]
        self._waiting, self._num_waiting, self._count = [], 0, starts.stop
        if extra:
            self._grinds += [(bits, start, partial(error, number)) for number, start in enumerate(starts)]
        places = [slice(start + extra, start + draws) for start in starts]
        self._noted.append(("rounds", messages, bits, witnesses, places))
        return places

    def check_pow(self, bits: int, witness: int, error: Callable[[], Exception]) -> None:
        """Absorbs the canonical `witness`; `failed` gives error() where it misses `bits` bits of difficulty.

        0 bits absorb nothing. Raises `ValueError` for bits that are not in 0..30.
        """
        if no_grinding(bits):
            return
        self._waiting.append(witness_words(witness))
        self._num_waiting += 1
        self._grinds.append((bits, self._draw(1, 0, 0).start, error))
        self._noted.append(("grind", bits, np.array([witness], dtype=np.uint32)))

    @property
    def num_grinds(self) -> int:
        """How many witnesses are checked so far."""
        return len(self._grinds)

    def run(self, transcript: Transcript) -> None:
        """Lets `transcript` absorb and draw all this, from where it stands."""
        if self._steps:
            words = np.concatenate(self._words) if self._words else self._drawn
            self._drawn = transcript.replay(words, np.array(self._steps), self._recorded)
            # Of indices that gives no more than numbers which nobody takes.
            self._canonical = from_montgomery(self._drawn).tolist()
        for words in self._waiting:
            transcript.observe(words)

    def failed(self) -> tuple[int, Exception | None]:
        """Once it has run, how many witnesses before the first one that misses its difficulty, and its error; all and
        None where none does."""
        for number, (bits, place, error) in enumerate(self._grinds):
            if self._canonical[place] & ((1 << bits) - 1):
                return number, error()
        return len(self._grinds), None

    def scalar(self, place: slice) -> tuple[int, ...]:
        """Once it has run, the element drawn there: 4 canonical ints."""
        return tuple(self._canonical[place])

    def indices(self, place: slice | None, count: int) -> np.ndarray:
        """Once it has run, the `count` integers drawn there, uint32; zeros for None."""
        return np.zeros(count, dtype=np.uint32) if place is None else self._drawn[place]

    def _draw(self, samples: int, indices: int, bits: int) -> slice:
        self._steps.append((self._num_waiting, samples, indices, bits))
        self._words += self._waiting
        self._waiting, self._num_waiting = [], 0
        start, self._count = self._count, self._count + samples + indices
        return slice(start, self._count)

    def _recorded(self, drawn: np.ndarray) -> list[tuple]:
        """The steps that are done, as a transcript's trace has them."""
        recorded: list[tuple] = []
        for name, *arguments, last in self._noted[: len(self._noted) - len(self._waiting)]:
            if name != "rounds":
                recorded.append((name, *arguments, drawn[last] if isinstance(last, slice) else last))
                continue
            messages, bits, witnesses = arguments
            for number, place in enumerate(last):
                recorded.append(("observe", messages[number]))
                recorded += [("grind", bits, from_montgomery(witnesses[number : number + 1]))] if bits else []
                recorded.append(("sample", drawn[place]))
        return recorded
