"""Entry of the oracle: a statement, `prove` and `verify`; and the statements that the vectors' `args` describe."""

from dataclasses import dataclass

from . import prover, serde, verifier
from .challenger import Challenger
from .layout import Batch, Layout
from .parameters import Params, derive, folding_schedule
from .splitmix import splitmix, stream


@dataclass(frozen=True)
class Statement:
    """What prover and verifier agree on beforehand."""

    params: Params
    layout: Layout
    batches: tuple
    config: dict
    arity: int = 2
    leaf_rate: int = 8
    cap_height: int = 0


def make_statement(params, tables, batches, prefix=False, tree="w16", cap_height=0) -> Statement:
    """`tables` is a list of (log rows, columns); `tree` is "w16", "w24" or "ary4"."""
    first_factor = params.folding[1][0] if params.folding[0] == "per_round" else params.folding[1]
    layout = Layout(tables, first_factor, prefix)
    config = derive(params, layout.num_variables)
    arity, leaf_rate = {"w16": (2, 8), "w24": (2, 16), "ary4": (4, 8)}[tree]
    return Statement(params, layout, tuple(batches), config, arity, leaf_rate, cap_height)


def prove(statement: Statement, data: list, challenger=None) -> tuple:
    """data[table][column] = ints. (commitment, proof) as the crate's JSON objects."""
    challenger = challenger or Challenger()
    f, tree = prover.commit(statement, data, challenger)
    proof = prover.open_all(statement, data, f, tree, challenger)
    return serde.write(serde.COMMITMENT, {"_marker": None, "cap": tree.cap}), serde.write(serde.PROOF, proof)


def verify(statement: Statement, commitment: dict, proof: dict, challenger=None) -> list:
    """The opened values (canonical 4-tuples); raises serde.Malformed or verifier.Rejected."""
    cap = serde.read(serde.COMMITMENT, commitment)["cap"]
    return verifier.verify_all(statement, cap, serde.read(serde.PROOF, proof), challenger or Challenger())


# What a vector's `args` may leave out; `schedule` (per table a list of {"current": [...], "next": [...]}) replaces
# `points` and `next`, `folds` replaces `fold` and `second_fold`, `rates` replaces `reduction`.
DEFAULTS = {
    "seed": 0,
    "points": 1,
    "next": False,
    "schedule": None,
    "prescribed": False,
    "fold": 4,
    "second_fold": None,
    "folds": [],
    "rate": 1,
    "rates": [],
    "reduction": None,
    "security": 100,
    "pow": 20,
    "soundness": "JohnsonBound",
    "layout": "suffix",
    "tree": "w16",
    "cap": 0,
}


def vector_params(args: dict, n: int) -> Params:
    """n is the stacked size."""
    args = DEFAULTS | args
    if args["folds"]:
        folding = ("per_round", tuple(args["folds"]))
    elif args["second_fold"] is not None:
        folding = ("second", args["fold"], args["second_fold"])
    else:
        folding = ("constant", args["fold"])
    rates = tuple(args["rates"]) or None
    if args["reduction"] is not None and rates is None:
        rates, rate = [], args["rate"]
        for i, k in enumerate(folding_schedule(folding, n)[:-1]):
            rate += k - (args["reduction"] if i == 0 else 1)
            rates.append(rate)
        rates = tuple(rates)
    return Params(folding, args["rate"], args["soundness"], args["security"], args["pow"], rates)


def vector_batches(args: dict, layout: Layout) -> list:
    """The opening schedule, with prescribed points where asked for."""
    batches = []
    for t, (arity, columns) in enumerate(layout.tables):
        every = tuple(range(columns))
        batch = {"current": every, "next": every if args["next"] else ()}
        for sides in args["schedule"][t] if args["schedule"] else [batch] * args["points"]:
            point, seed = None, args["seed"] + 9000 + len(batches)
            if args["prescribed"]:
                point = tuple(tuple(splitmix(seed, 4 * v + j) for j in range(4)) for v in range(arity))
            batches.append(Batch(t, tuple(sides.get("current", ())), tuple(sides.get("next", ())), point))
    return batches


def vector_statement(args: dict) -> tuple:
    """(statement, data) of a vector's `args`."""
    args = DEFAULTS | args
    tables = [tuple(table) for table in args["tables"]]
    layout = Layout(tables, (args["folds"] or [args["fold"]])[0], args["layout"] == "prefix")
    params, batches = vector_params(args, layout.num_variables), vector_batches(args, layout)
    data = [
        [stream(args["seed"] + 1000 * t + c, 2**log_rows) for c in range(columns)]
        for t, (log_rows, columns) in enumerate(tables)
    ]
    return make_statement(params, tables, batches, layout.prefix, args["tree"], args["cap"]), data
