"""Every kernel under Metal's memory model: known answers, whatever the order of threads.

The cases of the self-test run on the check build with Metal's launch shapes and its race detector, under several orders
of groups and threads and several SIMD widths.

Sizes: the self-test's, which cross a group and a SIMD group. Kernels that hand words over by lane number know only
groups of 32 (ext_sum_simd) or of 16 and 32 (challenge, tree_layers).
"""

import pytest

from tests.kernels.conftest import make_target
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.targets.cpu_check import CheckError, get_check_device
from whir_mlx.kernels.text import load
from whir_mlx.selftest.answers import digest, known_answers
from whir_mlx.selftest.cases import kernel_cases

CASES = {case.label: case for case in kernel_cases()}
# (seed of the orders, SIMD width). 8 and 64 are wider and narrower than any Apple GPU's.
ORDERS = ((2, 32), (3, 32), (4, 64), (5, 8))
NEEDS_32 = ("ext_sum",)


def runs_at(label: str, width: int) -> bool:
    """Whether the package launches the case's kernel on a device of this SIMD width."""
    kernel = label.split(":")[0]
    return width == 32 or not (
        kernel in NEEDS_32 or load(kernel).has_simd or label.startswith(("dot", "fold_axis", "sumcheck_round"))
    )


def device_of(seed: int, width: int) -> Device:
    make_target("check")
    return get_check_device(seed=seed, simd_width=width)


@pytest.mark.parametrize(("seed", "width"), ORDERS)
@pytest.mark.parametrize("label", CASES)
def test_answers_do_not_depend_on_order(label, seed, width):
    if not runs_at(label, width):
        pytest.skip("this kernel counts on SIMD groups of 32")
    if label == "ntt: 2^14 x 1, padded" and seed > 2:
        pytest.skip("three passes in one order are enough")
    assert digest(CASES[label].run(device_of(seed, width))) == known_answers()[label]


@pytest.mark.parametrize("width", [8, 16])
def test_narrow_simd_groups_are_refused(width):
    """On a GPU of other SIMD groups the answer is an error of the check build, never a silent one."""
    with pytest.raises(CheckError):
        CASES["ext_sum: many"].run(device_of(0, width))
