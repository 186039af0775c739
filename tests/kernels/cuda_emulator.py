"""The CUDA target run by the host compiler, one thread at a time: its texts, groups and lazy paths without a GPU."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import mlx.core as mx
import numpy as np

from whir_mlx.kernels.device import Device
from whir_mlx.kernels.targets.compiler import build_library
from whir_mlx.kernels.targets.gpu import GpuDevice
from whir_mlx.kernels.targets.gpu_source import LONE_GROUPS, cuda_text, gpu_source
from whir_mlx.kernels.text import load

_STACK = 1 << 17
_LAUNCH = """
static void** buffers; static std::vector<char> finished; static void run_thread() {{
  {call}; finished[current] = 1; swapcontext(&threads[current], &scheduler);
}} extern "C" void launch(void** arguments, const int* grid, const int* group) {{
  buffers = arguments; blockDim = uint3{{uint(group[0]), uint(group[1]), uint(group[2])}}; uint count = blockDim.x *
  blockDim.y * blockDim.z; std::vector<char> stacks(size_t(count) * {stack}); threads.resize(count);
  lanes.assign(count, 0); at_barrier.assign(count, 0);
  for (blockIdx.z = 0; blockIdx.z < uint(grid[2]); blockIdx.z++) for (blockIdx.y = 0;
  blockIdx.y < uint(grid[1]); blockIdx.y++) for (blockIdx.x = 0; blockIdx.x < uint(grid[0]); blockIdx.x++) {{
    finished.assign(count, 0); bool fresh = true; for (uint left = count; left > 0; fresh = false) {{
      bool all_wait = true; for (current = 0; current < count; current++) {{
        if (finished[current] || at_barrier[current]) continue; all_wait = false;
        uint row = current / blockDim.x; threadIdx = uint3{{current % blockDim.x, row
        % blockDim.y, row / blockDim.y}}; if (!{waits}) {{
          {call}; finished[current] = 1;
        }} else {{
          if (fresh) {{
            getcontext(&threads[current]); threads[current].uc_stack.ss_sp = &stacks[size_t(current) * {stack}];
            threads[current].uc_stack.ss_size = {stack}; makecontext(&threads[current], run_thread, 0);
          }} swapcontext(&scheduler, &threads[current]);
        }} left -= finished[current];
      }} if (all_wait) at_barrier.assign(count, 0);
    }}
  }}
}}
"""


@cache
def _launcher(name: str, values: tuple[tuple[str, int], ...]):
    text, source = load(name), gpu_source("cuda", name, values)
    cuda = cuda_text(source)
    cuda = cuda[cuda.index(source.header) :]  # without MLX's includes
    call = f"mlx::core::cu::custom_kernel_{source.name}"
    inputs = [f"(const uint32_t*)buffers[{i}]" for i in range(len(text.inputs))]
    outputs = [f"(uint32_t*)buffers[{i + len(text.inputs)}]" for i in range(len(text.outputs))]
    waits = "true" if text.has_barrier or text.has_simd else "false"
    launch = _LAUNCH.format(call=f"{call}({', '.join(inputs + outputs)})", stack=_STACK, waits=waits)
    emulator = Path(__file__).with_name("cuda_emulator.h").read_text(encoding="utf-8")
    return build_library(emulator + cuda + launch, ("-O1", "-w"), f"emulated-{name}").launch


class EmulatedCuda(GpuDevice):
    """A `cuda` device whose launches run at once on the host. Outputs start as a pattern: a GPU's start as anything."""

    def __init__(self):
        Device.__init__(self, "cuda")
        # Lanes that hand words over take the host a thousand times longer than threads that do not wait.
        self.tuning = replace(self.tuning, cooperative_bits=4, cooperative_candidates=64, cooperative_groups=4)

    def compile(self, function):
        """As it is: MLX would trace it, and launches here read their inputs."""
        return function

    def prepare(self, kernels):
        """Nothing: the host compiler builds a kernel at its first launch."""

    def generate(self, name, values, forms):
        """In place of MLX's kernel: the same arguments, run by the host."""

        def kernel(*, inputs, output_shapes, output_dtypes, grid, threadgroup, init_value, stream):
            arrays = [np.ascontiguousarray(np.array(x)) for x in inputs]
            fill = 0xDEADBEEF if init_value is None else init_value
            arrays += [np.full(shape, fill, np.uint32) for shape in output_shapes]
            # As MLX: a group no larger than the grid, and as many groups as cover it.
            group = [min(size, extent) for size, extent in zip(threadgroup, grid)]
            groups = [-(-extent // size) for size, extent in zip(threadgroup, grid)]
            if math.prod(group) > LONE_GROUPS.get(name, 1024):
                raise ValueError(f"{name}: groups of {math.prod(group)} threads pass its launch bounds")
            pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
            _launcher(name, values)(pointers, (ctypes.c_int * 3)(*groups), (ctypes.c_int * 3)(*group))
            return [mx.array(x) for x in arrays[len(inputs) :]]

        return kernel
