"""`whir-mlx bench`: whole proofs of the shapes at several sizes."""

from __future__ import annotations

from collections.abc import Callable

from whir_mlx.bench.machine import machine_facts
from whir_mlx.bench.memory import peak_bytes
from whir_mlx.bench.proofs import Prover, median
from whir_mlx.bench.results import Measured
from whir_mlx.bench.shapes import SHAPES
from whir_mlx.bench.tables import megabytes, milliseconds, refusals, render
from whir_mlx.errors import ParameterError
from whir_mlx.kernels.device import Device

__all__ = ["bench_proofs"]


def bench_proofs(
    device: Device, shapes: tuple[str, ...], logs: tuple[int, ...], *, runs: int, seeds: int, say: Callable[[str], None]
) -> Measured:
    """Every shape at every size, over `seeds` data seeds (grinding is luck); medians are over all runs of all seeds."""
    facts = machine_facts(device)
    facts["threads"] = getattr(device, "threads", None)
    rows = []
    for name in shapes:
        for n in logs:
            say(f"shape {name}, 2^{n}")
            row = {"shape": name, "n": n}
            try:
                row |= _measure(device, SHAPES[name].statement(n), runs, seeds)
            except (ParameterError, MemoryError) as error:
                row["refused"] = str(error)
            rows.append(row)
    header = ["shape", "n", "commit + open ms", "min", "max", "first ms", "verify ms", "peak MB", "proof bytes"]
    lines = render(header, [_cells(row) for row in rows]) + refusals(rows)
    title = f"commit + open, warm, median of {runs} runs for each of {seeds} data seeds"
    return Measured("proofs", facts, {"runs": runs, "seeds": seeds, "rows": rows}, [(title, lines)])


def _measure(device: Device, statement, runs: int, seeds: int) -> dict:
    times = [Prover(device, statement, seed).times(runs) for seed in range(seeds)]
    total = [value for one in times for value in one.total]
    return {
        "commit_ms": median([value for one in times for value in one.commit]),
        "open_ms": median([value for one in times for value in one.open]),
        "total_ms": median(total),
        "total_by_seed_ms": [median(one.total) for one in times],
        "min_ms": round(min(total), 4),
        "max_ms": round(max(total), 4),
        "first_ms": round(times[0].first, 3),
        "verify_ms": median([value for one in times for value in one.verify]),
        "proof_bytes": times[0].proof_bytes,
        "peak_bytes": peak_bytes(device, statement),
    }


def _cells(row: dict) -> list[str]:
    if "refused" in row:
        return [row["shape"], str(row["n"]), "refused", "", "", "", "", "", ""]
    times = [milliseconds(row[key]) for key in ("total_ms", "min_ms", "max_ms", "first_ms", "verify_ms")]
    return [row["shape"], str(row["n"]), *times, megabytes(row["peak_bytes"]), str(row["proof_bytes"])]
