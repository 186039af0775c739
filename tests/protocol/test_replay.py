"""A transcript that is noted and then done at once: against the oracle, and against one that goes step by step."""

import copy
import random
from functools import partial

import numpy as np
import pytest

from tests.helpers import host_device
from tests.oracle.challenger import Challenger
from tests.protocol.test_transcript import merged, montgomery
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.replay import Replay
from whir_mlx.protocol.transcript import Transcript


def values(rng: random.Random) -> list[int]:
    return [rng.choice([0, 1, P - 1, rng.randrange(P)]) for _ in range(rng.randrange(21))]


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_against_the_oracle(seed):
    # Sizes 0..20 around the rate of 8; what the transcript has before it, absorbed or waiting; observes at the end.
    rng = random.Random(seed)
    transcript, oracle, replay = Transcript(host_device(), trace=[]), Challenger(), Replay()
    before = values(rng)
    for words in (before, before[:3])[: seed % 3]:
        transcript.observe(montgomery(words))
        oracle.observe(words)
    if seed % 2:
        assert transcript.sample_scalar() == oracle.sample_ext()
    expected, missed = [], None
    for _ in range(25):
        step = rng.choice(["observe", "observe", "ext", "indices", "check", "rounds"])
        if step == "observe":
            observed = values(rng)
            oracle.observe(observed)
            replay.observe(montgomery(observed))
        elif step == "ext":
            expected.append((replay.sample_ext(), oracle.sample_ext()))
        elif step == "indices":
            bits, count = rng.choice([0, 1, 5, 27]), rng.randrange(20)
            drawn = [oracle.sample_uniform_bits(bits) for _ in range(count)]
            expected.append((replay.sample_indices(bits, count), drawn))
        elif step == "rounds":
            bits, count, width, first = rng.randrange(3), rng.randrange(1, 4), rng.randrange(1, 12), replay.num_grinds
            messages = [[rng.randrange(P) for _ in range(width)] for _ in range(count)]
            witnesses = np.array([rng.randrange(P) for _ in range(count)], np.uint32)
            places = replay.sample_rounds(
                np.array([montgomery(message) for message in messages]),
                bits,
                montgomery(witnesses.tolist()),
                lambda number, first=first: ValueError(first + number),
            )
            for number, (message, place) in enumerate(zip(messages, places, strict=True)):
                oracle.observe(message)
                if bits and not oracle.check(bits, int(witnesses[number])) and missed is None:
                    missed = first + number
                expected.append((place, oracle.sample_ext()))
        else:
            bits, witness = rng.randrange(3), rng.randrange(P)
            number = replay.num_grinds
            replay.check_pow(bits, witness, partial(ValueError, number))
            if not oracle.check(bits, witness) and missed is None:
                missed = number
    replay.run(transcript)
    for place, drawn in expected:
        got = replay.scalar(place) if isinstance(drawn, tuple) else replay.indices(place, len(drawn)).tolist()
        assert got == drawn
    passed, error = replay.failed()
    assert passed == (replay.num_grinds if missed is None else missed)
    assert error is None if missed is None else error.args == (missed,)
    steps = [["grind", *s[1:]] if s[0] == "check" else s for s in oracle.log]
    assert transcript.steps() == merged(s for s in steps if s[1] != 0)
    assert transcript.sample_scalar() == oracle.sample_ext()


def test_what_was_missed_first_is_told():
    replay, errors = Replay(), [VerificationError("InvalidPowWitness", where=str(i)) for i in range(4)]
    # Of 30 bits no witness chosen beforehand has a chance.
    for error, bits in zip(errors, (0, 0, 30, 30)):
        replay.check_pow(bits, 7, partial(copy.copy, error))
    assert replay.num_grinds == 2
    replay.run(Transcript(host_device()))
    passed, error = replay.failed()
    assert passed == 0 and error.where == errors[2].where


def test_without_draws_the_transcript_only_observes():
    replay, transcript, other = Replay(), Transcript(host_device()), Transcript(host_device())
    for words in (montgomery([1, 2, 3]), np.zeros((0, 4), np.uint32), montgomery(range(9))):
        replay.observe(words)
        other.observe(words)
    assert replay.sample_indices(0, 5) is None
    assert replay.indices(None, 5).tolist() == [0] * 5
    replay.run(transcript)
    assert replay.failed() == (0, None)
    assert transcript.sample_scalar() == other.sample_scalar()


def test_bits_out_of_range_are_refused():
    replay = Replay()
    for bits in (-1, 28):
        with pytest.raises(ValueError, match=f"index bits must be in 0..27, got {bits}"):
            replay.sample_indices(bits, 1)
    for bits in (-1, 31):
        with pytest.raises(ValueError, match=f"grinding bits must be in 0..30, got {bits}"):
            replay.check_pow(bits, 0, ValueError)
