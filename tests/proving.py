"""Statements proved by this package: from `args`, as the vectors and the crate take them, to a proof and its check."""

from types import SimpleNamespace

import numpy as np

from tests.helpers import DEFAULT_ARGS, config_with, host_device
from tests.oracle.splitmix import stream
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.protocol.folding import ConstantFromSecondRound
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import tree_config
from whir_mlx.protocol.prover import commit_tables, open_proof, read_commitment
from whir_mlx.protocol.seeds import commitment_seed
from whir_mlx.protocol.statement import OpeningBatch, Schedule
from whir_mlx.protocol.transcript import Transcript
from whir_mlx.protocol.verifier import verify_proof

FULL_ARGS = {**DEFAULT_ARGS, "second_fold": None, "schedule": None}
"""Every key of `args` that this package's statements use, with the small values of `DEFAULT_ARGS`."""

_INVERSE = pow(MONTY_ONE, -1, P)


def arguments_of(args: dict) -> dict:
    """layout, schedule, config, tree and points of `args`. Raises ParameterError where the parameters are refused."""
    first = args["folds"][0] if args["folds"] else args["fold"]
    layout = Layout(args["layout"], tuple(map(tuple, args["tables"])), first)
    if args["schedule"] is None:
        schedule = Schedule.all_columns(layout, args["points"], args["next"])
    else:
        batches = [[OpeningBatch(b.get("current", ()), b.get("next", ())) for b in table] for table in args["schedule"]]
        schedule = Schedule(tuple(map(tuple, batches)))
    points = None
    if args["prescribed"]:
        seeds = range(args["seed"] + 9000, args["seed"] + 9000 + schedule.num_batches)
        arities = [layout.padded_log_rows[table] for table, _ in schedule.flat]
        points = [
            np.array(stream(seed, 4 * arity), np.uint32).reshape(-1, 4)
            for seed, arity in zip(seeds, arities, strict=True)
        ]
    return {
        "layout": layout,
        "schedule": schedule,
        "config": config_of(args, layout.num_variables),
        "tree": tree_config(args["tree"], args["cap"]),
        "points": points,
    }


def config_of(args: dict, num_variables: int):
    folding = args["folds"] or args["fold"]
    if args["second_fold"] is not None and not args["folds"]:
        folding = ConstantFromSecondRound(args["fold"], args["second_fold"])
    return config_with(args, num_variables, folding)


def tables_of(args: dict) -> list[np.ndarray]:
    """Per table (columns, 2^log_rows), canonical: the splitmix data of `args`."""
    return [
        np.array([stream(args["seed"] + 1000 * t + c, 1 << log_rows) for c in range(columns)], np.uint32)
        for t, (log_rows, columns) in enumerate(args["tables"])
    ]


def commit(args: dict, arguments: dict, device=None, transcript=None, tables=None):
    """`ProverData` of the tables of `args`, or of `tables`."""
    device = device or host_device()
    tables = tables_of(args) if tables is None else tables
    chosen = (arguments["layout"], arguments["config"], arguments["tree"])
    return commit_tables(device, *chosen, [device.asarray(table) for table in tables], transcript=transcript)


def prove_here(changes: dict, device=None, tables=None) -> SimpleNamespace:
    """A proof of `FULL_ARGS` with `changes`: args, arguments, commitment, proof, and `tail` (see `tail_of`)."""
    args = {**FULL_ARGS, **changes}
    arguments = arguments_of(args)
    transcript = Transcript(device or host_device())
    data = commit(args, arguments, device, transcript, tables)
    proof = open_proof(data, arguments["schedule"], points=arguments["points"], transcript=transcript)
    return SimpleNamespace(
        args=args, arguments=arguments, commitment=read_commitment(data), proof=proof, tail=tail_of(transcript)
    )


def verify_here(arguments: dict, commitment, proof) -> SimpleNamespace:
    """Verifies on a transcript of its own: `evaluations`, and `tail`. Raises VerificationError."""
    transcript = Transcript(host_device())
    if arguments["points"] is not None:  # with chosen points and a shared transcript, absorbing is the caller's part
        transcript.observe_seed(commitment_seed())
        transcript.observe((commitment.cap.astype(np.uint64) * MONTY_ONE % P).astype(np.uint32))
    chosen = {**arguments, "commitment": commitment, "proof": proof, "transcript": transcript}
    return SimpleNamespace(evaluations=verify_proof(host_device(), **chosen), tail=tail_of(transcript))


def tail_of(transcript: Transcript) -> list[int]:
    """The next 8 samples, canonical: equal tails mean that two transcripts agree to the end."""
    return [int(word) * _INVERSE % P for word in transcript.device.numpy(transcript.sample(8))]
