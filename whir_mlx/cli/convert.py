"""`whir-mlx convert`."""

from __future__ import annotations

import click

from whir_mlx.atomic import write_atomic
from whir_mlx.choices import make_choices
from whir_mlx.cli.options import opening_options, openings_of, parameter_options, shape_options
from whir_mlx.cli.outputs import check_writable
from whir_mlx.cli.run import Result, reported
from whir_mlx.parameters_file import FiledStatement, to_dict
from whir_mlx.protocol.plonky3_json import from_plonky3_json, to_plonky3_json
from whir_mlx.protocol.proof_file import encode_proof_file, read_proof_file

__all__ = ["convert"]

FORMATS = click.Choice(["plonky3-json"])


@click.command()
@click.argument("source", metavar="INPUT", type=click.Path())
@click.argument("output", metavar="OUTPUT", type=click.Path())
@click.option("--to", "target", type=FORMATS, help="INPUT is a proof file, OUTPUT becomes this.")
@click.option("--from", "origin", type=FORMATS, help="INPUT is this, OUTPUT becomes a proof file.")
@reported
@opening_options
@shape_options
@parameter_options
def convert(source, output, target, origin, shape, num_points, point_files, next, parameters) -> Result:
    """Convert a proof file to the JSON of p3-whir 0.8.0, or such JSON to a proof file.

    The JSON has no parameters, so with --from the statement is given by options, as for prove (--n or --table, and what
    differs from the defaults). Nothing is verified on the way.
    """
    if (target is None) == (origin is None):
        raise click.UsageError("give --to or --from, and not both")
    check_writable(output, inputs=(source,))
    if target is not None:
        if shape is not None:
            raise click.UsageError("--n and --table go with --from: a proof file has its own parameters")
        _, commitment, proof = read_proof_file(source)
        data = to_plonky3_json(commitment, proof).encode()
    else:
        if shape is None:
            raise click.UsageError("--from needs the statement's shape: --n or --table")
        choices = make_choices(**shape, **parameters)
        schedule, points = openings_of(choices, num_points, point_files, next)
        with open(source, "rb") as stream:
            commitment, proof = from_plonky3_json(stream.read())
        data = encode_proof_file(to_dict(FiledStatement(choices, schedule, points)), commitment, proof)
    write_atomic(output, data)
    values = {"command": "convert", "output": output, "commitment": commitment.hex(), "bytes": len(data)}
    return Result(values, [("converted", f"{source} to {output}, {len(data)} bytes"), ("commitment", commitment.hex())])
