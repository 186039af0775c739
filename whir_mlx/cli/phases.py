"""Phases of a command: their times, where they ran, and progress on a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from whir_mlx.hardware import describe
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.targets.build_progress import watch_builds
from whir_mlx.kernels.targets.compiler import cache_folder

__all__ = ["Phase", "Phases"]


@dataclass
class Phase:
    """One finished phase. backend and hardware: of the device that ran it, None for work of the host alone."""

    name: str
    seconds: float
    backend: str | None = None
    hardware: str | None = None
    kernels_compiled: int = 0

    def values(self) -> dict:
        """For `--json`."""
        values = {"name": self.name, "seconds": round(self.seconds, 6)}
        if self.backend:
            values |= {"backend": self.backend, "device": self.hardware, "kernels_compiled": self.kernels_compiled}
        return values


class Phases:
    """Collects phases; as a context manager it shows a moving line with the elapsed time on a terminal's stderr."""

    def __init__(self, count: int):
        self.done: list[Phase] = []
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._progress.add_task("", total=count)

    def __enter__(self) -> Phases:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextmanager
    def phase(self, name: str, device: Device | None = None):
        """Times what runs inside; `device` is the one that is handed to it."""
        note = " (the first run compiles kernels)" if device is not None and device.name != "numpy" else ""
        self._progress.update(self._task, description=f"{name}{note}")
        before = _num_cached() if device is not None else 0
        built = 0

        def show(done: int, total: int) -> None:
            nonlocal built
            built += done > 0
            left = f" (compiling kernels: {done} of {total} done)" if done < total else ""
            self._progress.update(self._task, description=f"{name}{left}")

        start = time.perf_counter()
        with watch_builds(show):
            yield
        seconds = time.perf_counter() - start
        if device is None:
            self.done.append(Phase(name, seconds))
        else:
            compiled = _num_cached() - before if device.name == "cpu" else built
            self.done.append(Phase(name, seconds, device.name, describe(device), compiled))
        self._progress.advance(self._task)

    def ran_on(self, device: Device) -> None:
        """The device that the last phase turned out to run on."""
        self.done[-1].backend, self.done[-1].hardware = device.name, describe(device)

    def lines(self) -> list[tuple[str, str]]:
        """For people."""
        lines = []
        for phase in self.done:
            where = f" on {phase.backend}" if phase.backend else ""
            compiled = f", {phase.kernels_compiled} kernels compiled for this machine" if phase.kernels_compiled else ""
            lines.append(("" if lines else "times", f"{phase.name} {phase.seconds:.3f} s{where}{compiled}"))
        return lines


def _num_cached() -> int:
    folder = cache_folder()
    return sum(1 for path in folder.iterdir() if path.suffix == ".so") if folder.is_dir() else 0
