"""Running the checks: each twice, the first time with the compilation of its kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from whir_mlx.errors import WhirError
from whir_mlx.kernels import device as devices
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.export import SPECIALISATIONS
from whir_mlx.kernels.quick_check import quick_check
from whir_mlx.kernels.text import FOLDER
from whir_mlx.selftest.answers import digest, known_answers
from whir_mlx.selftest.cases import Case, kernel_cases
from whir_mlx.selftest.proofs import LARGE, PROOFS, make_pcs, prove, tables_of

__all__ = ["Check", "run"]

_ERRORS = (WhirError, RuntimeError, ValueError, TypeError, IndexError, MemoryError)


@dataclass(frozen=True)
class Check:
    """ok: None where it was skipped; fault: what is wrong, or why it was skipped. Seconds of the first run and of a
    second."""

    label: str
    ok: bool | None
    first_seconds: float = 0.0
    again_seconds: float = 0.0
    fault: str = ""


def run(device: Device, *, large: bool = True) -> Iterator[Check]:
    """All checks on `device`, one after the other. large: with the proof of 2^18.

    Every kernel is compiled once: beforehand and side by side where the target can, else when a check first runs it.
    """
    with suppress(*_ERRORS):  # the check that needs the kernel will tell
        device.prepare(_kernels(device))
    yield _timed("quick check", lambda: quick_check(device))
    for case in kernel_cases():
        yield _timed(case.label, lambda case=case: _kernel_fault(device, case))
    for label in PROOFS:
        if label == LARGE and not large:
            continue
        if label == LARGE and device.name == "numpy":
            yield Check(label, None, fault="NumPy would take minutes")
        else:
            yield _timed(label, lambda label=label: _proof_fault(device, label))


def _kernels(device: Device) -> tuple:
    """Kernels as `Device.prepare` takes them: all that the package specialises for GPUs; elsewhere the first use of a
    kernel builds it, for vectors that its launch chooses."""
    if not device.lazy:
        return ()
    names = sorted(path.stem for path in FOLDER.glob("*.metal"))
    return tuple(
        (name, tuple(sorted(values.items())), 0) for name in names for values in SPECIALISATIONS.get(name, ({},))
    )


def _timed(label: str, check: Callable[[], str | None]) -> Check:
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        try:
            fault = check()
        except _ERRORS as error:
            fault = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        seconds.append(time.perf_counter() - start)
        if fault:
            break
    return Check(label, not fault, seconds[0], seconds[-1], fault or "")


def _kernel_fault(device: Device, case: Case) -> str | None:
    results = case.run(device)
    if digest(results) == known_answers()[case.label]:
        return None
    expected = case.run(devices.get_device("numpy"))
    if digest(expected) != known_answers()[case.label]:
        return "the known answer fits neither the device nor NumPy: this installation is damaged"
    return _difference(results, expected)


def _difference(results: list[np.ndarray], expected: list[np.ndarray]) -> str:
    """Where two lists of arrays part, in words."""
    for number, (got, wanted) in enumerate(zip(results, expected)):
        if got.shape != wanted.shape:
            return f"result {number} has shape {got.shape}, not {wanted.shape}"
        wrong = np.flatnonzero(got.reshape(-1) != wanted.reshape(-1))
        if len(wrong):
            first = int(wrong[0])
            values = f"{got.reshape(-1)[first]:#010x}, not {wanted.reshape(-1)[first]:#010x}"
            return f"{len(wrong)} of {got.size} words of result {number} are wrong, the first at {first}: {values}"
    return f"{len(results)} results, not {len(expected)}"


def _proof_fault(device: Device, label: str) -> str | None:
    pcs = make_pcs(label, device)
    tables = tables_of(pcs)
    made = prove(pcs, tables)
    if digest(made) == known_answers()[label]:
        return None
    host = devices.get_device("cpu") if devices.cpu.available() else devices.get_device("numpy")
    if host.name == device.name or (host.name == "numpy" and label == LARGE):
        return "the proof verifies, and is not the known one"
    expected = prove(make_pcs(label, host), tables)
    words = np.frombuffer(made, np.uint8), np.frombuffer(expected, np.uint8)
    if len(made) != len(expected):
        return f"the proof verifies, and has {len(made)} bytes where the {host.name} target's has {len(expected)}"
    wrong = np.flatnonzero(words[0] != words[1])
    if not len(wrong):
        return f"the proof is that of the {host.name} target, and not the known one: this installation is damaged"
    return f"the proof verifies, and differs from the {host.name} target's from byte {int(wrong[0])} on"
