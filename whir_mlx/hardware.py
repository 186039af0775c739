"""What the machine has: a name for each device, and the memory that is left."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.targets.compiler import compiler_version, find_compiler

__all__ = ["available_memory", "check_memory", "describe", "size_text"]


def describe(device: Device) -> str:
    """The hardware behind a device, in words."""
    if device.name == "cpu":
        lanes = f"{32 * device.vector_lanes}-bit vectors"
        return f"{_processor()}, {device.threads} threads, {lanes}, {compiler_version(find_compiler())}"
    if device.name == "numpy":
        return f"{_processor()}, NumPy {np.__version__}"
    return str(device.facts().get("device_name", device.name))


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def available_memory() -> int | None:
    """Bytes that a new process may take: what the system has free, and what its control group still allows."""
    limits = [limit for limit in (_free_memory(), _group_memory()) if limit is not None]
    return min(limits) if limits else None


def _free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _group_memory() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return None if limit == "max" else max(0, int(limit) - used)
    except (OSError, ValueError):
        return None


def check_memory(peak_bytes: int, limit: int | None) -> None:
    """Refuse what cannot fit. `limit`: bytes, or None for what is available. Raises MemoryError."""
    allowed = available_memory() if limit is None else limit
    if allowed is not None and peak_bytes > allowed:
        what = "are available" if limit is None else "are allowed by --max-memory"
        raise MemoryError(
            f"proving would take about {size_text(peak_bytes)}, and {size_text(allowed)} {what}; "
            f"take fewer variables or a smaller --log-inv-rate"
        )


def size_text(count: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
