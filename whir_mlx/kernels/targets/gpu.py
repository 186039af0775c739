"""The GPU targets: kernel texts launched through MLX's Metal and CUDA back-ends, as nodes of a lazy graph."""

from __future__ import annotations

import platform
from functools import cache, lru_cache

import numpy as np

from ...errors import DeviceError
from ..device import Device, refuse_large
from ..operation import product
from ..text import load
from ..tuning import Tuning, apple_family, tuning_for
from .cuda_cache import cubin_cache, precompiled_launcher
from .gpu_source import gpu_source, input_forms
from .host_memory import LEAST_BYTES, host_array_words, keep_on_host, readback_words

__all__ = ["GpuDevice", "usable_gpu"]

# MLX's CUDA back-end keeps arrays of up to 8 bytes in memory that lies with the host: each read, write and atomic of
# theirs crosses the bus (H200: a grind's shared word is 10 times slower there). So none is made smaller than this.
LEAST_WORDS = 4
# CUDA's grids have at most this many groups along y and z.
CUDA_GROUPS = 65535


def usable_gpu() -> str | None:
    """The GPU back-end that MLX can use here, "metal" or "cuda", or None. Initialises no GPU of its own."""
    try:
        import mlx.core as mx
    except ImportError:
        return None
    for name in ("metal", "cuda"):
        backend = getattr(mx, name, None)
        if backend is not None and backend.is_available():
            return name
    return None


def device_facts() -> dict:
    """What MLX says of its default device: name, architecture, memory. Empty where it says nothing."""
    import mlx.core as mx

    ask = getattr(mx, "device_info", None)
    return dict(ask()) if ask else {}


def choose_group(grid: tuple[int, int, int], tuning: Tuning) -> tuple[int, int, int]:
    """The group for independent threads, as large as `tuning` lets it be: along x first, the rest along y, then z.

    Only x may be rounded up past the grid (kernels check it), so y and z take powers of two that divide theirs.
    """
    threads = tuning.threads_a_group(product(grid))
    across = min(grid[0], threads)
    left = threads // across
    down = min(grid[1] & -grid[1], 1 << left.bit_length() - 1)
    left //= down
    return across, down, min(grid[2] & -grid[2], 1 << left.bit_length() - 1)


