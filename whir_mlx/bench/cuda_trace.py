"""Kernel times of a proof as it really runs on an NVIDIA GPU: CUDA's activity records, by way of PyTorch's profiler.

PyTorch is no dependency: where it is missing, or its profiler sees nothing, the caller watches launches one by one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

__all__ = ["trace_kernels"]

# Our kernel: MLX's prefix where MLX compiled it, the kernel, the hash of its text.
_OURS = re.compile(r"(?:custom_kernel_)?(\w+?)_[0-9a-f]{16}")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*(?:<|\(|$)")


def trace_kernels(work: Callable[[], object]) -> tuple[float, list[tuple[str, float, float]]] | None:
    """Runs `work` twice, the second time traced: its milliseconds, and per kernel (name, start, milliseconds) in order.

    Kernels of MLX itself are called "mlx <function>". Starts count from the first kernel. None where nothing is seen.
    """
    try:
        from torch.autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile
    except (ImportError, OSError):  # OSError: its libraries do not load beside those of MLX
        return None
    try:
        with profile(activities=[ProfilerActivity.CUDA]):
            work()  # starting the tracer takes long, and the first traced kernels are late
        with profile(activities=[ProfilerActivity.CUDA]) as traced:
            start = time.perf_counter()
            work()
            whole = 1e3 * (time.perf_counter() - start)
        events = [event for event in traced.events() if event.device_type == DeviceType.CUDA]
    except RuntimeError:  # no right to read activity records, or another tracer holds them
        return None
    spans = sorted((event.time_range.start, event.time_range.elapsed_us(), event.name) for event in events)
    if not any(_OURS.search(name) for *_, name in spans):
        return None
    origin = spans[0][0]
    return whole, [(_short(name), (begin - origin) / 1e3, length / 1e3) for begin, length, name in spans]


def _short(name: str) -> str:
    ours = _OURS.search(name)
    if ours:
        return ours.group(1)
    if name.startswith("Mem"):  # "Memcpy DtoH (Device -> Pageable)" and the like
        return name.split("(")[0].strip()
    function = _FUNCTION.search(name.split("::")[-1] if "<" not in name else name[: name.index("<")].split("::")[-1])
    return f"mlx {function.group(1) if function else name[:40]}"
