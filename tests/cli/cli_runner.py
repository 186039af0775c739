"""Running the command line in this process, as most of these tests do, or in one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from whir_mlx.cli.main import main

ROOT = Path(__file__).parents[2]
SMALL = ("--fold", "2", "--security", "30", "--pow-bits", "4")
"""Parameters of a proof that takes milliseconds."""


def run(*arguments, code=0):
    """(stdout, stderr) of a command that must end with exit code `code`."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr)
    return result.stdout, result.stderr


def run_json(*arguments, code=0):
    """The one JSON object that a command prints with --json."""
    return json.loads(run(*arguments, "--json", code=code)[0])


def start(*arguments, **environment):
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "whir_mlx", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
