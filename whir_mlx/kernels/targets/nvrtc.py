"""CUDA's run-time compiler, NVRTC, through the package `cuda-bindings` (the extra `whir-mlx[cuda]`).

MLX's CUDA build has loaded NVRTC by the time this is asked for, and `cuda-bindings` takes a library of that name which
the process already holds: both compile with the same one.
"""

from __future__ import annotations

from ...errors import DeviceError

__all__ = ["Nvrtc"]


class Nvrtc:
    """Compiles CUDA texts to machine code of one architecture.

    architecture: as NVRTC spells it, "sm_90". Raises `DeviceError` where `cuda-bindings` or its library is missing.
    Threads may compile at the same time: neither the bindings nor NVRTC hold each other up.
    """

    def __init__(self, architecture: str):
        try:
            from cuda.bindings import nvrtc
        except ImportError:
            raise DeviceError("the package cuda-bindings is missing (pip install 'whir-mlx[cuda]')") from None
        self._nvrtc = nvrtc
        self.options = (f"--gpu-architecture={architecture}", "--std=c++17")
        try:
            major, minor = self._call(nvrtc.nvrtcVersion)
        except (RuntimeError, OSError) as error:
            raise DeviceError(f"NVRTC cannot be loaded: {str(error)[:500]}") from None
        self.version = f"{major}.{minor}"

    @property
    def identity(self) -> str:
        """Everything beside the text that decides what comes out."""
        return "\0".join(["nvrtc", self.version, *self.options])

    def compile(self, text: str, name: str) -> bytes:
        """The cubin of `text`. Raises `DeviceError` with NVRTC's words where it refuses the text."""
        nvrtc = self._nvrtc
        program = self._call(nvrtc.nvrtcCreateProgram, text.encode(), f"{name}.cu".encode(), 0, [], [])
        try:
            options = [option.encode() for option in self.options]
            (status, *_) = nvrtc.nvrtcCompileProgram(program, len(options), options)
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                log = self._read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
                raise DeviceError(f"NVRTC refused {name}:\n{log.rstrip(bytes(1)).decode(errors='replace')[:4000]}")
            return self._read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    def _read(self, size_of, read, program) -> bytes:
        buffer = bytearray(self._call(size_of, program))
        self._call(read, program, buffer)
        return bytes(buffer)

    def _call(self, function, *arguments):
        """The results of a call, less its status."""
        status, *results = function(*arguments)
        if status != self._nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise DeviceError(f"NVRTC: {function.__name__} gave {status.name}")
        return results[0] if len(results) == 1 else results
