"""Arrays past 2^31 bytes: index arithmetic of every kernel at the largest sizes that it may have, and refusals beyond.

No array is there: the check build takes stand-ins (large_cases.py) and runs the first and the last group of each
launch and two between, with bounds, `int` overflows (UBSan), and every `uint` index against what it would be with 64
bits. Where a result has a quick formula, the words written at these far places are compared with it.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.conftest import make_target
from tests.kernels.large_cases import large_cases, run_large
from tests.kernels.operation_cases import operation
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import CpuDevice, refuse_large
from whir_mlx.kernels.targets.cpu_check import sanitizers
from whir_mlx.kernels.targets.cpu_sparse import SparseDevice, SparseLaunch, StandIn
from whir_mlx.kernels.targets.gpu import GpuDevice
from whir_mlx.kernels.text import FOLDER

CASES = {case.label: case for case in large_cases()}


@pytest.fixture(autouse=True)
def compiler():
    make_target("check")
    if not sanitizers():
        pytest.skip("UBSan, which sees overflows of `int`, is not installed")


@pytest.mark.parametrize("label", CASES)
def test_indices_at_the_largest_sizes(label):
    assert run_large(CASES[label], SparseDevice()) == ""


def test_transforms_whose_lanes_cross_rows():
    """The other form of a pass (WIDE 0), which the CPU target takes where columns do not fill its vectors."""
    device = SparseDevice()
    device.vector_lanes = 16
    assert run_large(CASES["ntt 2^27 to 2^27 x 15"], device) == ""
    assert {launch.name for launch in device.launches} == {"ntt"}


def test_every_kernel_is_among_them():
    """And each launch that can have one has an array of 4 GB or more."""
    largest: dict[str, int] = {}
    for case in large_cases():
        device = Noting()
        run_large(replace(case, reference=None), device)
        for name, words in device.noted:
            largest[name] = max(largest.get(name, 0), words)
    assert set(largest) == {path.stem for path in FOLDER.glob("*.metal")}
    # eq_table: of more than 2^18 entries it makes factors, and eq_outer the table; sumcheck_rest,
    # sumcheck_draw_fold and point_weights refuse many.
    small = {"challenge", "eq_table", "grind", "grind_sixteen", "point_weights", "query_tables", "replay", "simd_width"}
    small |= {"sumcheck_draw_fold", "sumcheck_rest"}
    assert {name for name, words in largest.items() if words < 1 << 30} == small


class Noting(SparseDevice):
    """Runs nothing."""

    def __init__(self):
        super().__init__()
        self.noted = []

    def launch(self, name, size, inputs, outputs, **keywords):
        made = [StandIn(shape) for shape in outputs]
        self.noted.append((name, max(x.size for x in (*inputs, *made))))
        self.launches.append(SparseLaunch(name, size, inputs, [], []))
        return made


# Beyond


@pytest.mark.parametrize("make", [CpuDevice, lambda: SparseDevice(), lambda: GpuDevice("metal", trace=True)])
def test_larger_arrays_are_refused(make):
    """Inputs and outputs of 2^31 words, on every target, before anything is allocated."""
    device = make()
    with pytest.raises(ValueError, match=r"fewer than 2\^31 words, got 2147483648 for montgomery"):
        device.launch("montgomery", (1,), [], [(1 << 29, 4)], grid=(1, 1, 1), values={"TO_MONTGOMERY": 1})
    large = np.broadcast_to(np.zeros(1, np.uint32), (1 << 31,))
    with pytest.raises(ValueError, match=r"fewer than 2\^31 words"):
        refuse_large("gather_rows", [large], [4])


def test_long_messages_are_refused():
    """The transcript counts absorbed words in one `int`."""
    long = StandIn((1 << 30,))
    with pytest.raises(ValueError, match="segments must hold fewer than"):
        operation("challenge")(SparseDevice(), np.zeros(26, np.uint32), [long, long], num_samples=1)


# On a GPU with memory for it


@pytest.mark.parametrize(
    "name", [pytest.param("cuda", marks=pytest.mark.cuda), pytest.param("metal", marks=pytest.mark.metal)]
)
def test_real_arrays_past_2_32_bytes(name):
    """2^30 words and some, 4 GB an array: to Montgomery words and back, and a transform and its inverse."""
    import mlx.core as mx

    device = make_target(name)
    facts = mx.device_info()  # Metal's name for it, then CUDA's
    if facts.get("memory_size", facts.get("total_memory", 0)) < 24 << 30:
        pytest.skip("this needs 24 GB of memory")
    words = (1 << 30) + 1000
    x = mx.arange(words, dtype=mx.uint32) % P
    back = operation("from_montgomery", "montgomery")(device, operation("to_montgomery", "montgomery")(device, x))
    assert mx.all(back == x).item()
    matrix = x[: 1 << 30].reshape((1 << 26, 16))
    there = operation("ntt")(device, matrix, log_rows=26)
    assert mx.all(operation("ntt")(device, there, log_rows=26, inverse=True) == matrix).item()
