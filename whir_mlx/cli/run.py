"""What every command shares: how results, warnings and refusals come out."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from whir_mlx.errors import ParameterError, VerificationError, WhirError

__all__ = ["Result", "reported"]

# What a command may end with for reasons that lie outside this package: input, system, device.
_REFUSALS = (WhirError, ValueError, TypeError, IndexError, OSError, RuntimeError, MemoryError, EOFError)

_GPU_WATCHDOG = (
    "the system stopped the GPU's work because it was busy for too long while a display is active "
    "(reported as 'Impacting Interactivity'); close what else uses the GPU, or run with --device cpu"
)


@dataclass
class Result:
    """`values` for `--json`; `lines` for people: (label, text) pairs, with an empty label to go on."""

    values: dict
    lines: list[tuple[str, str]] = field(default_factory=list)


def reported(function: Callable[..., Result]) -> Callable[..., None]:
    """Give a command `--json`, and print its Result, its warnings and its refusal (exit code 1)."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
    @functools.wraps(function)
    def command(*arguments, as_json: bool, **options) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(*arguments, **options)
            except click.ClickException:
                raise
            except _REFUSALS as error:
                _print_warnings(caught)
                _print_refusal(error, as_json)
                sys.exit(1)
        _print_warnings(caught)
        if as_json:
            click.echo(json.dumps({"ok": True, **result.values, "warnings": _texts(caught)}))
        else:
            width = max((len(label) for label, _ in result.lines), default=0)
            for label, text in result.lines:
                click.echo(f"{label:<{width}}  {text}".rstrip())

    return command


def _texts(caught: list) -> list[str]:
    # One text may be raised once for every use of the same parameters.
    return list(dict.fromkeys(str(warning.message) for warning in caught))


def _print_warnings(caught: list) -> None:
    for text in _texts(caught):
        click.echo(f"warning: {text}", err=True)


def _print_refusal(error: Exception, as_json: bool) -> None:
    message = _message(error)
    if as_json:
        details = {"type": type(error).__name__, "message": message}
        if isinstance(error, ParameterError):
            details["kind"] = error.kind
        if isinstance(error, VerificationError):
            details["check"] = error.check
        click.echo(json.dumps({"ok": False, "error": details}))
    click.echo(f"error: {message}", err=True)


def _message(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if "Impacting Interactivity" in text:
        return f"{_GPU_WATCHDOG}: {text}"
    if isinstance(error, MemoryError):
        return f"out of memory: {text}"
    if isinstance(error, VerificationError):
        return f"the proof does not verify: {text}"
    return text
