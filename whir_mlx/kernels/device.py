"""Devices: where kernels run.

`Device.launch` is the one way from a wrapper to a kernel, on every target. Arrays are `uint32` and C-contiguous: NumPy
arrays on `cpu` and `numpy`, lazy MLX arrays on `metal` and `cuda`.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache, partial
from math import prod

import numpy as np

from ..errors import DeviceError
from .targets import cpu
from .targets.cpu_program import run_program
from .targets.cpu_trace import Recorded, recorder
from .tuning import tuning_for

__all__ = ["Device", "get_device", "host_target"]

NAMES = ("metal", "cuda", "cpu", "numpy")


class Device:
    """A place to run kernels. Made by `get_device`.

    `name` is one of metal, cuda, cpu, numpy; `lazy` says whether launches build a graph instead of running at once.
    """

    def __init__(self, name: str):
        self.name = name
        self.lazy = name in ("metal", "cuda")
        # The launch shapes that the wrappers take; the check build of the CPU target takes a GPU's.
        self.tuning = tuning_for(name)
        # Threads of a SIMD group, as far as a kernel that works by SIMD groups must know.
        self.simd_width = 32
        # Threads whose sums one kernel adds up by itself (REDUCE_WIDTH of the dialect).
        self.reduce_width = 32
        # Threads of a vector on the CPU target; GPUs have no such unit that a wrapper must fill.
        self.vector_lanes = 1

    def __repr__(self) -> str:
        return f"Device({self.name!r})"

    @property
    def array_module(self):
        """The library of this device's arrays: numpy, or mlx.core where launches are lazy; in a trace of the CPU as
        much of one as the prover needs."""
        if self.lazy:
            import mlx.core as mx

            return mx
        return np

    def asarray(self, x) -> np.ndarray:
        """`x` (NumPy or MLX, uint32) as an array of this device. No copy where none is needed."""
        return np.ascontiguousarray(np.asarray(x, dtype=np.uint32))

    def numpy(self, x, *, words: int | None = None) -> np.ndarray:
        """`x` of this device, or the first `words` of its first axis, as a NumPy array; evaluates it first where it is
        lazy."""
        return np.asarray(x)[:words] if words is not None else np.asarray(x)

    def readback_words(self, count: int) -> int:
        """Words, at least `count`, of an array that a proof of `count` words is collected in to be read."""
        return count

    def host_view(self, x) -> np.ndarray:
        """`x` of this device as a NumPy array that is only read: without a copy where the host shares its memory."""
        return self.numpy(x)

    def facts(self) -> dict:
        """What the back-end says of the hardware; empty for the host."""
        return {}

    def table(self, shape: tuple[int, ...], build):
        """The NumPy array that `build()` gives, of `shape`, on this device; one that only plans never builds it."""
        return self.asarray(build())

    def prepare(self, kernels: tuple[tuple[str, tuple[tuple[str, int], ...], int], ...]) -> None:
        """Build `kernels`, (name, specialisation values, lanes) as launches give them, before they are needed.

        Saves time where building takes long and can be done in parallel (the CPU target); elsewhere does nothing.
        """

    def compile(self, function):
        """`function` of arrays in lists and tuples, made to trace once and replay where launches are lazy, and on the
        CPU; else as it is. Arrays that it captures are taken as they are when it is traced."""
        if self.lazy:
            import mlx.core as mx

            return mx.compile(function)
        return function

    @property
    def recording(self) -> bool:
        """Whether launches of this thread are kept for later and their arrays have no words yet, on a host device."""
        return False

    def threads_for(self, cost: float) -> int:
        """Host threads that work on a launch of `cost` nanoseconds (1 where the host does none of it)."""
        return 1

    def evaluate(self, *arrays) -> None:
        """Wait until `arrays` are computed (nothing to do where launches run at once)."""

    def bind(self, name: str, buffers: list, *, grid: tuple[int, int, int], lanes: int):
        """A function that runs `<name>.metal` on these `buffers`, its inputs and then its outputs, at every call.

        None where launches do not run at once on the host. For a small kernel that runs again and again, where packing
        costs more than the kernel.

        grid: threads; lanes: threads a vector. Whoever holds the function must not call it from two threads at a time.
        """
        return None

    def launch(
        self,
        name: str,
        size: tuple[int, ...],
        inputs: list,
        outputs: list[tuple[int, ...]],
        *,
        grid: tuple[int, int, int] | None = None,
        groups: tuple[int, int, int] | None = None,
        group: tuple[int, int, int] = (256, 1, 1),
        values: dict[str, int] | None = None,
        lanes: int = 0,
        cost: float = 0.0,
    ) -> list:
        """Launch `<name>.metal`.

        size: host integers, the kernel's first input. inputs, outputs: arrays, and shapes of new arrays.
        grid: threads, for kernels without barriers; or groups: groups of `group` threads each, for those with.
        values: specialisation constants. lanes: threads a vector on the CPU target (0: its widest).
        cost: rough nanoseconds of one CPU core for the whole launch, to decide how many threads are worth waking.
        Returns the list of outputs.
        """
        raise NotImplementedError


MAX_WORDS = (1 << 31) - 1
"""Words of the largest array that a kernel may be given: texts index with 32 bits, some of them signed."""


def refuse_large(name: str, inputs, lengths) -> None:
    """Raises ValueError for an array of 2^31 words (8 GiB) and more. lengths: words of the outputs of kernel `name`."""
    for words in (*(x.size for x in inputs), *lengths):
        if words > MAX_WORDS:
            raise ValueError(f"an array of a kernel must have fewer than 2^31 words, got {words} for {name}")


class CpuDevice(Device):
    """The CPU target (module `targets.cpu`). `lanes`: threads a vector, one of `compiler.vector_builds()` or 1 (0:
    the widest)."""

    def __init__(self, lanes: int = 0):
        super().__init__("cpu")
        self.threads = cpu.default_threads()
        self.vector_lanes = lanes or cpu.native_lanes()
        self.reduce_width = self.vector_lanes
        # Vectors of this many threads stand for SIMD groups; 16 are what a cooperative permutation needs.
        self.simd_width = 16

    @property
    def array_module(self):
        return recorder() or np

    @property
    def recording(self) -> bool:
        return recorder() is not None

    def asarray(self, x):
        return x if isinstance(x, Recorded) else super().asarray(x)

    def table(self, shape, build):
        table = super().table(shape, build).view()
        table.setflags(write=False)  # so that traces need no copy of it
        return table

    def compile(self, function):
        """`function`, traced once for each shapes of its arguments, and replayed where launches are short."""
        return partial(run_program, {}, self, function)

    def prepare(self, kernels):
        cpu.prepare(kernels, self.vector_lanes)

    def threads_for(self, cost: float) -> int:
        """Pool threads that a launch of `cost` nanoseconds is worth."""
        return self.threads if cost > self.tuning.wake_nanoseconds else 1

    def bind(self, name, buffers, *, grid, lanes):
        return cpu.BoundLaunch(cpu.compile_kernel(name, (), lanes, self.vector_lanes), buffers, grid)

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, lanes=0, cost=0.0
    ):
        trace = recorder()
        arrays = [_size_array(size), *(inputs if trace else (np.ascontiguousarray(x) for x in inputs))]
        refuse_large(name, arrays, [prod(shape) for shape in outputs])
        return (trace.launch if trace else cpu.run)(
            name,
            arrays,
            outputs,
            grid=grid or groups,
            values=values or {},
            lanes=lanes,
            native=self.vector_lanes,
            grouped=groups is not None,
            threads=self.threads_for(cost),
        )


@lru_cache(maxsize=4096)
def _size_array(size: tuple[int, ...]) -> np.ndarray:
    array = np.array(size, np.uint32)
    array.setflags(write=False)
    return array


@cache
def _make(name: str) -> Device:
    if name == "numpy":
        return Device("numpy")
    if name == "cpu":
        if not cpu.available():
            raise DeviceError(
                "device 'cpu' needs a C++ compiler (looked for CXX, g++, c++, clang++); 'numpy' needs none"
            )
        return CpuDevice()
    from .targets.gpu import GpuDevice

    return GpuDevice(name)


def get_device(name: str | Device = "auto", *, check: bool = True) -> Device:
    """The device called `name`, made at first use and kept.

    name: "auto" | "metal" | "cuda" | "cpu" | "numpy", or a `Device`. "auto" takes `WHIR_MLX_DEVICE`, else a GPU that
    MLX can use, else the CPU target, else NumPy (with a warning: it is some hundred times slower).
    check: let a GPU give a few known answers before its first use in a process (`WHIR_MLX_SELFTEST=0` turns that off).
    One that gets them wrong is replaced by the CPU, with a warning, where "auto" chose it.
    Raises `ValueError` for another name and `DeviceError` where the device is missing or, named, fails its check.
    """
    if isinstance(name, Device):
        return name
    named = name if name != "auto" else os.environ.get("WHIR_MLX_DEVICE")
    name = named or _best()
    if name not in NAMES:
        raise ValueError(f"device must be one of auto, {', '.join(NAMES)}, got {name!r}")
    fault = _fault(name) if check and name in ("metal", "cuda") else None
    if fault is None:
        return _make(name)
    if named:
        raise DeviceError(f"device {name!r} fails its self-test ({_REPORT}): {fault}")
    _warn_of_fault(name, fault)
    return _make(host_target())


def host_target() -> str:
    """The target of the host's own work: "cpu", or "numpy" where there is no C++ compiler."""
    return "cpu" if cpu.available() else "numpy"


_REPORT = "`whir-mlx selftest` says more; WHIR_MLX_SELFTEST=0 uses the device all the same"


@cache
def _fault(name: str) -> str | None:
    """What a GPU gets wrong (`quick_check`), found out once a process; None where nothing, or where the check is
    off."""
    if os.environ.get("WHIR_MLX_SELFTEST") == "0":
        return None
    from .quick_check import quick_check

    return quick_check(_make(name))


@cache
def _warn_of_fault(name: str, fault: str) -> None:
    import warnings

    text = f"the GPU ({name}) fails its self-test and is not used ({_REPORT}): {fault}"
    warnings.warn(text, RuntimeWarning, stacklevel=4)


@cache
def _best() -> str:
    from .targets.gpu import usable_gpu

    found = usable_gpu()
    if found:
        return found
    if cpu.available():
        return "cpu"
    import warnings

    warnings.warn("no GPU and no C++ compiler found: proving with NumPy, which is slow", RuntimeWarning, stacklevel=2)
    return "numpy"
