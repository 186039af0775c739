"""Texts of a kernel for MLX's two GPU back-ends: what `mx.fast.metal_kernel` and `mx.fast.cuda_kernel` are given, and
what NVRTC is given for `mx.fast.precompiled_cuda_kernel`.

MLX's generators write the signature, from the arrays of a call; a kernel's own signature in its `.metal` file gives the
names. Specialisation values are macros, not MLX template arguments: headers see no template arguments, and those are
int32.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

from ..text import defines, dialect, load

# Arrays of fewer elements than this arrive in Metal's `constant` address space, larger ones in `device`.
METAL_CONSTANT_BELOW = 8
# Kernels of few groups, whose time is one thread's way through them, with the most threads of a group: told that one
# group a core is enough, NVRTC takes the registers that the shortest way needs (a partial round in 96 cycles, not 136,
# by the stalls in the machine code).
LONE_GROUPS = {
    "challenge": 32,
    "climb": 256,
    "grind_sixteen": 1024,
    "hash_rows_four": 256,
    "replay": 32,
    "sumcheck_draw_fold": 256,
    "sumcheck_rest": 512,
    "tree_layers": 1024,
}


@dataclass(frozen=True)
class GpuSource:
    """Arguments of MLX's kernel generators. `name` ends in a hash of the text: MLX must never meet one name twice."""

    name: str
    header: str
    body: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@cache
def gpu_source(target: str, name: str, values: tuple[tuple[str, int], ...], forms: str = "") -> GpuSource:
    """Texts of `<name>.metal` for `target` ("metal" or "cuda"), specialised by the macros `values`.

    forms: how the inputs arrive (`input_forms`); it changes the text that MLX generates, so it belongs to the name.
    """
    text = load(name)
    header = f"{dialect(f'{target}.h')}{defines(dict(values))}{text.header}"
    digest = hashlib.sha256("\0".join([target, header, text.body, forms]).encode()).hexdigest()[:16]
    return GpuSource(f"{name}_{digest}", header, text.body, text.inputs, text.outputs)


def input_forms(sizes: list[int]) -> str:
    """One letter an input: `c` where Metal passes it in `constant`, `d` where in `device`."""
    return "".join("c" if size < METAL_CONSTANT_BELOW else "d" for size in sizes)


def cuda_text(source: GpuSource) -> str:
    """The whole text that MLX 0.32 hands to NVRTC, for a look at it without a GPU.

    All buffers are uint32; the kernel is `mlx::core::cu::custom_kernel_<name>`.
    Source: MLX's `backend/cuda/custom_kernel.cpp`.
    """
    return (
        '#include "mlx/backend/cuda/device/utils.cuh"\n\n#include <cooperative_groups.h>\n\n'
        f"{source.header}"
        "namespace mlx::core::cu {\n\nnamespace cg = cooperative_groups;\n\n"
        f"__global__ void custom_kernel_{source.name}({_cuda_parameters(source, 'uint32_t')}) {{\n"
        f"{source.body}\n}}\n\n}} // namespace mlx::core::cu\n"
    )


def precompiled_text(source: GpuSource) -> str:
    """The whole text for a compiler of our own: the same kernel, called `<name>` unmangled, without MLX's headers.

    No kernel uses them, and reading them takes most of the time of MLX's compilation.
    """
    threads = LONE_GROUPS.get(source.name.rpartition("_")[0])
    bounds = f"__launch_bounds__({threads}, 1) " if threads else ""
    parameters = _cuda_parameters(source, "unsigned int")
    return f'{source.header}extern "C" __global__ {bounds}void {source.name}({parameters}) {{\n{source.body}\n}}\n'


def _cuda_parameters(source: GpuSource, word: str) -> str:
    parameters = [f"    const {word}* {name}" for name in source.inputs]
    parameters += [f"    {word}* {name}" for name in source.outputs]
    return "\n" + ",\n".join(parameters)
