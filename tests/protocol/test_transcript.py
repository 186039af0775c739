"""The transcript against recorded transcripts of the crates, public values, and the oracle's challenger."""

import copy
import random
from types import SimpleNamespace

import numpy as np
import pytest

from tests.helpers import TRANSCRIPT_NAMES, host_device, load_proof, load_transcript
from tests.oracle.challenger import Challenger
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.protocol import transcript as transcript_module
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof


def montgomery(values) -> np.ndarray:
    return np.array([x * MONTY_ONE % P for x in values], dtype=np.uint32)


def canonical(words) -> list[int]:
    return [int(word) * pow(MONTY_ONE, -1, P) % P for word in host_device().numpy(words)]


@pytest.mark.parametrize(
    ("observed", "sample"),
    [
        ([], 1054281681),
        ([5, 7], 1670552191),
        ([5, 7, 0, 0], 236733051),
        ([5, 7, 0, 0, 0, 0, 0, 0], 1047908792),
        (list(range(8)), 1220677744),
        (list(range(9)), 1785938776),
    ],
)
def test_partial_blocks_are_bound_to_their_length(observed, sample):
    # Public values: a partly filled block is zero-filled and its length counted.
    transcript = Transcript(host_device())
    transcript.observe(montgomery(observed))
    assert canonical(transcript.sample(1)) == [sample]


@pytest.mark.parametrize(
    ("observed", "bits", "witness", "after"),
    [
        ([42], 1, 2, None),
        ([42], 5, 14, None),
        ([42], 10, 30, None),
        ([42], 16, 127313, 1487695673),
        (list(range(7)), 8, 225, 337245294),  # the witness completes the block
    ],
)
def test_smallest_witness(observed, bits, witness, after):
    transcript, checker = Transcript(host_device()), Transcript(host_device())
    transcript.observe(montgomery(observed))
    checker.observe(montgomery(observed))
    found = host_device().numpy(transcript.grind(bits))
    assert found.tolist() == [witness] and found.dtype == np.uint32
    assert checker.check_pow(bits, witness)
    samples = canonical(transcript.sample(3))
    assert samples == canonical(checker.sample(3))
    assert after is None or samples[0] == after


def test_no_grinding_leaves_the_transcript_alone():
    transcript = Transcript(host_device())
    transcript.observe(montgomery([1, 2, 3]))
    before = host_device().numpy(transcript.state()).tolist()
    assert host_device().numpy(transcript.grind(0)).tolist() == [0]
    assert transcript.check_pow(0, 12345)
    assert host_device().numpy(transcript.state()).tolist() == before


def test_any_valid_witness_passes_and_others_do_not():
    # 6 bits: of 200 candidates about 3 pass; the oracle says which.
    oracle = Challenger()
    oracle.observe([9, 8, 7])
    passed = 0
    for witness in [*range(199), P - 1]:
        transcript = Transcript(host_device())
        transcript.observe(montgomery([9, 8, 7]))
        other = copy.deepcopy(oracle)
        valid = other.check(6, witness)
        scalar = other.sample_ext()
        assert transcript.check_pow(6, witness) == valid
        assert canonical(transcript.sample_ext()) == list(scalar)
        passed += valid
    assert passed >= 2


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_against_the_oracle(seed):
    # Sizes 0..20 around the rate of 8; grinds directly followed by observes, draws and the end.
    rng = random.Random(seed)
    transcript, oracle = Transcript(host_device(), trace=[]), Challenger()
    for _ in range(25):
        step = rng.choice(["observe", "observe", "seed", "sample", "ext", "indices", "grind", "check"])
        if step in ("observe", "seed"):
            values = [rng.choice([0, 1, P - 1, rng.randrange(P)]) for _ in range(rng.randrange(21))]
            oracle.observe(values)
            transcript.observe(montgomery(values)) if step == "observe" else transcript.observe_seed(values)
        elif step == "sample":
            count = rng.randrange(1, 11)
            assert canonical(transcript.sample(count)) == [oracle.sample() for _ in range(count)]
        elif step == "ext":
            assert transcript.sample_scalar() == oracle.sample_ext()
        elif step == "indices":
            bits, count = rng.choice([0, 1, 5, 27]), rng.randrange(1, 20)
            expected = [oracle.sample_uniform_bits(bits) for _ in range(count)]
            assert host_device().numpy(transcript.sample_indices(bits, count)).tolist() == expected
        elif step == "grind":
            bits = rng.randrange(5)
            assert host_device().numpy(transcript.grind(bits)).tolist() == [oracle.grind(bits)]
        else:
            bits, witness = rng.randrange(3), rng.randrange(P)
            assert transcript.check_pow(bits, witness) == oracle.check(bits, witness)
    # In the oracle a check of 0 bits and a draw of 0 bits leave an entry; here they are not steps.
    expected = [["grind", *s[1:]] if s[0] == "check" else s for s in oracle.log]
    assert transcript.steps() == merged(s for s in expected if s[1] != 0)


