"""What a result must say about where it was measured."""

from __future__ import annotations

import os
import platform
from copy import copy
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from whir_mlx import __version__
from whir_mlx.errors import DeviceError
from whir_mlx.hardware import describe
from whir_mlx.kernels.device import Device, get_device

__all__ = ["available_cores", "host_device", "machine_facts", "machine_lines", "with_threads"]


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def host_device() -> Device:
    """Where proofs are verified: the CPU target, or NumPy without a compiler."""
    try:
        return get_device("cpu")
    except DeviceError:
        return get_device("numpy")


def with_threads(device: Device, threads: int | None) -> Device:
    """`device`, on `threads` threads where it has a choice (a copy: devices are shared). Raises ValueError below 1."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    if threads is None or not hasattr(device, "threads"):
        return device
    device = copy(device)
    device.threads = threads
    return device


def machine_facts(device: Device) -> dict:
    """Device, host, versions and the date (UTC), for a results file."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "device": device.name,
        "hardware": describe(device),
        "host": describe(host_device()) if device.lazy else None,
        "cores": available_cores(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": {
            "whir-mlx": __version__,
            "mlx": _version("mlx"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def machine_lines(facts: dict) -> list[str]:
    """For people, and for the head of a markdown file."""
    lines = [f"{facts['device']}: {facts['hardware']}"]
    if facts["host"]:
        lines.append(f"host: {facts['host']}")
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items() if number)
    lines.append(f"{facts['cores']} cores, {facts['system']}; {versions}; {facts['date']}")
    return lines


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
