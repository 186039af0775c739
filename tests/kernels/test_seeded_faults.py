"""Every seeded fault is caught by its check (seeded_faults.py), and the unchanged kernels pass those checks."""

import re
from dataclasses import replace

import pytest

from tests.kernels.conftest import make_target
from tests.kernels.metal_clang import CLANG
from tests.kernels.seeded_faults import CLANG_CHECKS, FAULTS, LAUNCH_FAULTS, found, found_in_launch
from whir_mlx.kernels.targets.cpu_check import sanitizers


def need(check: str) -> None:
    """Skips where the check's tool is missing."""
    if check in CLANG_CHECKS:
        if CLANG is None:
            pytest.skip("no clang that knows AMD GPUs is installed")
    else:
        make_target("check")


def test_there_are_enough():
    assert len(FAULTS) >= 25
    assert {fault.check for fault in FAULTS.values()} == {"check", "answer", "large", *CLANG_CHECKS}


@pytest.mark.parametrize("label", FAULTS)
def test_fault_is_caught(label):
    fault = FAULTS[label]
    need(fault.check)
    said = found(fault)
    assert re.search(fault.words, said), said[:2000] or "nothing was found"


@pytest.mark.parametrize(("check", "kernel", "case"), sorted({(f.check, f.kernel, f.case) for f in FAULTS.values()}))
def test_without_a_fault_nothing_is_found(check, kernel, case):
    need(check)
    fault = next(f for f in FAULTS.values() if (f.check, f.kernel, f.case) == (check, kernel, case))
    assert found(replace(fault, new=fault.old)) == ""


@pytest.mark.parametrize("label", LAUNCH_FAULTS)
def test_launch_fault_is_caught(label):
    changes, words = LAUNCH_FAULTS[label]
    assert re.search(words, found_in_launch(changes)) and found_in_launch({}) == ""


def test_sanitizers_are_there():
    """Undefined shifts and overflows of `int` are the sanitizers' to find; without them the check build is weaker."""
    make_target("check")
    if not sanitizers():
        pytest.skip("AddressSanitizer and UBSan are not installed")
