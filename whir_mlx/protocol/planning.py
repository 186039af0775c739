"""The memory of a proof, known before it is made: commit and open played on shapes (`kernels/targets/shapes.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock

from whir_mlx.kernels.targets.shapes import Meter, ShapeDevice
from whir_mlx.protocol import prover
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle import MerkleTree
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.statement import Schedule
from whir_mlx.protocol.transcript import Transcript

__all__ = ["Memory", "plan_memory"]

_TURN = Lock()


@dataclass(frozen=True)
class Memory:
    """Bytes of arrays that a proof takes on a target, the given tables included.

    commit, open: the most at one time while committing, and while opening with what the commitment keeps. On a GPU
    these count everything that one graph makes, since MLX gives an array back only once the GPU has passed it.
    kept: between the two. stepwise: the most at one time where every launch is waited for (on the CPU always).
    """

    commit: int
    open: int
    kept: int
    stepwise: int

    @property
    def peak(self) -> int:
        """The larger of commit and open."""
        return max(self.commit, self.open)


@cache
def _device(target: str) -> ShapeDevice:
    # One a target, since seeds and tables are kept by device.
    return ShapeDevice(target)


@lru_cache(maxsize=64)
def plan_memory(target: str, layout: Layout, config: WhirConfig, tree: TreeConfig, schedule: Schedule) -> Memory:
    """What commit and open will hold. target: "cpu", "cuda" or "metal". Takes some milliseconds and no large array."""
    with _TURN:
        device = _device(target)
        meter = device.meter = Meter(pooled=target == "cpu")
        tables = [device.new((shape.columns, 1 << shape.log_rows)) for shape in layout.tables]
        # Under the caches of compiled programs, which are for proofs.
        words, f, rows, layers, state = prover._commit_program.__wrapped__(device, layout, config, tree)(tables)
        if target != "cpu":  # there the tables are views of what the caller holds on to
            del tables
        commit, commit_peak = meter.total, meter.peak
        kept = meter.used
        meter.start_total()
        committed = MerkleTree(tree, rows, tuple(layers))
        transcript = Transcript(device, state=state)
        proof = prover._open(device, layout, config, schedule, transcript, committed, words, f, None)
        proof.flat()
        opened = kept + meter.total
    if target == "cpu":
        return Memory(commit_peak, meter.peak, kept, meter.peak)
    return Memory(commit, opened, kept, meter.peak)
