"""A statement as the plain dict that a proof file carries, and back: strict, so that a statement has one form.

Everything here comes from whoever made the file. A verifier that has its own statement compares; one that has not must
say what it took from the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whir_mlx.choices import Choices, make_choices
from whir_mlx.errors import ProofFormatError
from whir_mlx.inputs import canonical_array
from whir_mlx.protocol.folding import Constant, ConstantFromSecondRound, FoldingRule, PerRound
from whir_mlx.protocol.merkle_config import TreeConfig
from whir_mlx.protocol.statement import OpeningBatch, Schedule, check_points

__all__ = ["FiledStatement", "from_dict", "to_dict"]

_RULES = {
    "constant": (Constant, ("factor",)),
    "constant from second round": (ConstantFromSecondRound, ("first", "rest")),
    "per round": (PerRound, ("factors",)),
}


@dataclass(frozen=True)
class FiledStatement:
    """What a proof is about: choices, schedule, and the chosen points (None: drawn from the transcript).

    encoding: None, or "bits" where the tables hold `encode_bits` of other data; a note, bound by nothing.
    """

    choices: Choices
    schedule: Schedule
    points: tuple[np.ndarray, ...] | None = None
    encoding: str | None = None


def to_dict(statement: FiledStatement) -> dict:
    """The statement as dicts, lists, strings and integers, as `encode_proof_file` takes them."""
    choices = statement.choices
    rates, points = choices.round_log_inv_rates, statement.points
    return {
        "tables": [[shape.log_rows, shape.columns] for shape in choices.tables],
        "names": None if choices.names is None else list(choices.names),
        "encoding": statement.encoding,
        "folding": _rule_to_dict(choices.folding),
        "log_inv_rate": choices.log_inv_rate,
        "round_log_inv_rates": None if rates is None else list(rates),
        "security_level": choices.security_level,
        "pow_bits": choices.pow_bits,
        "soundness": choices.soundness.value,
        "layout": choices.order,
        "tree": {
            "arity": choices.tree.arity,
            "leaf_rate": choices.tree.leaf_rate,
            "cap_height": choices.tree.cap_height,
        },
        "schedule": [
            [[list(batch.current), list(batch.next)] for batch in batches] for batches in statement.schedule.batches
        ],
        "points": None if points is None else [point.tolist() for point in points],
    }


def from_dict(parameters: dict) -> FiledStatement:
    """The statement of a proof file's parameters.

    Raises ProofFormatError for a missing or unknown key, a value of the wrong kind, or a parameter set that is refused.
    """
    try:
        statement = _read(parameters)
        same = to_dict(statement) == parameters
    except (TypeError, ValueError, IndexError, KeyError) as error:  # ParameterError is a ValueError
        raise ProofFormatError(f"the proof file's parameters are refused: {error}") from error
    if not same:
        # Tuples of the same numbers in another form: none is known, and none is to be let in.
        raise ProofFormatError("the proof file's parameters are not in the one accepted form")
    return statement


def _read(parameters: dict) -> FiledStatement:
    keys = (
        "tables", "names", "encoding", "folding", "log_inv_rate", "round_log_inv_rates", "security_level", "pow_bits",
        "soundness", "layout", "tree", "schedule", "points",
    )  # fmt: skip
    value = _fields("parameters", parameters, *keys)
    tables = [tuple(pair) for pair in value["tables"]]
    if value["names"] is not None:
        tables = dict(zip(_distinct(value["names"]), tables, strict=True))
    if value["encoding"] not in (None, "bits"):
        raise ValueError(f"encoding must be null or 'bits', got {value['encoding']!r}")
    choices = make_choices(
        tables=tables,
        folding_factor=_rule_from_dict(value["folding"]),
        log_inv_rate=value["log_inv_rate"],
        round_log_inv_rates=value["round_log_inv_rates"],
        security_level=value["security_level"],
        pow_bits=value["pow_bits"],
        soundness=value["soundness"],
        layout=value["layout"],
        tree=TreeConfig(**_fields("tree", value["tree"], "arity", "leaf_rate", "cap_height")),
    )
    batches = tuple(
        tuple(OpeningBatch(tuple(current), tuple(following)) for current, following in table)
        for table in value["schedule"]
    )
    schedule = Schedule(batches).check(choices.layout)
    points = value["points"]
    if points is not None:
        points = check_points(choices.layout, schedule, [canonical_array("point", x) for x in points])
    return FiledStatement(choices, schedule, points, value["encoding"])


def _rule_to_dict(rule: FoldingRule) -> dict:
    for name, (kind, keys) in _RULES.items():
        if type(rule) is kind:
            values = {key: getattr(rule, key) for key in keys}
            return {"rule": name, **{k: list(v) if isinstance(v, Sequence) else v for k, v in values.items()}}
    raise TypeError(f"unknown folding rule {type(rule).__name__}")


def _rule_from_dict(value: dict) -> FoldingRule:
    if type(value) is not dict or value.get("rule") not in _RULES:
        raise ValueError(f"folding must name one of the rules {', '.join(_RULES)}, got {value!r}"[:200])
    kind, keys = _RULES[value["rule"]]
    chosen = _fields("folding", value, "rule", *keys)
    return kind(*(chosen[key] for key in keys))


def _fields(where: str, value: object, *keys: str) -> dict:
    if type(value) is not dict:
        raise TypeError(f"{where} must be an object, got {type(value).__name__}")
    if set(value) != set(keys):
        missing, unknown = sorted(set(keys) - set(value)), sorted(set(value) - set(keys))
        raise ValueError(f"{where}: missing {missing}, unknown {unknown}"[:200])
    return value


def _distinct(names: list) -> list:
    if len(set(names)) != len(names):
        raise ValueError("names of tables must be distinct")
    return names
