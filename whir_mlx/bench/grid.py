"""`whir-mlx bench --grid article`: the grid of the published Metal prover.

Every configuration gives a time or the reason why there is none, with the crate's CPU time beside it where one of its
runs is short enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from whir_mlx.bench.crate import CrateProcess, CrateRefused, CrateTimeout
from whir_mlx.bench.machine import available_cores, machine_facts
from whir_mlx.bench.proofs import Prover, median
from whir_mlx.bench.results import Measured
from whir_mlx.bench.shapes import Statement, article_grid
from whir_mlx.bench.tables import milliseconds, ratio, render
from whir_mlx.errors import WhirError
from whir_mlx.estimate import estimate
from whir_mlx.hardware import available_memory, size_text
from whir_mlx.kernels.device import Device

__all__ = ["GRID_LOGS", "bench_grid"]

GRID_LOGS = (18, 20, 22, 24)
CRATE_LIMIT_S = 10.0
# A proof this long is timed once.
_LONG_MS = 10_000.0


def bench_grid(
    device: Device,
    logs: tuple[int, ...],
    *,
    runs: int,
    binary: Path | None,
    threads: int | None,
    budget_s: float | None,
    say: Callable[[str], None],
    keep: Callable[[Measured], None] = lambda measured: None,
) -> Measured:
    """binary: the crate's program, or None to leave it out; threads: of the crate (None: as many as `device` has).

    budget_s: configurations that have not begun by then are left out, and say so. keep: called with the result so far
    after every configuration.
    """
    threads = threads or getattr(device, "threads", None) or available_cores()
    facts = machine_facts(device)
    facts["threads"] = getattr(device, "threads", None)
    if binary is not None:
        facts["crate"] = f"p3-whir 0.8.0, parallel, {threads} threads"
    began, rows = time.monotonic(), []
    for n, shape in article_grid(logs):
        row = {"n": n, "fold": shape.fold, "rate": shape.rate}
        if budget_s is not None and time.monotonic() - began > budget_s:
            row["refused"] = f"not run: the {budget_s:.0f} s given to the grid were over"
        else:
            row |= _measure(device, shape, n, runs, binary, threads)
        rows.append(row)
        say(" ".join(_cells(row)))
        measured = _measured(facts, rows, runs)
        keep(measured)
    return measured


def _measured(facts: dict, rows: list[dict], runs: int) -> Measured:
    header = ["n", "fold", "rate", "ms", "verify ms", "proof bytes", "crate CPU ms", "crate / ours", "note"]
    values = {"grid": "article", "runs": runs, "rows": list(rows)}
    title = f"shape S by fold and rate: commit + open, warm, median of {runs} runs"
    return Measured("grid article", facts, values, [(title, render(header, [_cells(row) for row in rows]))])


def _measure(device: Device, shape, n: int, runs: int, binary: Path | None, threads: int) -> dict:
    try:
        statement = shape.statement(n)
    except (WhirError, ValueError) as error:
        return {"refused": str(error)}
    row = _ours(device, statement, runs)
    if binary is not None:
        row |= _crate(binary, statement, threads)
    return row


def _ours(device: Device, statement: Statement, runs: int) -> dict:
    needed = estimate(statement.choices).peak_bytes
    available = None if device.lazy else available_memory()
    if available is not None and needed > available:
        return {"refused": f"would take about {size_text(needed)}; {size_text(available)} are available"}
    _release(device)
    try:
        prover = Prover(device, statement)
        first = prover.times(1, verify=False)
        times = prover.times(1 if first.total[0] > _LONG_MS else runs)
    except (WhirError, ValueError, RuntimeError, MemoryError) as error:
        return {"refused": f"{type(error).__name__}: {error}"[:300]}
    return {
        "ms": median(times.total),
        "first_ms": round(first.first, 3),
        "verify_ms": median(times.verify),
        "proof_bytes": times.proof_bytes,
    }


def _release(device: Device) -> None:
    """Gives back what MLX keeps for reuse from the configuration before, which had other sizes."""
    if device.lazy:
        import mlx.core as mx

        mx.clear_cache()


def _crate(binary: Path, statement: Statement, threads: int) -> dict:
    with CrateProcess(binary) as crate:
        try:
            times = crate.bench(statement, 0, runs=1, threads=threads, run_limit_s=CRATE_LIMIT_S)
        except CrateTimeout:
            return {"crate_note": f"crate: a run takes more than {CRATE_LIMIT_S:.0f} s"}
        except CrateRefused as error:
            return {"crate_note": f"crate refuses: {error}"[:200]}
    return {"crate_ms": median(times["total"])}


def _cells(row: dict) -> list[str]:
    cells = [str(row[key]) for key in ("n", "fold", "rate")]
    crate, ours = row.get("crate_ms"), row.get("ms")
    notes = "; ".join(row[key] for key in ("refused", "crate_note") if key in row)
    faster = crate / ours if crate and ours else None
    cells += [milliseconds(ours), milliseconds(row.get("verify_ms")), str(row.get("proof_bytes", ""))]
    return [*cells, milliseconds(crate), ratio(faster), notes]
