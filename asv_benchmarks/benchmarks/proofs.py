"""Whole proofs through the public interface: time, memory, size."""

import numpy as np

from whir_mlx import Whir
from whir_mlx.bench.shapes import SHAPES
from whir_mlx.field.constants import P
from whir_mlx.protocol.proof import size_bytes

from .common import DEVICES, usable

_READY = {}
"""Provers of this process that have run once: asv sets up again before every sample."""


def ready(device, shape, n):
    """(prover, values, commitment, proof) of one statement, warm."""
    key = device, shape, n
    if key not in _READY:
        pcs = Whir.from_choices(SHAPES[shape].statement(n).choices, device=usable(device))
        evals = np.random.default_rng(11).integers(0, P, 1 << n, dtype=np.uint32)
        commitment, data = pcs.commit(evals)
        proof = pcs.open(data)
        pcs.verify(commitment, proof)
        _READY[key] = pcs, evals, commitment, proof
    return _READY[key]


class Proofs:
    """2^10 shows what a launch costs, the others what the stages cost."""

    params = (DEVICES, tuple(SHAPES), (10, 18, 20, 22))
    param_names = ("device", "shape", "n")
    # One proof a sample: the shortest takes milliseconds, far above the clock's resolution.
    number = 1
    warmup_time = 0
    repeat = (3, 20, 10.0)

    def setup(self, device, shape, n):
        self.pcs, self.evals, self.commitment, self.proof = ready(device, shape, n)

    def time_commit_and_open(self, device, shape, n):
        _, data = self.pcs.commit(self.evals)
        self.pcs.open(data)

    def time_commit(self, device, shape, n):
        self.pcs.commit(self.evals)

    def time_verify(self, device, shape, n):
        self.pcs.verify(self.commitment, self.proof)

    def peakmem_commit_and_open(self, device, shape, n):
        self.time_commit_and_open(device, shape, n)

    def track_proof_bytes(self, device, shape, n):
        return size_bytes(self.proof)

    track_proof_bytes.unit = "bytes"
