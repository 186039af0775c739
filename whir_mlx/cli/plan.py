"""`whir-mlx plan`."""

from __future__ import annotations

import click

from whir_mlx.choices import make_choices
from whir_mlx.cli.options import opening_options, openings_of, parameter_options, shape_options
from whir_mlx.cli.report import security_lines, security_values, statement_lines, statement_values
from whir_mlx.cli.run import Result, reported
from whir_mlx.estimate import estimate
from whir_mlx.hardware import available_memory, check_memory, size_text
from whir_mlx.memory import gpu_bytes, gpu_memory
from whir_mlx.parameters_file import FiledStatement

__all__ = ["plan"]


@click.command()
@click.option("--max-memory", type=float, help="The GB that may be taken, instead of what is available here.")
@reported
@opening_options
@shape_options
@parameter_options
def plan(max_memory, shape, num_points, point_files, next, parameters) -> Result:
    """Show what a proof would be worth and cost; refuse what cannot be proved or does not fit.

    Nothing is committed, and no device is used.
    """
    if shape is None:
        raise click.UsageError("give --n or --table")
    choices = make_choices(**shape, **parameters)
    schedule, points = openings_of(choices, num_points, point_files, next)
    choices.config.check_claims(schedule.num_claims)
    statement = FiledStatement(choices, schedule, points)
    report = choices.security(schedule.num_claims)
    expected = estimate(choices, schedule)
    gpu = gpu_memory("cuda", choices, schedule)
    check_memory(expected.peak_bytes, None if max_memory is None else int(max_memory * 10**9))
    available = available_memory()
    values = {
        "command": "plan",
        "parameters": statement_values(statement),
        "security": security_values(report),
        "proof_bytes": expected.proof_bytes,
        "peak_bytes": expected.peak_bytes,
        "available_bytes": available,
        "gpu": {
            "commit_bytes": gpu_bytes(gpu.commit),
            "open_bytes": gpu_bytes(gpu.open),
            "stepwise_bytes": gpu_bytes(gpu.stepwise),
        },
    }
    left = f" of {size_text(available)} available" if available is not None else ""
    lines = [
        *statement_lines(statement),
        *security_lines(report),
        *[("terms" if i == 0 else "", _term_text(term)) for i, term in enumerate(report.terms)],
        ("proof", f"about {size_text(expected.proof_bytes)}"),
        ("memory", f"about {size_text(expected.peak_bytes)}{left} ({expected.peak_bytes} bytes)"),
        (
            "on a GPU",
            f"about {size_text(gpu_bytes(gpu.peak))} ({size_text(gpu_bytes(gpu.commit))} to commit, "
            f"{size_text(gpu_bytes(gpu.open))} to open), {size_text(gpu_bytes(gpu.stepwise))} in steps",
        ),
    ]
    return Result(values, lines)


def _term_text(term) -> str:
    times = f", {term.count} times" if term.count > 1 else ""
    grinding = f" ({term.pow_bits} of them grinding)" if term.pow_bits else ""
    return f"{term.phase}: {term.error} {term.bits:.1f} bits{grinding}{times}"
