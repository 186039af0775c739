"""`whir-mlx prove`."""

from __future__ import annotations

import click

from whir_mlx.atomic import write_atomic
from whir_mlx.choices import make_choices
from whir_mlx.cli.options import device_option, opening_options, openings_of, parameter_options, placing_options
from whir_mlx.cli.outputs import check_writable
from whir_mlx.cli.phases import Phases
from whir_mlx.cli.report import security_lines, security_values, statement_lines, statement_values
from whir_mlx.cli.run import Result, reported
from whir_mlx.cli.sources import is_random, read_source
from whir_mlx.hardware import check_memory, size_text
from whir_mlx.kernels.device import get_device
from whir_mlx.memory import host_bytes
from whir_mlx.parameters_file import FiledStatement, to_dict
from whir_mlx.protocol.proof import size_bytes
from whir_mlx.protocol.proof_file import encode_proof_file
from whir_mlx.whir import Whir

__all__ = ["prove"]


@click.command()
@click.argument("source")
@click.option("-o", "--output", required=True, type=click.Path(), help="The proof file to write.")
@click.option("--encode", type=click.Choice(["bits"]), help="Commit to the exact bits of floats, as 16-bit limbs.")
@click.option("--pad", is_flag=True, help="Append zeros where rows are no power of two.")
@click.option("--max-memory", type=float, help="Refuse to take more than this many GB, instead of what is available.")
@reported
@device_option
@placing_options
@opening_options
@parameter_options
def prove(
    source, output, encode, pad, max_memory, device, placing, num_points, point_files, next, parameters
) -> Result:
    """Commit to INPUT, open it, and write a proof file.

    INPUT (SOURCE) is a .npy, .npz or .safetensors file of integers in 0..p-1, each array (rows,) or (columns, rows), or
    random:N[:seed]: 2^N elements of the splitmix generator.
    """
    check_writable(output, inputs=() if is_random(source) else (source, *point_files))
    with Phases(4) as phases:
        with phases.phase("read"):
            given = read_source(source, encode=encode, pad=pad)
            choices = make_choices(tables=given.tables, **parameters)
            schedule, points = openings_of(choices, num_points, point_files, next)
            statement = FiledStatement(choices, schedule, points, given.encoding)
            choices.config.check_claims(schedule.num_claims)
            pcs = Whir.from_choices(choices, device=get_device(device), **placing)
            needed = host_bytes(pcs.prover_device, choices, schedule, sumcheck=pcs.sumcheck)
            check_memory(needed, None if max_memory is None else int(max_memory * 10**9))
        with phases.phase("commit", pcs.prover_device):
            commitment, data = pcs.commit(given.evals, pad=given.pad)
        with phases.phase("open", pcs.prover_device):
            proof = pcs.open(data, points, schedule=schedule)
        phases.ran_on(pcs.opening_device(data))
        with phases.phase("write"):
            encoded = encode_proof_file(to_dict(statement), commitment, proof)
            write_atomic(output, encoded)
    report = choices.security(schedule.num_claims)
    values = {
        "command": "prove",
        "output": output,
        "commitment": commitment.hex(),
        "parameters": statement_values(statement),
        "security": security_values(report),
        "phases": [phase.values() for phase in phases.done],
        "proof_bytes": size_bytes(proof),
        "file_bytes": len(encoded),
    }
    hardware = devices_text(phases)
    lines = [
        ("proof", f"{output}: {size_text(len(encoded))} ({len(encoded)} bytes)"),
        ("commitment", commitment.hex()),
        *statement_lines(statement),
        *security_lines(report),
        ("device", hardware),
        *phases.lines(),
    ]
    return Result(values, lines)


def devices_text(phases: Phases) -> str:
    """The devices that phases really ran on."""
    return "; ".join(dict.fromkeys(f"{phase.backend}: {phase.hardware}" for phase in phases.done if phase.backend))
