"""The options that choose parameters, the same for every command that has them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import click

from whir_mlx.cli.sources import read_points
from whir_mlx.kernels.device import NAMES
from whir_mlx.protocol.layout import ORDERS
from whir_mlx.protocol.merkle_config import TREE_NAMES
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.sumcheck_mode import SUMCHECK_MODES
from whir_mlx.tables import make_schedule, padded_points

__all__ = [
    "Integers",
    "device_option",
    "opening_options",
    "openings_of",
    "parameter_options",
    "placing_options",
    "shape_options",
]


class Integers(click.ParamType):
    """Comma-separated integers."""

    name = "k0,k1,..."

    def convert(self, value, param, ctx):
        """The tuple of integers; a usage error for anything else."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a comma-separated list of integers", param, ctx)


class Table(click.ParamType):
    """LOG_ROWS:COLUMNS."""

    name = "log_rows:columns"

    def convert(self, value, param, ctx):
        """The pair of integers; a usage error for anything else."""
        if isinstance(value, tuple):
            return value
        rows, _, columns = value.partition(":")
        try:
            return int(rows), int(columns or 1)
        except ValueError:
            self.fail(f"{value!r} is not LOG_ROWS:COLUMNS, such as 16:4", param, ctx)


_PARAMETERS = (
    click.option("--fold", type=int, help="Variables folded in every phase.  [default: 4]"),
    click.option("--fold-schedule", type=Integers(), help="Variables folded in each phase, instead of --fold."),
    click.option("--log-inv-rate", type=int, default=1, show_default=True, help="-log2 of the code's rate."),
    click.option("--round-log-inv-rates", type=Integers(), help="The same for each later codeword."),
    click.option(
        "--security", type=int, default=100, show_default=True, help="Bits that each error term by itself must reach."
    ),
    click.option(
        "--soundness",
        type=click.Choice([kind.value for kind in Soundness]),
        default="johnson",
        show_default=True,
        help="johnson and unique are proven; capacity is a conjecture that has been refuted near capacity.",
    ),
    click.option("--pow-bits", type=int, default=20, show_default=True, help="The most grinding that a step may take."),
    click.option("--layout", type=click.Choice(ORDERS), default="suffix", show_default=True, help="Variable order."),
    click.option("--tree", type=click.Choice(TREE_NAMES), default="w16", show_default=True, help="Merkle trees."),
    click.option("--cap-height", type=int, default=0, show_default=True, help="Layers cut off below the root."),
)


def parameter_options(function: Callable) -> Callable:
    """Add the parameter options; the command gets them as one dict `parameters`, keywords of `make_choices`."""

    @functools.wraps(function)
    def command(*arguments, fold, fold_schedule, security, **options):
        if fold is not None and fold_schedule is not None:
            raise click.UsageError("give --fold or --fold-schedule, not both")
        names = ("log_inv_rate", "round_log_inv_rates", "soundness", "pow_bits", "layout", "tree", "cap_height")
        parameters = {name: options.pop(name) for name in names}
        parameters["folding_factor"] = fold_schedule if fold_schedule is not None else 4 if fold is None else fold
        parameters["security_level"] = security
        return function(*arguments, parameters=parameters, **options)

    for option in reversed(_PARAMETERS):
        command = option(command)
    return command


def shape_options(function: Callable) -> Callable:
    """Add `--n`, `--columns` and `--table`; the command gets them as one dict `shape`, keywords of `make_choices`.

    `shape` is None where none of them is given.
    """

    @functools.wraps(function)
    def command(*arguments, n, columns, tables, **options):
        if n is not None and tables:
            raise click.UsageError("give --n (and --columns) or --table, not both")
        if n is None and columns is not None:
            raise click.UsageError("--columns goes with --n")
        shape = {"tables": tables} if tables else None if n is None else {"num_variables": n, "columns": columns}
        return function(*arguments, shape=shape, **options)

    command = click.option("--table", "tables", type=Table(), multiple=True, help="A table's shape; repeat for more.")(
        command
    )
    command = click.option("--columns", type=int, help="Columns of the one table of --n.  [default: 1]")(command)
    return click.option("--n", type=int, help="Variables: one table of 2^N rows.")(command)


def opening_options(function: Callable) -> Callable:
    """Add `--points`, `--point` and `--next`; see `openings_of`."""
    function = click.option("--next", is_flag=True, help="Also open every column's successor view.")(function)
    function = click.option(
        "--point",
        "point_files",
        type=click.Path(),
        multiple=True,
        help="Open at the point in this file (.npy or .json); repeat for more, in table order.",
    )(function)
    return click.option(
        "--points",
        "num_points",
        type=int,
        default=1,
        show_default=True,
        help="Openings of each table at points drawn from the transcript.",
    )(function)


def openings_of(choices, num_points: int, point_files: tuple[str, ...], next: bool):
    """(schedule, points or None) of the opening options."""
    points = read_points(point_files) if point_files else None
    schedule = make_schedule(choices, None, points, num_points, next)
    return schedule, padded_points(choices, schedule, points)


device_option = click.option(
    "--device",
    "--backend",
    "device",
    type=click.Choice(["auto", *NAMES]),
    default="auto",
    show_default=True,
    help="Where to run; one that is missing is an error, never replaced by another.",
)


def placing_options(function: Callable) -> Callable:
    """Add `--sumcheck` and `--no-fallback`; the command gets them as one dict `placing`, keywords of `Whir`."""

    @functools.wraps(function)
    def command(*arguments, sumcheck, no_fallback, **options):
        return function(*arguments, placing={"sumcheck": sumcheck, "fallback": not no_fallback}, **options)

    command = click.option(
        "--no-fallback",
        is_flag=True,
        help="Refuse what is too large for the GPU's memory, instead of proving it in steps or on the CPU.",
    )(command)
    return click.option(
        "--sumcheck",
        type=click.Choice(SUMCHECK_MODES),
        default="device",
        show_default=True,
        help="Where the opening runs when a GPU commits: there, on the CPU, or what is timed to be faster here.",
    )(command)
