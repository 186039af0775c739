"""`whir-mlx export-kernels`."""

from __future__ import annotations

import click

from whir_mlx.cli.run import Result, reported
from whir_mlx.kernels.export import export_kernels as export

__all__ = ["export_kernels"]


@click.command("export-kernels")
@click.argument("folder", metavar="DIR", type=click.Path())
@reported
def export_kernels(folder: str) -> Result:
    """Write every kernel as a complete .metal source of its own into DIR, for Swift and C++ apps.

    Each specialisation is one file, to be compiled as it is; kernels.json lists its arguments, the threads that it
    expects, and its specialisation values. DIR is made; one that exists must be empty or an earlier export, which is
    replaced.
    """
    names = export(folder)
    return Result(
        {"command": "export-kernels", "folder": folder, "files": names},
        [("written", f"{len(names)} files in {folder}")],
    )
