"""`whir-mlx verify`."""

from __future__ import annotations

import time

import click
import numpy as np

from whir_mlx.cli.options import device_option
from whir_mlx.cli.report import (
    opened_lines,
    opened_values,
    security_lines,
    security_values,
    statement_lines,
    statement_values,
)
from whir_mlx.cli.run import Result, reported
from whir_mlx.cli.sources import read_commitment_argument, read_points
from whir_mlx.errors import VerificationError
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.hardware import describe
from whir_mlx.inputs import canonical_array
from whir_mlx.parameters_file import FiledStatement, from_dict
from whir_mlx.protocol.proof import Commitment
from whir_mlx.protocol.proof_file import read_proof_file
from whir_mlx.protocol.security import SecurityReport
from whir_mlx.protocol.security_bounds import Soundness
from whir_mlx.tables import padded_points
from whir_mlx.whir import Whir

__all__ = ["verify"]


class Element(click.ParamType):
    """An extension element: c0,c1,c2,c3, or one integer of the base field."""

    name = "c0[,c1,c2,c3]"

    def convert(self, value, param, ctx):
        """(4,) uint32; a usage error for anything else."""
        try:
            words = canonical_array("the value", [int(part) for part in value.split(",")])
        except ValueError as error:
            self.fail(f"{value!r} is not c0,c1,c2,c3: {error}", param, ctx)
        if len(words) not in (1, EXT_DEGREE):
            self.fail(f"{value!r} must have 1 or {EXT_DEGREE} coefficients", param, ctx)
        return np.concatenate([words, np.zeros(EXT_DEGREE - len(words), np.uint32)])


@click.command()
@click.argument("proof_path", metavar="PROOF", type=click.Path())
@click.option("--commitment", "trusted", help="The commitment you trust: hexadecimal digits, or a file of them.")
@click.option(
    "--expect-eval",
    "expected",
    type=Element(),
    multiple=True,
    help="An opened value you expect; give all of them, in the proof's order (current columns, then next ones).",
)
@click.option(
    "--point", "point_files", type=click.Path(), multiple=True, help="The chosen points you trust, one a file."
)
@click.option(
    "--min-security",
    type=float,
    help="Refuse fewer bits than this: of the union of all error terms, a few bits below the target of each.",
)
@click.option(
    "--soundness",
    type=click.Choice([kind.value for kind in Soundness]),
    help="The regime you accept; without it --min-security takes johnson and unique, which are proven.",
)
@reported
@device_option
def verify(proof_path, trusted, expected, point_files, min_security, soundness, device) -> Result:
    """Verify a proof file.

    Only what stands on this command line is trusted: --commitment, --expect-eval, --point, --min-security, --soundness.
    Everything else is the file's own claim, and is printed as such.
    """
    parameters, commitment, proof = read_proof_file(proof_path)
    statement = from_dict(parameters)
    report = statement.choices.security(statement.schedule.num_claims)
    if trusted is not None:
        _check_commitment(read_commitment_argument(trusted), commitment)
    if point_files:
        _check_points(statement, point_files)
    _check_security(report, min_security, soundness)
    pcs = Whir.from_choices(statement.choices, device=device)
    start = time.perf_counter()
    opened = pcs.verify(
        commitment,
        proof,
        statement.points,
        schedule=statement.schedule,
        expected=_by_opening(statement, expected) if expected else None,
    )
    seconds = time.perf_counter() - start

    yours = {
        "commitment": trusted is not None,
        "values": bool(expected),
        "points": bool(point_files),
        "min_security": min_security is not None,
        "soundness": soundness is not None,
    }
    values = {
        "command": "verify",
        "verified": True,
        "trusted": yours,
        "commitment": commitment.hex(),
        "from_file": statement_values(statement),
        "security": security_values(report),
        "opened": opened_values(opened),
        "phases": [
            {
                "name": "verify",
                "seconds": round(seconds, 6),
                "backend": pcs.device.name,
                "device": describe(pcs.device),
            }
        ],
    }
    asserted = [name for name, given in yours.items() if given]
    # Points that the transcript drew are nobody's claim.
    claimed = ("commitment", "values") if statement.points is None else ("commitment", "points", "values")
    taken = ["parameters", *(name for name in claimed if not yours[name])]
    lines = [
        ("verified", proof_path),
        ("commitment", f"{commitment.hex()} ({'yours' if trusted is not None else 'FROM THE FILE, not checked'})"),
        (
            "trusted",
            ", ".join(asserted) if asserted else "nothing: this run only shows that the file agrees with itself",
        ),
        ("from the file", ", ".join(taken)),
        *statement_lines(statement),
        *security_lines(report),
        *opened_lines(opened),
        ("device", f"{pcs.device.name}: {describe(pcs.device)}"),
        ("time", f"verify {seconds:.3f} s"),
    ]
    return Result(values, lines)


def _check_commitment(wanted: Commitment, found: Commitment) -> None:
    if wanted != found:
        raise VerificationError("CommitmentMismatch", expected=wanted.hex(), got=found.hex())


def _check_points(statement: FiledStatement, files: tuple[str, ...]) -> None:
    if statement.points is None:
        raise VerificationError("PointMismatch", expected="chosen points", got="points drawn from the transcript")
    wanted = padded_points(statement.choices, statement.schedule, read_points(files))
    for k, (mine, found) in enumerate(zip(wanted, statement.points, strict=True)):
        if not np.array_equal(mine, found):
            raise VerificationError("PointMismatch", where=f"opening {k}", expected=mine.tolist(), got=found.tolist())


def _check_security(report: SecurityReport, min_security: float | None, soundness: str | None) -> None:
    if soundness is not None and report.soundness.value != soundness:
        raise VerificationError("SoundnessMismatch", expected=soundness, got=report.soundness)
    if min_security is None:
        return
    if report.conjectured and soundness is None:
        raise VerificationError("ConjecturedSecurity", expected="johnson or unique", got=report.soundness)
    if not report.bits >= min_security:
        got = f"{report.bits:.2f} (union; weakest term {report.min_bits:.2f}, target per term {report.security_level})"
        raise VerificationError("SecurityBelowMinimum", expected=f"at least {min_security:g} bits", got=got)


def _by_opening(statement: FiledStatement, expected: tuple) -> list[np.ndarray]:
    count = statement.schedule.num_claims
    if len(expected) != count:
        raise VerificationError("OpenedValueCountMismatch", expected=f"{len(expected)} opened values", got=count)
    ends = np.cumsum([len(batch) for _, batch in statement.schedule.flat])
    return np.split(np.stack(expected), ends[:-1])
