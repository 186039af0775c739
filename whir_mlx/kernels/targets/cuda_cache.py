"""Machine code of the CUDA target: compiled once a machine, several kernels at a time, and kept on disk.

`mx.fast.cuda_kernel` compiles a kernel when it first runs, one after another, anew in every process, and reads some
megabytes of headers for each (about 2 s). `mx.fast.precompiled_cuda_kernel` takes machine code; this makes it, from the
same text without those headers, and keeps it under the hash of all that decides it. Where that cannot be done, MLX
compiles as it would have, and a warning says why.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path

from ...errors import DeviceError
from .build_progress import report_builds
from .compiler import cache_folder
from .cpu import default_threads
from .gpu_source import GpuSource, precompiled_text
from .private_folder import open_private_folder, read_private_file, write_private_file

__all__ = ["CubinCache", "cubin_cache"]

_DIGEST_BYTES = 32
_FALLBACK = "MLX compiles it itself, slowly and anew in every process"


class CubinCache:
    """Cubins of this process, of the disk, and of the compiler, asked in that order.

    compiler: an `Nvrtc`, or what has its `identity` and `compile`. mlx: MLX's version. folder: where cubins are kept;
    one that is missing is made, and one that others could write is left alone, with a warning. Threads may share a
    cache, and processes a folder: each writes files of its own and renames them into place.
    """

    def __init__(self, compiler, mlx: str, folder: Path):
        self._compiler, self._mlx = compiler, mlx
        self._made: dict[str, bytes | None] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._folder: Path | None = None
        try:
            self._folder = open_private_folder(folder)
        except OSError as error:
            self._warn_not_kept(error)

    def get(self, source: GpuSource) -> bytes | None:
        """The cubin of `source`, compiled where need be. None (with a warning) where the compiler refuses it."""
        if not self._is_ready(source):
            report_builds(0, 1)
            self._build(source)
            report_builds(1, 1)
        return self._made[source.name]

    def build(self, sources: list[GpuSource]) -> None:
        """Compile those of `sources` that are not there yet, as many at a time as there are cores."""
        missing = [source for source in sources if not self._is_ready(source)]
        if not missing:
            return
        report_builds(0, len(missing))
        with ThreadPoolExecutor(min(len(missing), default_threads())) as pool:
            for done, build in enumerate(as_completed([pool.submit(self._build, x) for x in missing]), 1):
                build.result()
                report_builds(done, len(missing))

    def path(self, source: GpuSource) -> Path | None:
        """Where the cubin of `source` is kept."""
        folder = self._folder  # another thread may give it up meanwhile
        if folder is None:
            return None
        parts = [self._mlx, self._compiler.identity, source.name, precompiled_text(source)]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return folder / f"{source.name.rsplit('_', 1)[0]}-{key}.cubin"

    def _is_ready(self, source: GpuSource) -> bool:
        """Whether `source` needs no compiler (any more); takes it from the disk if it is there."""
        if source.name in self._made:
            return True
        cubin = self._read(source)
        if cubin is None:
            return False
        self._made.setdefault(source.name, cubin)
        return True

    def _build(self, source: GpuSource) -> None:
        with self._guard:
            lock = self._locks.setdefault(source.name, threading.Lock())
        with lock:
            if source.name in self._made:
                return
            try:
                cubin = self._compiler.compile(precompiled_text(source), source.name)
            except DeviceError as error:
                _warn_once("refused", f"a CUDA kernel cannot be compiled beforehand, {_FALLBACK}: {error}")
                cubin = None
            if cubin is not None:
                self._write(source, cubin)
            self._made[source.name] = cubin

    def _read(self, source: GpuSource) -> bytes | None:
        path = self.path(source)
        data = read_private_file(path) if path is not None else None
        if data is None:
            return None
        cubin, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        # A damaged file is as good as none: it is made again and replaced.
        return cubin if cubin and hashlib.sha256(cubin).digest() == digest else None

    def _write(self, source: GpuSource, cubin: bytes) -> None:
        path = self.path(source)
        if path is None:
            return
        try:
            write_private_file(path, cubin + hashlib.sha256(cubin).digest())
        except OSError as error:
            self._folder = None
            self._warn_not_kept(error)

    def _warn_not_kept(self, error: OSError) -> None:
        _warn_once("not kept", f"compiled CUDA kernels are not kept, so every process compiles them: {error}")


@cache
def cubin_cache() -> CubinCache | None:
    """The cache of this process for MLX's GPU, made and tried at first use.

    None, with a warning, where something for it is missing or MLX does not run what it gives.
    """
    try:
        import mlx.core as mx

        from .nvrtc import Nvrtc

        facts = mx.device_info(mx.gpu)
        architecture = f"sm_{facts['compute_capability_major']}{facts['compute_capability_minor']}"
        made = CubinCache(Nvrtc(architecture), mx.__version__, cache_folder() / "cuda")
        _try_out(made)
        return made
    except Exception as error:  # whatever fails here, MLX can still compile by itself
        reason = str(error) if isinstance(error, DeviceError) else f"{type(error).__name__}: {str(error)[:500]}"
        _warn_once("unused", f"CUDA kernels are not compiled beforehand ({reason}): {_FALLBACK}")
        return None


_TRIAL = GpuSource("whir_mlx_trial", "", "  out[threadIdx.x] = size[threadIdx.x] + 1u;", ("size",), ("out",))


def _try_out(made: CubinCache) -> None:
    """Run one small kernel: MLX calls its own function experimental, and a driver may refuse a newer NVRTC's code.

    Raises `DeviceError` where that gives no or a wrong result.
    """
    import mlx.core as mx

    launcher = precompiled_launcher(_TRIAL, made)
    if launcher is None:
        raise DeviceError("a first small kernel did not compile")
    (out,) = launcher(
        inputs=[mx.array([1, 41, 7], mx.uint32)],
        output_shapes=[(3,)],
        output_dtypes=[mx.uint32],
        grid=(3, 1, 1),
        threadgroup=(3, 1, 1),
        init_value=None,
        stream=mx.gpu,
    )
    if out.tolist() != [2, 42, 8]:
        raise DeviceError(f"a first small kernel gave {out.tolist()} instead of [2, 42, 8]")


def precompiled_launcher(source: GpuSource, made: CubinCache | None):
    """What launches `source` from its cubin, called as what `mx.fast.cuda_kernel` returns; None where there is no
    cubin."""
    cubin = made.get(source) if made is not None else None
    if cubin is None:
        return None
    import mlx.core as mx

    return partial(
        mx.fast.precompiled_cuda_kernel,
        name=source.name,
        compiled_source=cubin,
        scalars=[],
        # The default of mx.fast.cuda_kernel, but not of this one.
        ensure_row_contiguous=True,
    )


_WARNED: set[str] = set()
_WARNED_GUARD = threading.Lock()


def _warn_once(what: str, text: str) -> None:
    """Warn of `what`, the first time in this process: other kernels will have the same to say."""
    with _WARNED_GUARD:
        if what in _WARNED:
            return
        _WARNED.add(what)
    warnings.warn(text, RuntimeWarning, stacklevel=4)
