"""The command group and its entry point."""

import os
import sys
from importlib import import_module

import click

from whir_mlx import __version__

__all__ = ["main"]

_COMMANDS = ("prove", "verify", "convert", "info", "plan", "bench", "selftest", "export-kernels")


def start_gpu_early() -> None:
    """Let MLX's CUDA back-end start after 10 launches, not 100: a proof is 60 to 200, and the GPU waits for the first.

    This process is ours; a library sets no such thing. Whoever set the variable is left alone, and so are Macs, where
    it would cut command buffers.
    """
    if sys.platform == "linux":
        os.environ.setdefault("MLX_MAX_OPS_PER_BUFFER", "10")


class _Commands(click.Group):
    """Commands by name, each imported when it is asked for: `verify` by itself starts in a third of the time of all."""

    def list_commands(self, ctx):
        return sorted(_COMMANDS)

    def get_command(self, ctx, cmd_name):
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        return getattr(import_module(f"whir_mlx.cli.{name}"), name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whir-mlx")
def main() -> None:
    """WHIR polynomial commitments over BabyBear: prove, verify, convert.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
    """
    start_gpu_early()
