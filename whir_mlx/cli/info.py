"""`whir-mlx info`."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, version

import click
import numpy as np

from whir_mlx import __version__
from whir_mlx.choices import make_choices
from whir_mlx.cli.report import security_lines, security_values, statement_lines, statement_values
from whir_mlx.cli.run import Result, reported
from whir_mlx.errors import DeviceError
from whir_mlx.field.poseidon2_constants import WIDTHS, external_final, external_initial, internal
from whir_mlx.hardware import available_memory, describe, size_text
from whir_mlx.kernels.device import NAMES, get_device
from whir_mlx.kernels.targets.compiler import cache_folder
from whir_mlx.parameters_file import FiledStatement, from_dict
from whir_mlx.protocol.proof import size_bytes
from whir_mlx.protocol.proof_file import PROTOCOL, read_proof_file
from whir_mlx.protocol.statement import Schedule

__all__ = ["constants_digest", "info"]

DEFAULT_VARIABLES = 20


@click.command()
@click.argument("proof_path", metavar="[PROOF]", required=False, type=click.Path())
@reported
def info(proof_path) -> Result:
    """Show this installation: versions, devices, default parameters; or what a PROOF file says, unverified."""
    if proof_path is None:
        return _installation()
    parameters, commitment, proof = read_proof_file(proof_path)
    statement = from_dict(parameters)
    report = statement.choices.security(statement.schedule.num_claims)
    values = {
        "command": "info",
        "verified": False,
        "protocol": PROTOCOL,
        "commitment": commitment.hex(),
        "from_file": statement_values(statement),
        "security": security_values(report),
        "proof_bytes": size_bytes(proof),
    }
    lines = [
        ("file", f"{proof_path}, {PROTOCOL}; NOT VERIFIED: all of this is the file's own claim"),
        ("commitment", commitment.hex()),
        *statement_lines(statement),
        *security_lines(report),
        ("proof", f"{size_bytes(proof)} bytes"),
    ]
    return Result(values, lines)


def _installation() -> Result:
    devices = {name: _device(name) for name in NAMES}
    default = next(name for name in ("metal", "cuda", "cpu", "numpy") if devices[name][0])
    choices = make_choices(DEFAULT_VARIABLES)
    statement = FiledStatement(choices, Schedule.all_columns(choices.layout))
    report = choices.security()
    versions = {name: _version(name) for name in ("mlx", "numpy")}
    memory = available_memory()
    values = {
        "command": "info",
        "version": __version__,
        "protocol": PROTOCOL,
        "versions": versions,
        "devices": {name: {"usable": usable, "text": text} for name, (usable, text) in devices.items()},
        "default_device": default,
        "kernel_cache": str(cache_folder()),
        "available_bytes": memory,
        "poseidon2_constants_sha256": constants_digest(),
        "defaults": statement_values(statement),
        "security": security_values(report),
    }
    lines = [
        ("whir-mlx", f"{__version__}, protocol {PROTOCOL}, " + ", ".join(f"{k} {v}" for k, v in versions.items())),
        *[
            ("devices" if i == 0 else "", f"{name}: {'usable, ' if usable else 'not usable: '}{text}")
            for i, (name, (usable, text)) in enumerate(devices.items())
        ],
        ("default", default),
        ("kernel cache", str(cache_folder())),
        ("memory", f"{size_text(memory)} available" if memory is not None else "unknown"),
        ("constants", f"Poseidon2 of the crates, sha256 {constants_digest()}"),
        ("", f"with the default parameters, {DEFAULT_VARIABLES} variables:"),
        *statement_lines(statement),
        *security_lines(report),
        ("regimes", "johnson (default) and unique are proven; capacity is a conjecture, refuted near capacity"),
    ]
    return Result(values, lines)


def _device(name: str) -> tuple[bool, str]:
    try:
        return True, describe(get_device(name))
    except DeviceError as error:
        return False, str(error)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def constants_digest() -> str:
    """sha256 of the Poseidon2 round constants: per width the initial, internal and final ones, canonical, u32 LE."""
    digest = hashlib.sha256()
    for width in WIDTHS:
        for table in (external_initial(width), internal(width), external_final(width)):
            digest.update(np.array(table, dtype="<u4").tobytes())
    return digest.hexdigest()
