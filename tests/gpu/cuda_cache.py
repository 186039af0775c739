"""First proofs on a CUDA machine: compiling one by one and side by side, a cold and a warm cache, and MLX's own way.

    python3 tests/gpu/cuda_cache.py [--log 20] [--without-mlx]

Plain Python, from the repository root. Every proof is a process of its own, with caches in a new folder; seconds count
from that process's start. Exit code 1 where proofs differ or the warm process had to compile. MLX's own way takes a
minute.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


def say(text: str) -> None:
    print(text, flush=True)


def library_paths(word: str) -> list[str]:
    """Files with `word` in their names that this process has loaded."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split()[-1] for line in lines if word in line})


def make_statement(shape: str, log: int):
    from tests.gpu.run_cuda import SHAPES
    from tests.proving import FULL_ARGS, arguments_of

    args = {**FULL_ARGS, **SHAPES[shape], "tables": [[log, 1]]}
    return args, arguments_of(args)


def time_compilations() -> None:
    """Each kernel of a proof through NVRTC, one after another, then all at once."""
    import mlx.core as mx

    from whir_mlx.kernels.device import Device
    from whir_mlx.kernels.targets.gpu_source import gpu_source, precompiled_text
    from whir_mlx.kernels.targets.nvrtc import Nvrtc
    from whir_mlx.protocol.kernel_list import proof_kernels

    facts = mx.device_info(mx.gpu) if mx.cuda.is_available() else {}
    architecture = f"sm_{facts.get('compute_capability_major', 9)}{facts.get('compute_capability_minor', 0)}"
    start = time.perf_counter()
    compiler = Nvrtc(architecture)
    say(f"NVRTC {compiler.version} for {architecture}, ready in {time.perf_counter() - start:.3f} s")
    try:
        say(f"cuda-bindings {version('cuda-bindings')}, MLX {mx.__version__}, {os.cpu_count()} cores")
    except PackageNotFoundError:
        say(f"cuda-bindings of unknown version, MLX {mx.__version__}, {os.cpu_count()} cores")
    say(f"libraries: {' '.join(library_paths('libnvrtc'))}")
    _, arguments = make_statement("S", 20)
    device = Device("cuda")
    kernels = proof_kernels(device, arguments["config"], arguments["tree"])
    sources = [gpu_source("cuda", name, values) for name, values, _ in kernels]

    def build(source):
        began = time.perf_counter()
        cubin = compiler.compile(precompiled_text(source), source.name)
        return len(cubin), time.perf_counter() - began

    start = time.perf_counter()
    for source in sources:
        size, seconds = build(source)
        say(f"  {seconds:6.3f} s {size:7} bytes of code from {len(precompiled_text(source)):6} of text  {source.name}")
    say(f"serial: {len(sources)} kernels in {time.perf_counter() - start:.3f} s")
    for threads in sorted({2, 4, os.cpu_count() or 1}):
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(build, sources))
        say(f"{threads} threads: {time.perf_counter() - start:.3f} s")


def time_proof(shape: str, log: int, device_name: str, own_way: bool) -> None:
    """A first proof, and the median of later ones; the last line is what the parent compares."""
    import numpy as np

    from tests.proving import commit
    from whir_mlx.kernels.device import get_device
    from whir_mlx.kernels.targets import cuda_cache, gpu
    from whir_mlx.kernels.targets.build_progress import watch_builds
    from whir_mlx.protocol.proof_file import encode_proof_file
    from whir_mlx.protocol.prover import open_proof, read_commitment

    born = float(os.environ["STARTED"])

    def mark(what: str) -> None:
        say(f"  {time.time() - born:8.3f} s  {what}")

    built = []
    if not own_way:
        gpu.cubin_cache = lambda: None
    mark("imports")
    with watch_builds(lambda done, total: built.append((done, total))):
        if own_way and device_name == "cuda":
            made = cuda_cache.cubin_cache()
            mark(f"cubin cache, trial kernel run: {'usable' if made else 'NOT USABLE'}, {len(built)} reports")
        device = get_device(device_name)
        mark(f"device, with its check: {len(built)} reports")
        args, arguments = make_statement(shape, log)
        rng = np.random.default_rng(5)
        tables = [device.asarray(rng.integers(0, 2013265921, (1, 1 << log), dtype=np.uint32))]
        device.evaluate(*tables)
        mark("data")
        times, digests = [], set()
        for number in range(12):
            start = time.perf_counter()
            data = commit(args, arguments, device, tables=tables)
            if number == 0:
                mark(f"first commitment traced, kernels prepared: {len(built)} reports, last {built[-1:]}")
            proof = open_proof(data, arguments["schedule"])
            times.append(time.perf_counter() - start)
            if number == 0:
                mark(f"FIRST PROOF ({times[0]:.3f} s by itself), {len(built)} reports")
            digests.add(hashlib.sha256(encode_proof_file({}, read_commitment(data), proof)).hexdigest()[:32])
    later = 1e3 * statistics.median(times[2:])
    say(f"  second {1e3 * times[1]:.1f} ms, median of later ones {later:.2f} ms, least {1e3 * min(times):.2f} ms")
    compiled = sum(done > 0 for done, _ in built)
    say(f"result {compiled} {','.join(sorted(digests))}")


def run_child(title: str, caches: str, *arguments: str) -> list[str]:
    """Runs this file again with its caches under `caches`; the words of its last line."""
    say(f"\n== {title}")
    environment = {
        **os.environ,
        "WHIR_MLX_CACHE": f"{caches}/kernels",
        "MLX_PTX_CACHE_DIR": f"{caches}/mlx",
        "PYTHONUNBUFFERED": "1",
        "STARTED": str(time.time()),
    }
    child = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    print(child.stdout, end="", flush=True)
    if child.returncode:
        say(f"FAILED with exit code {child.returncode}")
        return ["failed", title]
    return child.stdout.splitlines()[-1].split()[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--log", type=int, default=20)
    parser.add_argument("--without-mlx", action="store_true", help="leave out MLX's own way, which takes a minute")
    parser.add_argument("--step", choices=["compile", "proof"], help=argparse.SUPPRESS)
    parser.add_argument("--shape", default="S", help=argparse.SUPPRESS)
    parser.add_argument("--mlx-way", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "compile":
        time_compilations()
        return 0
    if options.step == "proof":
        time_proof(options.shape, options.log, options.device, not options.mlx_way)
        return 0
    proof = ("--step", "proof", "--log", str(options.log), "--device", options.device)
    with tempfile.TemporaryDirectory() as caches, tempfile.TemporaryDirectory() as others:
        run_child("compilations", caches, "--step", "compile")
        cold = run_child(f"S 2^{options.log}, empty caches", caches, *proof)
        warm = run_child(f"S 2^{options.log}, a second process", caches, *proof)
        other = run_child(f"U 2^{options.log}, a third process", caches, *proof, "--shape", "U")
        listed = sorted(Path(caches, "kernels", "cuda").glob("*")) if options.device == "cuda" else []
        say(f"{len(listed)} files, {sum(path.stat().st_size for path in listed)} bytes in the cache")
        failed = cold[1] != warm[1] or warm[0] != "0" or other[0] == "failed"
        if not options.without_mlx:
            theirs = run_child(f"S 2^{options.log}, compiled by MLX, empty caches", others, *proof, "--mlx-way")
            failed |= theirs[1] != cold[1]
    say(f"\n{'FAIL' if failed else 'ok'}: proofs {'' if not failed else 'or compilations '}as expected: {not failed}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
