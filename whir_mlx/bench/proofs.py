"""Times of whole proofs: commit + open, and verification."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

from whir_mlx.bench.machine import host_device
from whir_mlx.bench.shapes import Statement
from whir_mlx.kernels.device import Device
from whir_mlx.protocol.proof import Commitment, Proof, size_bytes
from whir_mlx.protocol.prover import ProverData, commit_tables, open_proof, read_commitment
from whir_mlx.protocol.verifier import verify_proof
from whir_mlx.splitmix import splitmix

__all__ = ["ProofTimes", "Prover", "median"]


def median(values: list[float]) -> float:
    """The median, rounded to a tenth of a microsecond where the values are milliseconds."""
    return round(statistics.median(values), 4)


@dataclass
class ProofTimes:
    """Milliseconds, one entry a run. `commit` of a lazy device only builds its graph, which `open` then computes."""

    first: float
    commit: list[float] = field(default_factory=list)
    open: list[float] = field(default_factory=list)
    verify: list[float] = field(default_factory=list)
    proof_bytes: int = 0

    @property
    def total(self) -> list[float]:
        """commit + open of every run."""
        return [c + o for c, o in zip(self.commit, self.open, strict=True)]


class Prover:
    """One statement with its data on the device, ready to be proved again and again.

    Data: entry i is `splitmix(seed, i)`, as in every other tool.
    """

    def __init__(self, device: Device, statement: Statement, seed: int = 0):
        self.device, self.statement = device, statement
        self.tables = [device.asarray(splitmix(seed, 1 << statement.n).reshape(1, -1))]
        device.evaluate(*self.tables)
        self._verifier = host_device()

    def prove(self) -> tuple[ProverData, Proof, float, float]:
        """One proof: (prover's data, proof, milliseconds of commit, of open)."""
        choices = self.statement.choices
        start = time.perf_counter()
        data = commit_tables(self.device, choices.layout, choices.config, choices.tree, self.tables)
        committed = time.perf_counter()
        proof = open_proof(data, self.statement.schedule)
        opened = time.perf_counter()
        return data, proof, 1e3 * (committed - start), 1e3 * (opened - committed)

    def verify(self, commitment: Commitment, proof: Proof) -> float:
        """Milliseconds of verification on the host. Raises VerificationError where the proof is wrong."""
        choices = self.statement.choices
        start = time.perf_counter()
        verify_proof(
            self._verifier, choices.layout, self.statement.schedule, choices.config, choices.tree, commitment, proof
        )
        return 1e3 * (time.perf_counter() - start)

    def times(self, runs: int, *, warm_up: int = 1, verify: bool = True) -> ProofTimes:
        """`warm_up` runs that do not count (the very first one may compile kernels), then `runs` that do."""
        if runs < 1:
            raise ValueError(f"runs must be at least 1, got {runs}")
        result = None
        for run in range(-max(1, warm_up), runs):
            data, proof, commit, opened = self.prove()
            if result is None:
                result = ProofTimes(first=commit + opened, proof_bytes=size_bytes(proof))
            if run >= 0:
                result.commit.append(commit)
                result.open.append(opened)
        if verify:
            commitment = read_commitment(data)
            self.verify(commitment, proof)
            result.verify = [self.verify(commitment, proof) for _ in range(runs)]
        return result