class GpuDevice(Device):
    """The GPU targets. Arrays are lazy MLX arrays of uint32; a launch adds one kernel to their graph.

    name: "metal" or "cuda". Raises `DeviceError` where MLX has no such back-end here; with `trace` a "metal" device is
    made anyway, of use only inside `mx.export_function`, which records kernels without running them.
    """

    def __init__(self, name: str, *, trace: bool = False):
        super().__init__(name)
        if not (trace and name == "metal") and usable_gpu() != name:
            raise DeviceError(_missing(name))
        if name == "metal" and not trace:
            self.tuning = tuning_for(name, apple_family(self.facts().get("architecture", "")))

    def asarray(self, x):
        """`x` (NumPy or MLX, uint32) as an MLX array. No copy of an MLX array."""
        import mlx.core as mx

        if isinstance(x, mx.array):
            return x if x.dtype == mx.uint32 else x.astype(mx.uint32)
        words = np.ascontiguousarray(np.asarray(x, dtype=np.uint32))
        if self.name == "cuda" and words.nbytes >= LEAST_BYTES:
            # Its buffer lies in managed memory, and must not be handed on to a kernel's output (`host_memory`).
            room = np.zeros(host_array_words(words.size), np.uint32)
            room[: words.size] = words.reshape(-1)
            return mx.array(room)[: words.size].reshape(words.shape)
        return mx.array(words, dtype=mx.uint32)

    def numpy(self, x, *, words: int | None = None) -> np.ndarray:
        """`x` as a NumPy array of its own memory: a view would let a write through it change the MLX array."""
        view = np.asarray(x)
        if self.name == "cuda":
            keep_on_host(view)
        return np.array(view if words is None else view[:words], dtype=np.uint32)

    def readback_words(self, count: int) -> int:
        """On CUDA one of few sizes that no array of a proof comes near: a buffer that was read stays with the host."""
        return readback_words(count) if self.name == "cuda" else count

    def host_view(self, x) -> np.ndarray:
        """`x` to be read by the host: in place on Metal, where memory is shared; a copy on CUDA."""
        if self.name != "metal":
            return self.numpy(x)
        view = np.array(x, copy=False)
        view.setflags(write=False)
        return view

    def facts(self) -> dict:
        """What MLX says of the device: name, architecture, memory."""
        return device_facts()

    def evaluate(self, *arrays) -> None:
        """Compute `arrays` and wait for them."""
        import mlx.core as mx

        mx.eval(*arrays)

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, lanes=0, cost=0.0
    ):
        """Add `<name>.metal` to the graph; arguments as in `Device.launch`.

        Raises `ValueError` for arrays of 2^31 words and more, and for grids that CUDA cannot start.
        """
        import mlx.core as mx

        # MLX itself would end the process at an axis of 2^31.
        refuse_large(name, inputs, [product(shape) for shape in outputs])
        arrays = [_size_array(tuple(size))]
        for x in inputs:
            x = self.asarray(x)
            arrays.append(x if x.ndim else x.reshape((1,)))
        if groups is not None:
            grid = tuple(count * threads for count, threads in zip(groups, group))
        else:
            group = choose_group(grid, self.tuning)
        if self.name == "cuda" and max(-(-grid[1] // group[1]), -(-grid[2] // group[2])) > CUDA_GROUPS:
            raise ValueError(f"{name} would need more than {CUDA_GROUPS} groups along y or z of its grid {tuple(grid)}")
        forms = input_forms([x.size for x in arrays]) if self.name == "metal" else ""
        kernel = self.generate(name, tuple(sorted((values or {}).items())), forms)
        results = list(
            kernel(
                inputs=arrays,
                output_shapes=[tuple(shape) if product(shape) >= LEAST_WORDS else (LEAST_WORDS,) for shape in outputs],
                output_dtypes=[mx.uint32] * len(outputs),
                grid=tuple(grid),
                threadgroup=tuple(group),
                # Atomic outputs start at 0; others are written whole.
                init_value=0 if load(name).atomic else None,
                stream=mx.gpu,
            )
        )
        return [
            x if product(shape) >= LEAST_WORDS else x[: product(shape)].reshape(shape)
            for x, shape in zip(results, outputs)
        ]

    def prepare(self, kernels):
        """Compile `kernels` for CUDA, several at once; Metal compiles quickly, and keeps what it made."""
        if self.name == "cuda":
            _prepare(tuple((name, values) for name, values, _ in kernels))

    def generate(self, name: str, values: tuple[tuple[str, int], ...], forms: str):
        """MLX's launcher of one specialised text, made once."""
        return _kernel(self.name, name, values, forms)


def _missing(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = f"mlx {version('mlx')}"
    except PackageNotFoundError:
        found = "no mlx"
    here = f"here is {found} on {platform.system()} {platform.machine()}"
    if name == "metal":
        return f"device 'metal' needs a Mac with an Apple GPU and macOS's MLX; {here}, without Metal"
    needed = "an NVIDIA GPU with its driver and MLX's CUDA build (pip install 'mlx[cuda13]')"
    return f"device 'cuda' needs {needed}; {here}, without CUDA"


@lru_cache(maxsize=64)
def _prepare(kernels: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]) -> None:
    made = cubin_cache()
    if made is not None:
        made.build([gpu_source("cuda", name, values) for name, values in kernels])


@cache
def _kernel(target: str, name: str, values: tuple[tuple[str, int], ...], forms: str):
    """MLX's launcher of one text. Compiled by MLX when it first runs, or for CUDA beforehand (`cuda_cache`)."""
    import mlx.core as mx

    source = gpu_source(target, name, values, forms)
    text = load(name)
    if not any(attribute in source.body for _, attribute in text.attributes):
        # MLX generates a broken signature where the body names no thread position.
        raise ValueError(f"{name}.metal must use one of its thread positions")
    launcher = precompiled_launcher(source, cubin_cache()) if target == "cuda" else None
    if launcher is not None:
        return launcher
    generate = mx.fast.metal_kernel if target == "metal" else mx.fast.cuda_kernel
    return generate(
        name=source.name,
        input_names=list(source.inputs),
        output_names=list(source.outputs),
        **({"atomic_outputs": True} if text.atomic and target == "metal" else {}),
        source=source.body,
        header=source.header,
    )


@lru_cache(maxsize=4096)
def _size_array(size: tuple[int, ...]):
    """A launch's integers as an MLX array. Made from host data, it needs no stream, so all threads may share it."""
    import mlx.core as mx

    words = np.zeros(max(len(size), LEAST_WORDS), np.uint32)
    words[: len(size)] = size
    return mx.array(words, dtype=mx.uint32)
