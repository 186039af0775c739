"""The published Rust crate p3-whir 0.8.0, timed by its driver (`tests/interop` of a checkout) in its own process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import threading
from pathlib import Path

from whir_mlx.bench.shapes import Statement

__all__ = ["CrateProcess", "CrateRefused", "CrateTimeout", "crate_binary"]

_STARTING_S = 60


class CrateRefused(Exception):
    """The crate refuses the statement; the text is its reason."""


class CrateTimeout(Exception):
    """The crate took longer than it was given."""


def crate_binary(folder: str | None = None, binary: str | None = None) -> Path:
    """The driver's program: `binary`, or built natively from `folder` (default: the checkout this package runs from).

    Raises FileNotFoundError where there is neither, and RuntimeError where it cannot be built.
    """
    if binary is not None:
        path = Path(binary)
        if not path.is_file():
            raise FileNotFoundError(f"no program of the crate at {binary}")
        return path.resolve()
    driver = Path(folder) if folder is not None else Path(__file__).parents[2] / "tests" / "interop"
    text = driver / "crate.py"
    if not text.is_file():
        raise FileNotFoundError(f"no crate.py in {driver}; give --crate FOLDER or --crate-binary PROGRAM")
    spec = importlib.util.spec_from_file_location("whir_interop_crate", text)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.build(native=True)
    except module.CrateUnavailable as error:
        raise RuntimeError(f"the crate cannot be built here: {error}") from error


class CrateProcess:
    """A running driver; a context manager. After a timeout it is dead, and the next request starts another."""

    def __init__(self, binary: Path):
        self._binary = binary
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> CrateProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def bench(self, statement: Statement, seed: int, *, runs: int, threads: int, run_limit_s: float = 300.0) -> dict:
        """Milliseconds of `runs` warm runs on `threads` threads: lists `commit`, `open`, `verify` and `total`; and
        `peak_bytes`, and `lanes`, the elements a vector of its build.

        One more run comes first and does not count. `run_limit_s`: for one run. Raises CrateRefused and CrateTimeout.
        """
        args = statement.shape.crate_args(statement.n, seed)
        request = {"mode": "bench", "args": args, "runs": runs, "threads": threads}
        answer = self._request(request, _STARTING_S / 6 + run_limit_s * (runs + 1))
        if not answer.get("ok"):
            raise CrateRefused(str(answer.get("error") or answer.get("panic")))
        return {
            "commit": answer["commit_ms"],
            "open": answer["open_ms"],
            "verify": answer["verify_ms"],
            "total": [c + o for c, o in zip(answer["commit_ms"], answer["open_ms"], strict=True)],
            "peak_bytes": answer["peak_rss_kib"] * 1024 if answer.get("peak_rss_kib") else None,
            "lanes": answer["lanes"],
        }

    def _request(self, request: dict, limit_s: float) -> dict:
        if self._process is None:
            self._process = subprocess.Popen(
                [self._binary, "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
        process = self._process
        guard = threading.Timer(limit_s, process.kill)
        guard.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            expired = guard.finished.is_set()
            guard.cancel()
        if line.endswith("\n"):
            return json.loads(line)
        self._stop()
        if expired:
            raise CrateTimeout(f"no answer within {limit_s:.0f} s")
        raise CrateRefused("its process ended without an answer (out of memory?)")

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
