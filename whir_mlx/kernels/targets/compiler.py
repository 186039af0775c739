"""The host C++ compiler: finding it, calling it, and keeping what it built.

Libraries live in the user's cache folder under the hash of everything that decides their content (source, flags,
compiler), so a stale one is never loaded. Several processes may build the same library at once: each writes a file of
its own and renames it into place.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from ...atomic import write_atomic
from ...errors import DeviceError

_LOADED: dict[str, ctypes.CDLL] = {}
_LOCKS: dict[str, threading.Lock] = {}
_LOCKS_GUARD = threading.Lock()


def cache_folder() -> Path:
    """Folder of compiled kernels: `WHIR_MLX_CACHE`, else the platform's cache folder of the user."""
    chosen = os.environ.get("WHIR_MLX_CACHE")
    return Path(chosen) if chosen else user_cache_path("whir-mlx")


@cache
def find_compiler() -> str | None:
    """Path of a C++ compiler (`CXX`, else c++, g++ or clang++ on the path), or None where there is none."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        path = shutil.which(name) if name else None
        if path:
            return path
    return None


@cache
def compiler_version(path: str) -> str:
    """First line of `--version`, part of every cache key."""
    return _version_text(path).splitlines()[0]


@cache
def _version_text(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout


@cache
def cpu_features() -> frozenset[str]:
    """Feature names of this machine's processor, as the system lists them (empty where it does not)."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()


def vector_builds() -> dict[int, tuple[str, ...]]:
    """Threads a vector -> compiler flags, for every vector unit of this machine, the widest first."""
    if platform.machine() in ("arm64", "aarch64"):
        return {4: ()}
    features = cpu_features()
    builds: dict[int, tuple[str, ...]] = {}
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        builds[16] = ("-march=x86-64-v4", "-mprefer-vector-width=512")
    if {"avx2", "bmi2", "fma"} <= features:
        builds[8] = ("-march=x86-64-v3",)
    if "sse4_2" in features:
        builds[4] = ("-march=x86-64-v2",)
    return builds or {4: ()}


def _lock(key: str) -> threading.Lock:
    with _LOCKS_GUARD:
        return _LOCKS.setdefault(key, threading.Lock())


def build_library(source: str, flags: tuple[str, ...], name: str) -> ctypes.CDLL:
    """Compile `source` to a shared library (or take it from the cache) and load it.

    Raises `DeviceError` with the compiler's words where it fails.
    """
    path = str(build_file(source, ("-shared", "-fPIC", *flags, *_precompiled(flags)), name, ".so"))
    with _lock(path):
        if path not in _LOADED:
            _LOADED[path] = ctypes.CDLL(path)
        return _LOADED[path]


# The system headers of every kernel (dialect/cpu_common.h), which take most of a small kernel's build to read.
_PRELUDE = "\n".join(
    [
        "#include <cstddef>",
        "#include <cstdint>",
        "#include <cstring>",
        "#if defined(__x86_64__)",
        "#include <immintrin.h>",
        "#elif defined(__ARM_NEON)",
        "#include <arm_neon.h>",
        "#endif",
        "",
    ]
)


@cache
def _precompiled(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Flags that make the compiler take the system headers precompiled: a second a kernel with GCC, which alone does
    it so.

    Empty for other compilers, and where the headers cannot be precompiled.
    """
    compiler = find_compiler()
    if compiler is None or "clang" in compiler_version(compiler) or "Free Software" not in _version_text(compiler):
        return ()
    try:
        built = build_file(_PRELUDE, ("-fPIC", *flags, "-x", "c++-header"), "prelude", ".h.gch")
        header = built.with_suffix("")
        if not header.exists():
            write_atomic(header, _PRELUDE.encode())
    except (DeviceError, OSError):
        return ()
    return ("-include", str(header))


def build_file(source: str, flags: tuple[str, ...], name: str, suffix: str) -> Path:
    """Compile `source` to a file of the cache, or find it there. Raises `DeviceError` with the compiler's words."""
    compiler = find_compiler()
    if compiler is None:
        raise DeviceError("no C++ compiler found (looked for CXX, g++, c++, clang++)")
    command = [compiler, "-std=c++17", *flags]
    key = hashlib.sha256("\0".join([compiler_version(compiler), *command, source]).encode()).hexdigest()[:24]
    target = cache_folder() / f"{name}-{key}{suffix}"
    with _lock(key):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with _turn_of_processes(target):
                if not target.exists():
                    _compile(command, source, target)
    return target


@contextlib.contextmanager
def _turn_of_processes(target: Path):
    """Lets one process at a time build `target`: the others then find it made. Without file locks each builds its
    own."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(target.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            target.with_suffix(".lock").unlink(missing_ok=True)


def _compile(command: list[str], source: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder:
        text, built = Path(folder) / "kernel.cpp", Path(folder) / "kernel.out"
        text.write_text(source, encoding="utf-8")
        order = [*command, "-o", str(built), str(text), "-pthread"]
        done = subprocess.run(order, capture_output=True, text=True)
        if done.returncode != 0:
            raise DeviceError(f"the C++ compiler refused {target.stem}:\n{done.stderr[:4000]}")
        os.replace(built, target)
