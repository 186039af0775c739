"""The devices that the kernel tests run on: the `target` fixture, and which of them there are on this machine."""

from functools import cache

import pytest

from whir_mlx.errors import DeviceError
from whir_mlx.kernels.device import CpuDevice, Device, get_device
from whir_mlx.kernels.targets.compiler import find_compiler, vector_builds
from whir_mlx.kernels.targets.cpu_check import get_check_device

WIDTHS = (16, 8, 4, 1)
TARGETS = (
    *(f"cpu-{width}" for width in WIDTHS),
    "check",
    "check-cuda",
    pytest.param("cuda", marks=pytest.mark.cuda),
    pytest.param("metal", marks=pytest.mark.metal),
)
"""cpu-W: the fast build, W threads a vector (1: none). check: the check build, a Metal GPU's groups; check-cuda: with
the last groups filled up as CUDA does, and other orders."""


@cache
def make_target(name: str) -> Device:
    """The device of a target; skips the test, naming the cause, where this machine has none."""
    if name in ("cuda", "metal"):
        try:
            return get_device(name)
        except DeviceError as error:
            pytest.skip(str(error))
    if find_compiler() is None:
        pytest.skip("no C++ compiler is installed")
    if name == "check":
        return get_check_device()
    if name == "check-cuda":
        return get_check_device(seed=1, round_up=True, tuning="cuda")
    width = int(name.removeprefix("cpu-"))
    if width != 1 and width not in vector_builds():
        pytest.skip(f"this processor has no vectors of {width} words")
    return CpuDevice(width)


@pytest.fixture(params=TARGETS)
def target(request) -> Device:
    """Every device that kernels run on, one after the other."""
    return make_target(request.param)
