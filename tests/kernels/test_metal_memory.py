"""Every kernel under Metal's memory model: known answers, whatever the order of threads.

The cases of the self-test run on the check build with Metal's launch shapes and its race detector, under several orders
of groups and threads and several SIMD widths, the threads of a SIMD group running freely; in lock-step they run in
`test_metal_lock_step.py`, a file of its own so that two workers share the work.

Sizes: the self-test's, which cross a group and a SIMD group. Kernels that hand words over by lane number know only
groups of 32 (ext_sum_group) or of 16 and 32 (challenge, tree_layers, grind_sixteen, sumcheck_draw_fold).
"""

import re

import pytest

from tests.kernels.conftest import make_target
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.quick_check import quick_check
from whir_mlx.kernels.targets.cpu_check import CheckDevice, CheckError, get_check_device
from whir_mlx.kernels.text import load
from whir_mlx.selftest.answers import digest, known_answers
from whir_mlx.selftest.cases import kernel_cases

CASES = {case.label: case for case in kernel_cases()}
# (seed of the orders, SIMD width). 8 and 64 are narrower and wider than any Apple GPU's.
FREE_ORDERS = ((2, 32), (4, 64), (5, 8))
NEEDS_32 = ("ext_sum",)


def runs_at(label: str, width: int) -> bool:
    """Whether the package launches the case's kernel on a device of this SIMD width. 4 bits are grind_sixteen's."""
    kernel = label.split(":")[0]
    others = ("dot", "fold_axis", "sumcheck_round", "grind: 4 bits")
    return width == 32 or not (kernel in NEEDS_32 or load(kernel).has_simd or label.startswith(others))


def device_of(seed: int, width: int, lock_step: bool = False) -> Device:
    make_target("check")
    return get_check_device(seed=seed, simd_width=width, lock_step=lock_step)


def check_answer(label: str, seed: int, width: int, lock_step: bool) -> None:
    """The known answer, on the check build with these orders."""
    if not runs_at(label, width):
        pytest.skip("this kernel counts on SIMD groups of 32")
    if label in ("ntt: 2^12 x 24, padded", "ntt: 2^14 x 1, padded") and seed > 3:
        pytest.skip("the longest transforms in one order, and one in lock-step, are enough")
    assert digest(CASES[label].run(device_of(seed, width, lock_step))) == known_answers()[label]


@pytest.mark.parametrize(("seed", "width"), FREE_ORDERS)
@pytest.mark.parametrize("label", CASES)
def test_answers_do_not_depend_on_order(label, seed, width):
    check_answer(label, seed, width, lock_step=False)


@pytest.mark.parametrize("width", [8, 16, 64])
def test_other_simd_groups_fail_the_quick_check(width):
    """Before a process first uses a GPU, the probe tells the width, and the device is not used."""
    make_target("check")
    device = CheckDevice(0, 32, False, "metal")
    device.real_simd_width = width
    said = quick_check(device)
    assert said is not None and re.search(f"SIMD groups have {width} threads|of a SIMD group of {width}", said)
    assert quick_check(get_check_device()) is None


@pytest.mark.parametrize("width", [8, 16])
def test_narrow_simd_groups_are_refused(width):
    """On a GPU of other SIMD groups the answer is an error of the check build, never a silent one."""
    make_target("check")
    device = CheckDevice(0, 32, False, "metal")
    device.real_simd_width = width
    with pytest.raises(CheckError, match=f"of a SIMD group of {width}"):
        CASES["ext_sum: many"].run(device)
