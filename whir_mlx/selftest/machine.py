"""Facts about the machine that a report needs."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import whir_mlx
from whir_mlx.kernels.device import Device

__all__ = ["machine_facts"]


def machine_facts(device: Device) -> dict[str, object]:
    """Versions, system, the device as MLX describes it (memory and limits in bytes), and settings that change MLX's
    work."""
    facts: dict[str, object] = {"device": device.name}
    if device.lazy:
        import mlx.core as mx

        facts |= {key: value for key, value in mx.device_info().items() if isinstance(value, (int, str))}
    system = f"macOS {platform.mac_ver()[0]}" if platform.mac_ver()[0] else f"{platform.system()} {platform.release()}"
    facts |= {"system": system, "machine": platform.machine(), "python": platform.python_version()}
    facts |= {"whir_mlx": whir_mlx.__version__}
    for package in ("mlx", "numpy"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    settings = {
        key: value
        for key, value in os.environ.items()
        if key.startswith(("MLX_", "WHIR_MLX_", "METAL_", "MTL_", "AGX_"))
    }
    return facts | settings