def merged(steps) -> list:
    """Neighbouring runs of observed elements joined."""
    result = []
    for step in steps:
        if step[0] == "observe" and result and result[-1][0] == "observe":
            result[-1] = ["observe", result[-1][1] + step[1]]
        else:
            result.append(step)
    return result


@pytest.mark.parametrize("name", TRANSCRIPT_NAMES)
def test_recorded_transcript_replayed(name):
    # The prover's calls: observe in pieces, sample, grind; every drawn number is the recorded one.
    recorded = load_transcript(name)
    rng = random.Random(name)
    transcript = Transcript(host_device())
    for step in recorded.commit + recorded.open:
        if step[0] == "observe":
            values = step[1]
            while values:
                cut = rng.randrange(1, len(values) + 1)
                transcript.observe(montgomery(values[:cut]))
                values = values[cut:]
        elif step[0] == "sample":
            assert canonical(transcript.sample(1)) == step[1]
        elif step[0] == "grind":
            assert host_device().numpy(transcript.grind(step[1])).tolist() == [step[2]]
        else:
            assert host_device().numpy(transcript.sample_indices(step[1], 1)).tolist() == [step[2]]


@pytest.mark.parametrize("name", TRANSCRIPT_NAMES)
def test_recorded_transcript_of_the_verifier(name):
    # The statement of a transcript is that of the proof of the same name, so verifying must make the same steps.
    recorded, case = load_transcript(name), load_proof(name)
    transcript = Transcript(host_device(), trace=[])
    verify_proof(host_device(), **case.arguments, commitment=case.commitment, proof=case.proof, transcript=transcript)
    assert transcript.steps() == merged(recorded.commit + recorded.open)


