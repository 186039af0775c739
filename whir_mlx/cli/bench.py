"""`whir-mlx bench`."""

from __future__ import annotations

import click

from whir_mlx.bench.against import bench_against
from whir_mlx.bench.crate import crate_binary
from whir_mlx.bench.grid import GRID_LOGS, bench_grid
from whir_mlx.bench.machine import machine_lines, with_threads
from whir_mlx.bench.picture import check_picture, write_picture
from whir_mlx.bench.results import Measured, check_output, write
from whir_mlx.bench.shapes import SHAPES
from whir_mlx.bench.stages import bench_stages
from whir_mlx.bench.throughput import bench_kernels, cases, default_cases
from whir_mlx.bench.whole import bench_proofs
from whir_mlx.cli.options import Integers, device_option
from whir_mlx.cli.outputs import check_writable
from whir_mlx.cli.run import Result, reported
from whir_mlx.kernels.device import get_device

__all__ = ["bench"]

DEFAULT_LOGS = (18, 20, 22)
MODES = ("against_crate", "stages", "profile", "kernels", "grid")


class Shapes(click.ParamType):
    """Comma-separated names of shapes."""

    name = "S,J,U"

    def convert(self, value, param, ctx):
        """The tuple of names; a usage error for an unknown one."""
        if isinstance(value, tuple):
            return value
        names = tuple(value.split(","))
        for name in names:
            if name not in SHAPES:
                self.fail(f"{name!r} is none of the shapes {', '.join(SHAPES)}", param, ctx)
        return names


@click.command()
@click.option("--shapes", type=Shapes(), default="S,J,U", show_default=True, help="Parameter sets, see below.")
@click.option("--logs", type=Integers(), help="log2 of the sizes.  [default: 18,20,22; the grid: 18,20,22,24]")
@click.option("--runs", type=click.IntRange(1), help="Timed runs of each.  [default: 5; --grid: 3]")
@click.option("--seeds", type=click.IntRange(1), help="Data seeds.  [default: 1; --against-crate: 5]")
@click.option("--threads", type=click.IntRange(1), help="Threads on the CPU.  [default: every core]")
@click.option("--against-crate", is_flag=True, help="p3-whir 0.8.0 in turns with this package: pairs and ratios.")
@click.option("--stages", is_flag=True, help="Where the time of one proof goes.")
@click.option("--profile", is_flag=True, help="The same, drawn: -o FILE.html or FILE.png.")
@click.option("--kernels", is_flag=True, help="Operations by size against the machine's limits.")
@click.option("--grid", type=click.Choice(["article"]), help="Folds 1 to 8, rates 1 to 3, up to 2^24.")
@click.option("--crate", type=click.Path(), help="Folder tests/interop of a checkout, to build the crate in.")
@click.option("--crate-binary", type=click.Path(), help="The crate's driver, already built; --grid times it too.")
@click.option("--budget", type=float, help="Seconds after which --grid begins nothing more.")
@click.option("-o", "--output", type=click.Path(), help="Write FILE.json, FILE.md, or both without an ending.")
@reported
@device_option
def bench(shapes, logs, runs, seeds, threads, crate, crate_binary, budget, output, device, **modes) -> Result:
    """Time commit + open (warm, data on the device, median), verification, memory and proof size.

    Shapes: S is CapacityBound (conjectured), 80 bits, up to 16 bits of grinding, first domain reduction 3; J is
    JohnsonBound and U UniqueDecoding, 100 bits, up to 20 bits of grinding. All fold 4 and start at rate 1/2.
    """
    asked = [mode for mode in MODES if modes[mode]]
    if len(asked) > 1:
        raise click.UsageError("give one of --against-crate, --stages, --profile, --kernels, --grid")
    mode = asked[0] if asked else "proofs"
    if output is not None:
        check_picture(output) if mode == "profile" else check_output(output)
        check_writable(output)
    elif mode == "profile":
        raise click.UsageError("--profile needs -o FILE.html or FILE.png")
    device = with_threads(get_device(device), threads)
    sizes = {"device": device, "shapes": shapes, "logs": logs or DEFAULT_LOGS}
    runs = runs or (3 if mode == "grid" else 5)
    if mode == "proofs":
        measured = bench_proofs(**sizes, runs=runs, seeds=seeds or 1, say=_say)
    elif mode == "against_crate":
        program = _program(crate, crate_binary)
        measured = bench_against(**sizes, binary=program, runs=runs, seeds=seeds or 5, threads=threads, say=_say)
    elif mode == "kernels":
        chosen = cases(logs, logs, logs) if logs else default_cases(device)
        measured = bench_kernels(device, chosen, runs=runs, say=_say)
    elif mode == "grid":
        program = _program(crate, crate_binary) if crate or crate_binary else None
        measured = bench_grid(
            device,
            logs or GRID_LOGS,
            runs=runs,
            binary=program,
            threads=threads,
            budget_s=budget,
            say=_say,
            # A run that is cut short leaves what it has measured.
            keep=(lambda so_far: write(output, so_far)) if output else lambda so_far: None,
        )
    else:
        measured, profiles = bench_stages(**sizes, runs=runs, say=_say)
        if mode == "profile":
            write_picture(output, profiles, machine_lines(measured.facts))
            return _result(measured, [output])
    return _result(measured, write(output, measured) if output else [])


def _program(crate: str | None, binary: str | None):
    if binary is None:
        _say("building the crate, unless it is built")
    return crate_binary(crate, binary)


def _result(measured: Measured, written: list[str]) -> Result:
    lines = [*measured.as_lines(), *(f"written: {path}" for path in written)]
    return Result({**measured.as_values(), "written": written}, [("", line) for line in lines])


def _say(text: str) -> None:
    click.echo(text, err=True)
