"""The published Rust crate p3-whir as a process: build it, and ask it to prove, verify or run a benchmark.

    with Crate() as crate:
        args = {"tables": [[10, 1]], "fold": 4, "security": 60, "pow": 10}
        made = crate.prove(args)
        assert crate.verify(args, made["commitment"], made["proof"])["ok"]

Every answer is a dict with `ok`. A refusal has `error`, the variant of the crate's error such as
`Sumcheck(InvalidPowWitness)`, and `detail`; a panic inside the crate has `panic`. README.md lists the keys.
Only the standard library is used, so benchmarks may import this file too.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD_TIMEOUT_S = 1800
ANSWER_TIMEOUT_S = 300


class CrateUnavailable(Exception):
    """The crate cannot be built or started here; the text says why, fit for a skip."""


class CrateDied(Exception):
    """The process ended, or was ended for taking too long, before it answered."""


@functools.cache
def build(*, native: bool = False, parallel: bool = True) -> Path:
    """Build the release binary and return its path; cargo itself finds out whether there is work to do.

    `native` compiles for this machine's vector instructions, in a target folder of its own (a build of two to
    four minutes each on two cores). Raises `CrateUnavailable` where cargo is missing or the build fails.
    """
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if cargo is None:
        raise CrateUnavailable("cargo is not installed")
    folder = HERE / "target"
    if native:
        folder /= "native"
    if not parallel:
        folder /= "serial"
    command = [cargo, "build", "--release", "--quiet", "--target-dir", str(folder)]
    if not parallel:
        command.append("--no-default-features")
    # Set either way: flags of the caller's environment would change the build, and cargo would redo all of it.
    environment = {**os.environ, "RUSTFLAGS": "-C target-cpu=native" if native else ""}
    try:
        done = subprocess.run(
            command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise CrateUnavailable(f"cargo build took more than {BUILD_TIMEOUT_S} s") from None
    if done.returncode:
        raise CrateUnavailable("cargo build failed: " + done.stderr.strip()[-800:])
    return folder / "release" / ("whir-interop.exe" if os.name == "nt" else "whir-interop")


class Crate:
    """A running `whir-interop serve`; a context manager that ends the process on leaving.

    `native` and `parallel` as for `build`. Requests are answered one after the other; one object belongs to one
    thread.
    """

    def __init__(self, *, native: bool = False, parallel: bool = True) -> None:
        self._binary = build(native=native, parallel=parallel)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Crate:
        # A file, not a pipe: nobody reads it while requests run, and a full pipe would block the process.
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [self._binary, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        self._errors.close()

    def request(self, request: dict[str, Any], *, timeout_s: float = ANSWER_TIMEOUT_S) -> dict[str, Any]:
        """Send one request and return the answer; raises `CrateDied` if none comes within `timeout_s`."""
        process = self._process
        if process is None:
            raise CrateDied("the process is not running; use `with Crate() as crate`")
        guard = threading.Timer(timeout_s, process.kill)
        guard.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            guard.cancel()
        if not line.endswith("\n"):
            status = process.wait()
            self._errors.seek(0)
            raise CrateDied(f"ended with status {status}, limit {timeout_s} s: {self._errors.read()[-800:]}")
        return json.loads(line)

    def config(self, args: dict[str, Any]) -> dict[str, Any]:
        """Derive the configuration of `args`: `config`, or the refusal's class."""
        return self.request({"mode": "config", "args": args})

    def prove(self, args: dict[str, Any], *, threads: int = 1) -> dict[str, Any]:
        """Commit and open: `config`, `commitment`, `proof`, `tail` (the transcript's next 8 samples), `times_ms`.

        With one thread the grinding witnesses are the smallest; with more, any valid ones.
        """
        return self.request({"mode": "prove", "args": args, "threads": threads})

    def verify(self, args: dict[str, Any], commitment: Any, proof: Any, *, threads: int = 1) -> dict[str, Any]:
        """Verify the crate's JSON: `evals` and `tail` where accepted."""
        request = {"mode": "verify", "args": args, "commitment": commitment, "proof": proof, "threads": threads}
        return self.request(request)

    def bench(self, args: dict[str, Any], *, runs: int = 3, threads: int | None = None) -> dict[str, Any]:
        """Time `runs` warm runs on `threads` threads (all that this process may use): lists of milliseconds.

        `peak_rss_kib` is the process's peak since this request began, data included; memory that earlier requests
        left with the allocator counts, so ask a fresh process for it.
        """
        if threads is None:
            threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.request({"mode": "bench", "args": args, "runs": runs, "threads": threads}, timeout_s=3600)
