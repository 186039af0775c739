"""`whir-mlx selftest`."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console
from rich.table import Table

from whir_mlx.cli.options import device_option
from whir_mlx.errors import DeviceError
from whir_mlx.hardware import describe, size_text
from whir_mlx.kernels.device import Device, get_device
from whir_mlx.kernels.targets.build_progress import watch_builds
from whir_mlx.selftest import Check, machine_facts, run

__all__ = ["selftest"]


@click.command()
@device_option
@click.option("--quick", is_flag=True, help="Leave out the proof of 2^18.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def selftest(device: str, quick: bool, as_json: bool) -> None:
    """Check this machine: known answers of every kernel and whole proofs on the device, each run twice.

    The answers are compared with those of NumPy and of the CPU target, word for word. Exit code 0 where all are right,
    1 where one is not. Please add the output to a bug report.
    """
    try:
        # The whole test, not its short form, is what this command is for.
        chosen = get_device(device, check=False)
    except DeviceError as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "error": {"type": "DeviceError", "message": str(error)}}))
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    facts = {**machine_facts(chosen), "hardware": describe(chosen)}
    checks = _run(chosen, large=not quick)
    failed = [check for check in checks if check.ok is False]
    if as_json:
        values = {
            "ok": not failed,
            "command": "selftest",
            "machine": facts,
            "checks": [_values(check) for check in checks],
        }
        click.echo(json.dumps(values))
    else:
        _print(facts, checks)
    for check in failed:
        click.echo(f"error: {check.label}: {check.fault}", err=True)
    sys.exit(1 if failed else 0)


def _run(device: Device, *, large: bool) -> list[Check]:
    """All checks; what is done is told on the standard error, by a line a check where that is no terminal."""
    console = Console(stderr=True)
    checks = []
    with console.status("the first run of a kernel compiles it") as status:

        def built(done: int, total: int) -> None:
            status.update(f"compiling kernels: {done} of {total} done")

        with watch_builds(built):
            for check in run(device, large=large):
                checks.append(check)
                last = f"{check.label}: {check.first_seconds:.2f} s, {check.again_seconds:.2f} s again"
                status.update(f"{len(checks)} checks, last: {last}")
                if not console.is_terminal:
                    click.echo(f"{len(checks)}. {last}", err=True)
    return checks


def _values(check: Check) -> dict:
    times = {"first_seconds": round(check.first_seconds, 6), "again_seconds": round(check.again_seconds, 6)}
    return {"label": check.label, "ok": check.ok, **times, "fault": check.fault}


def _print(facts: dict, checks: list[Check]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    about = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in facts.items():
        shown = (
            size_text(value)
            if isinstance(value, int) and ("memory" in name or "size" in name or "length" in name)
            else value
        )
        about.add_row(name, str(shown))
    console.print(about)
    table = Table("check", "result", "first run, ms", "again, ms")
    for column in table.columns[2:]:
        column.justify = "right"
    words = {True: "ok", False: "[bold red]WRONG[/]", None: "skipped"}
    for check in checks:
        shown = (
            ("", "") if check.ok is None else (f"{1000 * check.first_seconds:.2f}", f"{1000 * check.again_seconds:.2f}")
        )
        table.add_row(check.label, words[check.ok], *shown)
    console.print(table)
    skipped = [check for check in checks if check.ok is None]
    good = sum(check.ok is True for check in checks)
    console.print(
        f"{good} of {len(checks) - len(skipped)} checks right" + (f", {len(skipped)} skipped" if skipped else "")
    )
