"""The CPU target: kernel texts compiled by the host compiler, run over NumPy arrays by a pool of threads."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import DeviceError
from ..text import FOLDER, load
from .compiler import build_library, find_compiler, vector_builds
from .cpu_source import fast_source

OPTIMISE = ("-O3", "-fno-strict-aliasing", "-w", "-Wno-psabi")
_MAX_BUFFERS = 16


class _Launch(ctypes.Structure):
    _fields_ = [
        ("buffers", ctypes.c_void_p * _MAX_BUFFERS),
        ("words", ctypes.c_int64 * _MAX_BUFFERS),
        ("grid", ctypes.c_int32 * 3),
        ("group", ctypes.c_int32 * 3),
    ]


@dataclass(frozen=True)
class CompiledKernel:
    """A loaded kernel: the addresses of its two entry points, and the threads a vector that it was built for."""

    items: int
    slice: int
    lanes: int


def default_threads() -> int:
    """Threads of the pool: `WHIR_MLX_THREADS`, else the cores this process may use."""
    chosen = os.environ.get("WHIR_MLX_THREADS")
    if chosen:
        return max(1, int(chosen))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=None)
def _pool_run():
    source = (FOLDER / "dialect" / "cpu_pool.cpp").read_text(encoding="utf-8")
    run = build_library(source, OPTIMISE, "pool").pool_run
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    run.restype = None
    return run


@lru_cache(maxsize=None)
def native_lanes() -> int:
    """Threads a vector of the widest unit here, or `WHIR_MLX_CPU_LANES`."""
    chosen = os.environ.get("WHIR_MLX_CPU_LANES")
    return int(chosen) if chosen else next(iter(vector_builds()))


@lru_cache(maxsize=None)
def compile_kernel(name: str, values: tuple[tuple[str, int], ...], lanes: int, native: int) -> CompiledKernel:
    """Build one specialisation of `<name>.metal` for the vector unit of `native` lanes; `lanes` 0 stands for that width."""
    builds = vector_builds()
    if native not in builds and native != 1:
        raise DeviceError(f"vectors of {native} threads: this machine has {sorted(builds)}")
    flags = builds.get(native, next(iter(builds.values())))
    width = lanes or native
    source = fast_source(load(name), dict(values), width)
    library = build_library(source, OPTIMISE + flags, name)
    address = [ctypes.cast(getattr(library, f"kernel_{entry}"), ctypes.c_void_p).value for entry in ("items", "slice")]
    return CompiledKernel(address[0], address[1], width)


def available() -> bool:
    """Whether a C++ compiler is at hand."""
    return find_compiler() is not None


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
    outputs = [np.empty(shape, np.uint32) for shape in output_shapes]
    launch = _Launch()
    for index, array in enumerate(inputs + outputs):
        launch.buffers[index] = array.ctypes.data
        launch.words[index] = array.size
    across = grid[0] * built.lanes if grouped else grid[0]
    launch.grid[:] = (across, grid[1], grid[2])
    launch.group[:] = (built.lanes, 1, 1)
    _pool_run()(built.items, built.slice, ctypes.addressof(launch), threads)
    return outputs