@pytest.mark.parametrize("name", TRANSCRIPT_NAMES[:1])
def test_every_observed_element_changes_the_next_draw(name):
    steps = load_transcript(name).open
    draws = [i for i, step in enumerate(steps[:-1]) if step[0] == "observe" and steps[i + 1][0] == "sample"]
    assert len(draws) >= 10
    for i in draws:
        values, (drawn,) = steps[i][1], steps[i + 1][1]
        for changed in {0, len(values) // 2, len(values) - 1}:
            transcript = Transcript(host_device())
            for step in steps[:i]:
                if step[0] == "observe":
                    transcript.observe(montgomery(step[1]))
                elif step[0] == "sample":
                    transcript.sample(1)
                elif step[0] == "grind":
                    transcript.check_pow(step[1], step[2])
                else:
                    transcript.sample_indices(step[1], 1)
            transcript.observe(montgomery([(x + (j == changed)) % P for j, x in enumerate(values)]))
            assert canonical(transcript.sample(1)) != [drawn]


class Opaque:
    """An array as on a lazy device: shape, reshape, slices and differences, and nothing else; reading it fails the
    test."""

    def __init__(self, array):
        self._array, self.shape = array, array.shape

    def __sub__(self, other):
        return Opaque(self._array - other._array)

    def reshape(self, *shape):
        return Opaque(self._array.reshape(*shape))

    def __getitem__(self, index):
        return Opaque(self._array[index])

    def __array__(self, *args, **kwargs):
        raise AssertionError("read back")


class LazyDevice:
    asarray = staticmethod(Opaque)
    evaluate = staticmethod(lambda *arrays: None)


def test_prover_calls_are_lazy_and_launch_once_a_draw(monkeypatch):
    launches = []

    def challenge(device, state, segments, **keywords):
        launches.append(len(segments))
        assert all(isinstance(segment, Opaque) for segment in segments)
        plain = [segment._array for segment in segments]
        return tuple(map(Opaque, kernels.challenge(host_device(), state._array, plain, **keywords)))

    def challenge_grind(device, state, found, **keywords):
        launches.append(1)
        plain = state._array, found._array
        return tuple(map(Opaque, kernels.challenge_grind(host_device(), *plain, **keywords)))

    def grind_found(device, state, *, bits):
        return Opaque(kernels.grind_found(host_device(), state._array, bits=bits))

    kernels = SimpleNamespace(**vars(transcript_module))
    for operation in (challenge, challenge_grind, grind_found):
        monkeypatch.setattr(transcript_module, operation.__name__, operation)
    transcript, oracle = Transcript(LazyDevice()), Challenger()
    oracle.observe(range(64))
    # A seed, a message of the device, two neighbouring host arrays (joined) and a message: more than three segments.
    transcript.observe_seed(range(8))
    transcript.observe(Opaque(montgomery(range(8, 24)).reshape(4, 4)))
    transcript.observe(montgomery(range(24, 32)))
    transcript.observe(montgomery(range(32, 40)))
    transcript.observe(Opaque(montgomery(range(40, 64))))
    assert launches == []
    drawn = transcript.sample_ext()
    assert launches == [1, 3]
    assert canonical(drawn._array) == list(oracle.sample_ext())
    # A grind needs the queue absorbed, and its sample is drawn together with the indices after it.
    oracle.observe([5])
    transcript.observe(montgomery([5]))
    assert transcript.grind(3)._array.tolist() == [oracle.grind(3)]
    indices = transcript.sample_indices(6, 9)
    assert launches == [1, 3, 1, 1]
    assert indices._array.tolist() == [oracle.sample_uniform_bits(6) for _ in range(9)]


def test_what_waits_after_a_draw():
    """One array after a draw may be absorbed by another kernel: the state has nothing buffered then."""
    transcript = Transcript(host_device())
    assert transcript.waiting() is None
    transcript.observe(montgomery(range(3)))
    state, words = transcript.waiting()
    assert not state.any() and canonical(words) == [0, 1, 2]
    transcript.state()  # absorbs, and leaves three inputs in the buffer
    transcript.observe(montgomery([5]))
    assert transcript.waiting() is None and transcript.fork().waiting() is None
    transcript.sample(1)
    transcript.observe(montgomery([6, 7]))
    state, words = transcript.waiting()
    assert state.tolist() == transcript.fork()._state.tolist() and canonical(words) == [6, 7]
    assert transcript.fork().waiting() is not None
    assert Transcript(host_device(), state=state).fork().waiting() is None
    transcript.observe(montgomery([8]))
    assert transcript.waiting() is None  # two arrays
    transcript.sample_indices(5, 3)
    transcript.observe_shares(montgomery(range(8)).reshape(2, 4))
    assert transcript.waiting() is None
    transcript.grind(2)
    assert transcript.waiting() is None  # a witness, whose sample is to be drawn


def test_resuming():
    """As if the steps had been taken here; what waited is gone."""
    transcript, other = Transcript(host_device(), trace=[]), Transcript(host_device())
    transcript.observe(montgomery(range(3)))
    other.observe(montgomery(range(3)))
    other.observe(montgomery(range(8)))
    drawn = other.sample(4)
    transcript.resume(other.state(), [("observe", montgomery(range(8))), ("sample", drawn)])
    words = canonical(drawn)
    assert transcript.steps() == [["observe", [0, 1, 2, *range(8)]], *(["sample", [word]] for word in words)]
    assert transcript.sample(2).tolist() == other.sample(2).tolist()


def test_observed_arrays_may_change_afterwards():
    # Strided and reversed views are absorbed in C order, with the numbers they had when observed.
    transcript, oracle = Transcript(host_device()), Challenger()
    matrix = montgomery(range(30)).reshape(5, 6)
    for view, values in ((matrix.T, [6 * j + i for i in range(6) for j in range(5)]), (matrix[::-2, 1], [25, 13, 1])):
        oracle.observe(values)
        transcript.observe(view)
    matrix[:] = 7
    assert transcript.sample_scalar() == oracle.sample_ext()


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float64])
def test_observed_dtype(dtype):
    with pytest.raises(TypeError, match="uint32"):
        Transcript(host_device()).observe(np.zeros(3, dtype))


@pytest.mark.parametrize("bits", [-1, 31])
def test_grinding_bits_out_of_range(bits):
    transcript = Transcript(host_device())
    with pytest.raises(ValueError, match=str(bits)):
        transcript.grind(bits)
    with pytest.raises(ValueError, match=str(bits)):
        transcript.check_pow(bits, 0)


@pytest.mark.parametrize("bits", [-1, 28])
def test_index_bits_out_of_range(bits):
    with pytest.raises(ValueError, match=str(bits)):
        Transcript(host_device()).sample_indices(bits, 1)


def test_steps_need_a_trace():
    with pytest.raises(ValueError, match="trace"):
        Transcript(host_device()).steps()
