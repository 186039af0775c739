"""Whether a device computes what it must: known answers of every kernel, and whole proofs.

`run(device)` is what `whir-mlx selftest` shows; `quick_check` runs by itself before a process first uses a GPU
(see `whir_mlx.kernels.device.get_device`).
"""

from whir_mlx.kernels.quick_check import quick_check
from whir_mlx.selftest.checks import Check, run
from whir_mlx.selftest.machine import machine_facts

__all__ = ["Check", "machine_facts", "quick_check", "run"]
