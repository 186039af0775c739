"""Whole proofs traced for the Metal target, on any machine: commit and open are one graph, grinding in short windows.

What MLX generates is looked at in test_metal_syntax.py and test_metal_limits.py.
"""

import mlx.core as mx
import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, load_proof
from tests.kernels.metal_launches import base_name
from tests.kernels.metal_trace import HostRead, TracingDevice, record, trace_proof
from tests.proving import tables_of
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.grind import grind


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_commit_and_open_are_one_graph(name):
    """Nothing is evaluated or read before the end: MLX raises at an evaluation in a trace, `trace_proof` at a read."""
    case = load_proof(name)
    kernels = trace_proof(case.args, case.arguments, tables_of(case.args))
    assert {"ntt", "grind", "challenge", "sumcheck_rest"} - {base_name(kernel.name) for kernel in kernels} <= {"grind"}


def test_a_read_or_an_evaluation_ends_a_trace():
    """The test above can fail."""
    device = TracingDevice()

    def launch(x):
        return device.launch("montgomery", (8,), [x], [(8,)], grid=(8, 1, 1), values={"TO_MONTGOMERY": 1})

    def evaluating(x):
        out = launch(x)
        device.evaluate(*out)
        return out

    def reading(x):
        device.numpy(launch(x)[0])

    x = mx.arange(8, dtype=mx.uint32)
    assert len(record(launch, x)) == 1
    with pytest.raises((RuntimeError, ValueError)):
        record(evaluating, x)
    with pytest.raises(HostRead):
        record(reading, x)


class LaunchSizes(Device):
    """A device that runs nothing and keeps the size words of every launch."""

    def __init__(self):
        super().__init__("metal")
        self.sizes = []

    def launch(self, name, size, inputs, outputs, **shape):
        self.sizes.append(size)
        return [np.zeros(output, np.uint32) for output in outputs]


@pytest.mark.parametrize("bits", [1, 16, 20, 30])
def test_grinding_windows_are_short(bits):
    """2^21 permutations take a small Apple GPU about 60 ms; past some 100 ms a dispatch its watchdog may strike."""
    device = LaunchSizes()
    grind(device, np.zeros(26, np.uint32), bits=bits)
    windows = [threads * tries for threads, _, _, tries, *_ in device.sizes]
    assert max(windows) <= 1 << 21
    # Together they reach 32 times the expected search, or every word below p.
    assert sum(windows) >= min(32 << bits, 15 * 2**27 + 1)
