"""Commit and open are one graph: one evaluation and one read a proof, counted on CUDA and on its emulation.

That nothing is read or evaluated inside is shown for Metal, whole, by tests/kernels/test_metal_trace.py, where MLX
itself raises. Here a proof is counted as it runs: every computation that is asked for, every read to the host.
"""

import mlx.core as mx
import numpy as np
import pytest

from tests.emulated import EmulatedGpu
from tests.helpers import load_proof
from tests.proving import commit
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.kernels.targets.gpu import GpuDevice, usable_gpu
from whir_mlx.protocol.prover import open_proof

NAMES = ("suffix_n10_k4_johnson", "prefix_tables", "suffix_tables_next", "suffix_n14_folds")
ASKS_MLX = ("eval", "async_eval", "synchronize")


class Counts:
    """evaluations: calls of MLX's own; reads: arrays brought to the host, each an evaluation too unless computed."""

    def __init__(self, monkeypatch):
        self.evaluations = self.reads = 0
        for name in ASKS_MLX:
            monkeypatch.setattr(mx, name, self._counted(getattr(mx, name), "evaluations"))
        for name in ("numpy", "host_view"):
            monkeypatch.setattr(GpuDevice, name, self._counted(getattr(GpuDevice, name), "reads"))

    def _counted(self, function, what):
        def counted(*arguments, **keywords):
            setattr(self, what, getattr(self, what) + 1)
            return function(*arguments, **keywords)

        return counted


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.cuda)])
def gpu(request):
    if request.param == "emulated":
        if find_compiler() is None:
            pytest.skip("no C++ compiler is installed")
        return EmulatedGpu()
    if usable_gpu() != "cuda":
        pytest.skip("no NVIDIA GPU that MLX can use")
    return get_device("cuda")


@pytest.mark.parametrize("name", NAMES)
def test_one_evaluation_and_one_read_a_proof(name, gpu, monkeypatch):
    case = load_proof(name)
    # Tables and seeds that every proof of a shape shares are made by the first.
    assert open_proof(commit(case.args, case.arguments, gpu), case.arguments["schedule"]) == case.proof
    counts = Counts(monkeypatch)
    data = commit(case.args, case.arguments, gpu)
    assert (counts.evaluations, counts.reads) == (0, 0)  # a commitment that nobody reads waits for the opening
    assert open_proof(data, case.arguments["schedule"]) == case.proof
    # The one read computes the graph: reading an MLX array evaluates it.
    assert (counts.evaluations, counts.reads) == (0, 1)


def test_the_count_sees_evaluations_and_reads(monkeypatch):
    """The test above can fail."""
    counts, x = Counts(monkeypatch), mx.arange(3)
    mx.eval(x)
    mx.async_eval(x)
    assert GpuDevice("metal", trace=True).numpy(x).tolist() == [0, 1, 2]
    assert (counts.evaluations, counts.reads) == (2, 1)


def test_the_proofs_words_are_all_that_is_read(gpu, monkeypatch):
    """One flat array of a few thousand words, whatever the size of the tables."""
    case, sizes = load_proof("suffix_n14_folds"), []
    read = GpuDevice.numpy

    def watched(self, x, *, words=None):
        sizes.append(words)
        return read(self, x, words=words)

    monkeypatch.setattr(GpuDevice, "numpy", watched)
    data = commit(case.args, case.arguments, gpu)
    open_proof(data, case.arguments["schedule"])
    assert len(sizes) == 1 and 0 < sizes[0] < 1 << 16
    assert isinstance(read(gpu, data.tree.cap), np.ndarray)
