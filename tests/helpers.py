"""What several tests share: vectors and small proofs of the oracle, as the arguments of the verifier."""

import gzip
import json
import warnings
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from tests.oracle import protocol
from tests.oracle.layout import Batch
from tests.oracle.splitmix import stream
from whir_mlx.errors import DeviceError
from whir_mlx.kernels.device import get_device
from whir_mlx.protocol.folding import folding_rule
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.merkle_config import tree_config
from whir_mlx.protocol.parameters import ConjecturedSoundnessWarning, derive_config
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json
from whir_mlx.protocol.statement import OpeningBatch, Schedule

VECTORS = Path(__file__).parent / "vectors"
PROOF_NAMES = tuple(sorted(path.name.split(".")[0] for path in (VECTORS / "proofs").glob("*.json.gz")))
TRANSCRIPT_NAMES = tuple(sorted(path.stem for path in (VECTORS / "transcripts").glob("*.json")))

DEFAULT_ARGS = {
    "cap": 0,
    "fold": 2,
    "folds": [],
    "layout": "suffix",
    "next": False,
    "points": 1,
    "pow": 4,
    "prescribed": False,
    "rate": 1,
    "rates": [],
    "reduction": None,
    "security": 16,
    "seed": 0,
    "soundness": "JohnsonBound",
    "tables": [[7, 1]],
    "tree": "w16",
}
"""The keys of a proof vector's `args` (vectors/README_proofs.md), with small values."""


@cache
def host_device():
    """The CPU target, or NumPy where there is no compiler: the same numbers, some hundred times slower."""
    try:
        return get_device("cpu")
    except DeviceError:
        return get_device("numpy")


def verifier_arguments(args: dict, batches=None) -> dict:
    """layout, schedule, config, tree (and points) that `args` describe; `batches`: (table, current, next) in order."""
    folding = args["folds"] or args["fold"]
    layout = Layout(
        args["layout"], tuple(map(tuple, args["tables"])), args["folds"][0] if args["folds"] else args["fold"]
    )
    if batches is None:
        schedule = Schedule.all_columns(layout, args["points"], args["next"])
    else:
        tables = [[OpeningBatch(c, n) for t, c, n in batches if t == table] for table in range(len(layout.tables))]
        schedule = Schedule(tuple(map(tuple, tables)))
    arguments = {
        "layout": layout,
        "schedule": schedule,
        "config": config_with(args, layout.num_variables, folding),
        "tree": tree_config(args["tree"], args["cap"]),
    }
    if args["prescribed"]:
        arities = [layout.padded_log_rows[table] for table, _ in schedule.flat]
        points = [stream(args["seed"] + 9000 + k, 4 * arity) for k, arity in enumerate(arities)]
        arguments["points"] = [np.array(point, dtype=np.uint32).reshape(-1, 4) for point in points]
    return arguments


def config_with(args: dict, num_variables: int, folding):
    """The configuration of `args` under a folding rule: its own round rates, or those of its first `reduction`."""
    rates = args["rates"] or None
    if rates is None and args["reduction"] is not None:
        rates, rate = [], args["rate"]
        for i, factor in enumerate(folding_rule(folding).schedule(num_variables)[:-1]):
            rate += factor - (args["reduction"] if i == 0 else 1)
            rates.append(rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConjecturedSoundnessWarning)
        return derive_config(
            num_variables,
            folding_factor=folding,
            log_inv_rate=args["rate"],
            round_log_inv_rates=rates,
            security_level=args["security"],
            pow_bits=args["pow"],
            soundness=args["soundness"],
        )


@cache
def load_proof(name: str) -> SimpleNamespace:
    """A proof vector: args, arguments (keywords of `verify_proof`), commitment, proof."""
    vector = json.loads(gzip.decompress((VECTORS / "proofs" / f"{name}.json.gz").read_bytes()))
    return _case(vector["args"], verifier_arguments(vector["args"]), vector["commitment"], vector["proof"])


def load_transcript(name: str) -> SimpleNamespace:
    """A transcript vector: `args`, and the recorded operations `commit` and `open`."""
    return SimpleNamespace(**json.loads((VECTORS / "transcripts" / f"{name}.json").read_text()))


def prove(changes: dict, batches=None, challenger=None) -> SimpleNamespace:
    """A proof made by the oracle (plain Python integers, so keep 2^n small) for `DEFAULT_ARGS` with `changes`."""
    args = {**DEFAULT_ARGS, **changes}
    statement, data = protocol.vector_statement(args)
    if batches is not None:
        chosen = tuple(Batch(table, tuple(current), tuple(following)) for table, current, following in batches)
        statement = protocol.make_statement(
            statement.params, args["tables"], chosen, args["layout"] == "prefix", args["tree"], args["cap"]
        )
    commitment, proof = protocol.prove(statement, data, challenger)
    return _case(args, verifier_arguments(args, batches), commitment, proof)


def _case(args: dict, arguments: dict, commitment: dict, proof: dict) -> SimpleNamespace:
    document = {"format": FORMAT, "commitment": commitment, "proof": proof}
    commitment, proof = from_plonky3_json(json.dumps(document))
    return SimpleNamespace(args=args, arguments=arguments, commitment=commitment, proof=proof)
