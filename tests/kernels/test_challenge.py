"""A transcript step on the CPU target keeps its buffers from step to step: at their ends, past them, and by threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.helpers import host_device
from whir_mlx.field.constants import P
from whir_mlx.kernels import challenge as module
from whir_mlx.kernels.reference.challenge import challenge as challenge_ref
from whir_mlx.kernels.reference.challenge import challenge_shares as challenge_shares_ref

WORDS, SHARES, SAMPLES, INDICES = module._FixedBuffers.LIMITS


def words(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, P, shape, dtype=np.uint32)


def same(got, expected) -> None:
    for mine, theirs in zip(got, expected, strict=True):
        assert host_device().numpy(mine).tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("lengths", "samples", "indices"),
    [
        ((0,), SAMPLES, 0),
        ((3,), SAMPLES + 1, 0),
        ((WORDS - 9, 8, 1), 1, 0),
        ((WORDS - 9, 8, 2), 1, 0),
        ((WORDS + 1,), 0, 0),
        ((5,), 2, INDICES),
        ((5,), 2, INDICES + 1),
    ],
)
def test_steps_that_just_fit_and_that_do_not(lengths, samples, indices):
    device, state = host_device(), np.zeros(26, np.uint32)
    state[:16], state[25] = words(1, 16), 3
    segments = [words(10 + i, length) for i, length in enumerate(lengths)]
    keywords = {"num_samples": samples, "num_indices": indices, "index_bits": 9 if indices else 0}
    same(module.challenge(device, state, segments, **keywords), challenge_ref(state, segments, **keywords))


@pytest.mark.parametrize("count", [SHARES // 8, SHARES // 8 + 1])
def test_shares_that_just_fit_and_that_do_not(count):
    device, state, shares = host_device(), np.zeros(26, np.uint32), words(2, count, 8)
    got = module.challenge_shares(device, state, words(3, 4), shares, [words(4, 5)], num_samples=4)
    same(got, challenge_shares_ref(state, words(3, 4), shares, [words(4, 5)], num_samples=4))


def test_results_stay_and_threads_do_not_meet():
    device = host_device()

    def chain(seed: int) -> list:
        state, results = np.zeros(26, np.uint32), []
        for i in range(40):
            results.append(module.challenge(device, state, [words(100 * seed + i, 11)], num_samples=4))
            state = results[-1][0]
        return [[device.numpy(part).tolist() for part in result] for result in results]

    alone = [chain(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(chain, range(4))) == alone
    assert len({str(one) for one in alone}) == 4
