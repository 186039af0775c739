"""The CPU target: kernel texts compiled by the host compiler, run over NumPy arrays by a pool of threads."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from ...errors import DeviceError
from ..text import FOLDER, load
from .buffers import BufferPool, address
from .compiler import build_library, find_compiler, vector_builds
from .cpu_source import fast_source

OPTIMISE = ("-O3", "-fno-strict-aliasing", "-w", "-Wno-psabi")
MAX_BUFFERS = 32


# The `Launch` of dialect/cpu_common.h: buffers, their lengths (read by the check build only), grid, group.
_LAUNCH = struct.Struct(f"={MAX_BUFFERS}Q{MAX_BUFFERS}q3i3i")
LAUNCH_BYTES = _LAUNCH.size
_NO_WORDS = (0,) * MAX_BUFFERS
BUFFERS = BufferPool()


class _Scratch(threading.local):
    """One launch record per thread, packed anew for every launch."""

    def __init__(self):
        self.record = bytearray(_LAUNCH.size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.record))


_SCRATCH = _Scratch()


@dataclass(frozen=True)
class CompiledKernel:
    """A loaded kernel: the addresses of its two entry points, and the threads a vector that it was built for."""

    items: int
    slice: int
    lanes: int

    def threads(self, grid: tuple[int, int, int], grouped: bool) -> tuple[int, int, int]:
        """A grid of threads, or of groups where `grouped` (each one vector), in threads."""
        return (grid[0] * self.lanes, *grid[1:]) if grouped else grid


def default_threads() -> int:
    """Threads of the pool: `WHIR_MLX_THREADS`, else the cores this process may use."""
    chosen = os.environ.get("WHIR_MLX_THREADS")
    if chosen:
        return max(1, int(chosen))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def pool():
    """The library of dialect/cpu_pool.cpp."""
    source = (FOLDER / "dialect" / "cpu_pool.cpp").read_text(encoding="utf-8")
    library = build_library(source, OPTIMISE, "pool")
    library.pool_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    library.pool_run_all.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.pool_run.restype = library.pool_run_all.restype = None
    return library


def packed_launch(addresses, grid: tuple[int, int, int], lanes: int) -> bytes:
    """The record of a launch on buffers at `addresses`; grid counts threads."""
    return _LAUNCH.pack(*addresses, *(0,) * (MAX_BUFFERS - len(addresses)), *_NO_WORDS, *grid, lanes, 1, 1)


@cache
def native_lanes() -> int:
    """Threads a vector of the widest unit here, or `WHIR_MLX_CPU_LANES`."""
    chosen = os.environ.get("WHIR_MLX_CPU_LANES")
    return int(chosen) if chosen else next(iter(vector_builds()))


@cache
def compile_kernel(name: str, values: tuple[tuple[str, int], ...], lanes: int, native: int) -> CompiledKernel:
    """Build one specialisation of `<name>.metal` for the vector unit of `native` lanes; `lanes` 0 stands for that
    width."""
    builds = vector_builds()
    if native not in builds and native != 1:
        raise DeviceError(f"vectors of {native} threads: this machine has {sorted(builds)}")
    flags = builds.get(native, next(iter(builds.values())))
    width = lanes or native
    source = fast_source(load(name), dict(values), width)
    library = build_library(source, OPTIMISE + flags, name)
    address = [ctypes.cast(getattr(library, f"kernel_{entry}"), ctypes.c_void_p).value for entry in ("items", "slice")]
    return CompiledKernel(address[0], address[1], width)


@lru_cache(maxsize=64)
def prepare(kernels: tuple[tuple[str, tuple[tuple[str, int], ...], int], ...], native: int) -> None:
    """Build several kernels at once, as many as there are cores: the compiler uses one each."""
    with ThreadPoolExecutor(max_workers=default_threads()) as builders:
        for done in [builders.submit(compile_kernel, name, values, lanes, native) for name, values, lanes in kernels]:
            done.result()


def available() -> bool:
    """Whether a C++ compiler is at hand."""
    return find_compiler() is not None


class BoundLaunch:
    """A launch of one kernel on buffers that stay: packed once, then a call costs little more than the kernel.

    buffers: inputs and outputs in the kernel's order, kept alive here. It runs on the calling thread alone.
    """

    def __init__(self, built: CompiledKernel, buffers: list[np.ndarray], grid: tuple[int, int, int]):
        self._buffers = buffers
        self._record = bytearray(packed_launch([address(array) for array in buffers], grid, built.lanes))
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._record))
        self._built = built
        self._run = pool().pool_run

    def __call__(self) -> None:
        self._run(self._built.items, self._built.slice, self._address, 1)


def run(
    name: str,
    inputs: list[np.ndarray],
    output_shapes: list[tuple[int, ...]],
    *,
    grid: tuple[int, int, int],
    values: dict[str, int],
    lanes: int,
    native: int,
    grouped: bool,
    threads: int,
) -> list[np.ndarray]:
    """Run one kernel. `grid` counts threads, or groups where `grouped`; outputs are new arrays."""
    built = compile_kernel(name, tuple(sorted(values.items())), lanes, native)
    if load(name).atomic:
        outputs = [np.zeros(shape, np.uint32) for shape in output_shapes]
    else:
        outputs = [BUFFERS.empty(shape) for shape in output_shapes]
    addresses = [address(array) for array in (*inputs, *outputs)]
    addresses += [0] * (MAX_BUFFERS - len(addresses))
    _LAUNCH.pack_into(_SCRATCH.record, 0, *addresses, *_NO_WORDS, *built.threads(grid, grouped), built.lanes, 1, 1)
    pool().pool_run(built.items, built.slice, _SCRATCH.address, threads)
    return outputs
