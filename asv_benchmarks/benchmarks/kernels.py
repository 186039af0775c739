"""Throughput of each stage's kernels: permutations or elements a second."""

import numpy as np

from whir_mlx.kernels.challenge import challenge
from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.dot import dot
from whir_mlx.kernels.eq_table import eq_table
from whir_mlx.kernels.grind import grind
from whir_mlx.kernels.hash_leaves import hash_leaves
from whir_mlx.kernels.ntt import ntt
from whir_mlx.kernels.poseidon2 import poseidon2
from whir_mlx.kernels.sumcheck_fold import sumcheck_fold
from whir_mlx.kernels.sumcheck_round import sumcheck_round

from .common import DEVICES, OnDevice, words


class Permutations(OnDevice):
    """Poseidon2 of each width; 2^10 fill no device, 2^20 do."""

    params = (DEVICES, (10, 20), (16, 24, 32))
    param_names = ("device", "log", "width")
    unit = "permutations/s"

    def track_poseidon2(self, device, log, width):
        return self.rate(1 << log, poseidon2, words(self.device, 1 << log, width))


class Trees(OnDevice):
    """Leaves of 16 words with the two layers above them, and one layer of nodes."""

    params = (DEVICES, (10, 17, 19))
    param_names = ("device", "log")
    unit = "permutations/s"

    def track_hash_leaves(self, device, log):
        rows = 1 << log
        return self.rate(2 * rows + rows // 2 + rows // 4, hash_leaves, words(self.device, rows, 16))

    def track_compress(self, device, log):
        return self.rate(1 << log, compress, words(self.device, 2 << log, 8), arity=2)


class Transforms(OnDevice):
    """NTT down the rows: one column, and the 16 of a folded polynomial."""

    params = (DEVICES, (14, 18, 21), (1, 16))
    param_names = ("device", "log", "columns")
    unit = "elements/s"

    def track_ntt(self, device, log, columns):
        log_rows = log - (columns.bit_length() - 1)
        return self.rate(1 << log, ntt, words(self.device, 1 << log_rows, columns), log_rows=log_rows)


class Tables(OnDevice):
    """Sumcheck rounds and evaluations over 2^log extension elements."""

    params = (DEVICES, (10, 18))
    param_names = ("device", "log")
    unit = "elements/s"

    def setup(self, device, log):
        super().setup(device)
        self.f, self.w, self.r = (words(self.device, n, 4) for n in (1 << log, 1 << log, 1))

    def track_sumcheck_round(self, device, log):
        return self.rate(1 << log, sumcheck_round, self.f, self.w, log_stride=0)

    def track_sumcheck_fold(self, device, log):
        return self.rate(1 << log, sumcheck_fold, self.f, self.w, self.r.reshape((4,)), log_stride=0)

    def track_dot(self, device, log):
        return self.rate(1 << log, dot, self.f, self.w)

    def track_eq_table(self, device, log):
        return self.rate(1 << log, eq_table, words(self.device, log, 4))


class Transcript(OnDevice):
    """Grinding from one fixed state, so that the luck is the same for every commit; and one step of the transcript."""

    params = (DEVICES,)
    param_names = ("device",)

    def setup(self, device):
        super().setup(device)
        # An input of one word waits and no output is left.
        self.state = self.device.asarray(np.array([*range(1, 17), 7, *[0] * 7, 1, 0], dtype=np.uint32))
        self.device.evaluate(self.state)

    def track_grind(self, device):
        witness = int(self.device.numpy(grind(self.device, self.state, bits=16))[0])
        return self.rate(witness + 1, grind, self.state, bits=16)

    track_grind.unit = "permutations/s"

    def track_challenge(self, device):
        return self.rate(1, challenge, self.state, [words(self.device, 8)], num_samples=4)

    track_challenge.unit = "steps/s"
