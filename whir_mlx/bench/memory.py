"""Peak memory of one proof.

On the CPU it is that of a process of its own, as the Rust crate's: memory that earlier work left with the allocator
would count otherwise. `python -m whir_mlx.bench.memory '<json>'` is that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from whir_mlx.bench.proofs import Prover
from whir_mlx.bench.shapes import Shape, Statement
from whir_mlx.kernels.device import Device, get_device

__all__ = ["peak_bytes"]

_TIMEOUT_S = 600


def peak_bytes(device: Device, statement: Statement, seed: int = 0) -> int | None:
    """Peak of commit + open, data included: resident bytes of a process, or on a GPU bytes that MLX held on it.

    None where the system does not tell.
    """
    if device.lazy:
        import mlx.core as mx

        prover = Prover(device, statement, seed)
        prover.prove()
        mx.reset_peak_memory()
        prover.prove()
        return int(mx.get_peak_memory())
    request = {"device": device.name, "shape": asdict(statement.shape), "n": statement.n, "seed": seed}
    environment = dict(os.environ)
    if hasattr(device, "threads"):
        environment["WHIR_MLX_THREADS"] = str(device.threads)
    path = [str(Path(__file__).parents[2]), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(path)
    done = subprocess.run(
        [sys.executable, "-m", "whir_mlx.bench.memory", json.dumps(request)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"measuring memory ended with status {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def _own_peak() -> int | None:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _main(text: str) -> None:
    request = json.loads(text)
    statement = Shape(**request["shape"]).statement(request["n"])
    Prover(get_device(request["device"]), statement, request["seed"]).prove()
    print(json.dumps(_own_peak()))


if __name__ == "__main__":
    _main(sys.argv[1])
