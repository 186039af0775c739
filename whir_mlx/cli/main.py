"""The command group and its entry point."""

import click

from whir_mlx import __version__
from whir_mlx.cli.bench import bench
from whir_mlx.cli.convert import convert
from whir_mlx.cli.export_kernels import export_kernels
from whir_mlx.cli.info import info
from whir_mlx.cli.plan import plan
from whir_mlx.cli.prove import prove
from whir_mlx.cli.selftest import selftest
from whir_mlx.cli.verify import verify

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whir-mlx")
def main() -> None:
    """WHIR polynomial commitments over BabyBear: prove, verify, convert.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
    """


for command in (prove, verify, convert, info, plan, bench, selftest, export_kernels):
    main.add_command(command)
