"""Whether a proof fits a GPU, and where it runs if not: in steps, then on the CPU.

The limits: `WHIR_MLX_MAX_BYTES` (bytes, or with K, M or G: powers of 1024) and `WHIR_MLX_GPU_MAX_LOG_N` (variables) of
the user, and what the device itself recommends (Metal) or has (CUDA).
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass

from whir_mlx.choices import Choices
from whir_mlx.estimate import PROCESS_BYTES, estimate
from whir_mlx.hardware import size_text
from whir_mlx.kernels.device import Device, get_device, host_target
from whir_mlx.kernels.targets.stepwise import StepwiseDevice, stepwise
from whir_mlx.protocol.planning import Memory, plan_memory
from whir_mlx.protocol.statement import Schedule

__all__ = [
    "MAX_BYTES",
    "MAX_LOG_N",
    "Limit",
    "gpu_bytes",
    "gpu_limit",
    "gpu_memory",
    "host_bytes",
    "parse_bytes",
    "place",
]

MAX_BYTES, MAX_LOG_N = "WHIR_MLX_MAX_BYTES", "WHIR_MLX_GPU_MAX_LOG_N"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Over the arrays: tables that proofs of other sizes left (34 to 40 MB on an H200 after 2^24), and sizes rounded up.
_GPU_MARGIN = 1.05
_GPU_BYTES = 48 * 2**20


@dataclass(frozen=True)
class Limit:
    """Bytes of device memory, and whose word they are."""

    bytes: int
    source: str


def parse_bytes(name: str, text: str) -> int:
    """Bytes of a text such as 8G or 500000000. Raises ValueError that names `name` for anything else."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip().upper())
    if not found:
        raise ValueError(f"{name} must be a number of bytes, with K, M or G for powers of 1024, got {text!r}")
    return int(found.group(1)) * _UNITS[found.group(2)]


def gpu_limit(device: Device) -> Limit | None:
    """The least of the limits on a lazy device's memory; None where nobody names one."""
    limits = []
    chosen = os.environ.get(MAX_BYTES)
    if chosen:
        limits.append(Limit(parse_bytes(MAX_BYTES, chosen), MAX_BYTES))
    facts = device.facts()
    if facts.get("max_recommended_working_set_size"):
        own = int(facts["max_recommended_working_set_size"])
        limits.append(Limit(own, "the working set that the device recommends"))
    elif facts.get("total_memory"):
        limits.append(Limit(int(facts["total_memory"]), "the device's memory"))
    return min(limits, key=lambda limit: limit.bytes, default=None)


def gpu_memory(target: str, choices: Choices, schedule: Schedule | None = None) -> Memory:
    """The planned arrays of a proof on "metal" or "cuda"; schedule: by default every column once."""
    schedule = Schedule.all_columns(choices.layout) if schedule is None else schedule
    return plan_memory(target, choices.layout, choices.config, choices.tree, schedule)


def gpu_bytes(arrays: int) -> int:
    """Device memory to have for arrays of so many bytes."""
    return int(_GPU_MARGIN * arrays) + _GPU_BYTES


def host_bytes(device: Device, choices: Choices, schedule: Schedule, *, sumcheck: str = "device") -> int:
    """Host memory that proving on `device` takes: all of it where the device is the host or shares its memory; with
    CUDA the given tables and their copy."""
    if device.lazy and device.name == "metal":
        return PROCESS_BYTES + gpu_bytes(gpu_memory("metal", choices, schedule).peak)
    if device.lazy and sumcheck == "device":
        return PROCESS_BYTES + 2 * sum(4 * shape.columns << shape.log_rows for shape in choices.tables)
    return estimate(choices, schedule).peak_bytes


def _max_log_n() -> int | None:
    text = os.environ.get(MAX_LOG_N)
    if not text:
        return None
    if not text.strip().isdecimal():
        raise ValueError(f"{MAX_LOG_N} must be a number of variables, got {text!r}")
    return int(text)


def place(device: Device, choices: Choices, schedule: Schedule | None = None, *, fallback: bool = True) -> Device:
    """The device on which `choices` are proved and opened by `schedule` (default: every column once): `device` where
    that fits, else with a RuntimeWarning the same GPU in steps, else the CPU.

    Raises MemoryError instead without `fallback`, and ValueError for a limit of the environment that is no number.
    """
    if not device.lazy:
        return device
    n, most = choices.layout.num_variables, _max_log_n()
    if most is not None and n > most:
        host = get_device(host_target())
        _say(f"2^{n} elements are over 2^{most}, the most for a GPU by {MAX_LOG_N}", f"on {host.name!r}", fallback)
        return host
    limit = gpu_limit(device)
    if limit is None:
        return device
    memory = gpu_memory(device.name, choices, schedule)
    in_steps = isinstance(device, StepwiseDevice)  # it was placed before, and said so
    whole, steps = gpu_bytes(memory.stepwise if in_steps else memory.peak), gpu_bytes(memory.stepwise)
    if whole <= limit.bytes:
        return device
    why = (
        f"this proof is planned at {size_text(whole)} ({whole} bytes) of device memory, over the {limit.bytes} bytes "
        f"of {limit.source}"
    )
    if steps <= limit.bytes:
        _say(why, f"in steps, with {size_text(steps)} ({steps} bytes)", fallback)
        return stepwise(device)
    host = get_device(host_target())
    _say(f"{why}, and in steps at {size_text(steps)} ({steps} bytes)", f"on {host.name!r}", fallback)
    return host


def _say(why: str, instead: str, fallback: bool) -> None:
    if not fallback:
        raise MemoryError(f"{why}; without fallback=False it would be proved {instead}")
    warnings.warn(f"{why}: proving {instead}", RuntimeWarning, stacklevel=4)
