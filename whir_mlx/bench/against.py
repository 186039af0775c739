"""`whir-mlx bench --against-crate`: this package and the Rust crate in turns, on the same data and threads.

A pair is one statement over one data seed: each side runs once uncounted and then `runs` times, and its median counts.
Sides take turns in going first, so a machine that slows down or speeds up favours neither.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from whir_mlx.bench.crate import CrateProcess
from whir_mlx.bench.machine import available_cores, machine_facts
from whir_mlx.bench.memory import peak_bytes
from whir_mlx.bench.proofs import Prover, median
from whir_mlx.bench.results import Measured
from whir_mlx.bench.shapes import SHAPES, Statement
from whir_mlx.bench.tables import megabytes, milliseconds, ratio, render
from whir_mlx.errors import ParameterError
from whir_mlx.kernels.device import Device

__all__ = ["bench_against"]


def bench_against(
    device: Device,
    binary: Path,
    shapes: tuple[str, ...],
    logs: tuple[int, ...],
    *,
    runs: int,
    seeds: int,
    threads: int | None,
    say: Callable[[str], None],
) -> Measured:
    """Pairs, and per shape and size the median of their ratios. threads: of the crate (None: as many as `device`)."""
    threads = threads or getattr(device, "threads", None) or available_cores()
    facts = machine_facts(device)
    facts["threads"] = threads
    rows = []
    for name in shapes:
        for n in logs:
            try:
                statement = SHAPES[name].statement(n)
            except ParameterError as error:
                say(f"shape {name}, 2^{n} refused: {error}")
                rows.append({"shape": name, "n": n, "refused": str(error)})
                continue
            rows.append({"shape": name, "n": n, **_compare(device, binary, statement, runs, seeds, threads, say)})
    measured = [row for row in rows if "refused" not in row]
    if measured:
        facts["crate"] = f"p3-whir 0.8.0, parallel, native build with vectors of {measured[0]['crate_lanes']} elements"
    values = {"runs": runs, "seeds": seeds, "threads": threads, "rows": rows}
    sections = [
        (f"commit + open against p3-whir 0.8.0 (native build), {threads} threads, warm", _summary(rows)),
        (f"pairs: medians of {runs} runs over one data seed, ms (ours / crate)", _pairs(measured)),
    ]
    return Measured("against-crate", facts, values, sections)


def _compare(
    device: Device, binary: Path, statement: Statement, runs: int, seeds: int, threads: int, say: Callable[[str], None]
) -> dict:
    pairs = []
    # A process for each statement, so that its peak is that of this statement.
    with CrateProcess(binary) as crate:
        for seed in range(seeds):
            prover = Prover(device, statement, seed)
            sides = {}
            for side in ("crate", "ours") if seed % 2 else ("ours", "crate"):
                if side == "ours":
                    sides[side] = prover.times(runs)
                else:
                    sides[side] = crate.bench(statement, seed, runs=runs, threads=threads)
            ours, theirs = sides["ours"], sides["crate"]
            pairs.append(
                {
                    "seed": seed,
                    "ours_ms": median(ours.total),
                    "crate_ms": median(theirs["total"]),
                    "ratio": round(statistics.median(ours.total) / statistics.median(theirs["total"]), 4),
                    "ours_verify_ms": median(ours.verify),
                    "crate_verify_ms": median(theirs["verify"]),
                }
            )
            say(f"shape {statement.shape.name}, 2^{statement.n}, seed {seed}: {pairs[-1]['ratio']:.2f}")
    with CrateProcess(binary) as crate:
        peak = crate.bench(statement, 0, runs=1, threads=threads)["peak_bytes"]
    return {
        "pairs": pairs,
        "ours_ms": median([pair["ours_ms"] for pair in pairs]),
        "crate_ms": median([pair["crate_ms"] for pair in pairs]),
        "ratio": median([pair["ratio"] for pair in pairs]),
        "ours_verify_ms": median([pair["ours_verify_ms"] for pair in pairs]),
        "crate_verify_ms": median([pair["crate_verify_ms"] for pair in pairs]),
        "ours_peak_bytes": peak_bytes(device, statement),
        "crate_peak_bytes": peak,
        "proof_bytes": ours.proof_bytes,
        "crate_lanes": theirs["lanes"],
    }


def _summary(rows: list[dict]) -> list[str]:
    header = [
        "shape", "n", "ours ms", "crate ms", "ratio", "ours verify ms", "crate verify ms", "ours peak MB",
        "crate peak MB", "proof bytes",
    ]  # fmt: skip
    body = []
    for row in rows:
        cells = [row["shape"], str(row["n"])]
        if "refused" in row:
            body.append([*cells, "refused", *[""] * 7])
            continue
        cells += [milliseconds(row["ours_ms"]), milliseconds(row["crate_ms"]), ratio(row["ratio"])]
        cells += [milliseconds(row["ours_verify_ms"]), milliseconds(row["crate_verify_ms"])]
        body.append(
            [*cells, *(megabytes(row[f"{side}_peak_bytes"]) for side in ("ours", "crate")), str(row["proof_bytes"])]
        )
    lines = render(header, body)
    lines += ["", *(f"{row['shape']} 2^{row['n']} refused: {row['refused']}" for row in rows if "refused" in row)]
    return lines


def _pairs(rows: list[dict]) -> list[str]:
    if not rows:
        return []
    seeds = [str(pair["seed"]) for pair in rows[0]["pairs"]]
    body = [
        [row["shape"], str(row["n"]), *(
            f"{milliseconds(p['ours_ms'])} / {milliseconds(p['crate_ms'])} = {ratio(p['ratio'])}" for p in row["pairs"]
        )]
        for row in rows
    ]  # fmt: skip
    return render(["shape", "n", *(f"seed {seed}" for seed in seeds)], body)
