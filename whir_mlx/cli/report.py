"""Parameters, security and opened values as commands show them."""

from __future__ import annotations

from whir_mlx.choices import Choices
from whir_mlx.parameters_file import FiledStatement, to_dict
from whir_mlx.protocol.security import SecurityReport
from whir_mlx.whir import Opened

__all__ = ["opened_lines", "opened_values", "security_lines", "security_values", "statement_lines", "statement_values"]

_SHOWN = 4


def statement_values(statement: FiledStatement) -> dict:
    """For `--json`: the choices as a proof file has them, and what was derived."""
    config = statement.choices.config
    return {
        **to_dict(statement),
        "num_variables": config.num_variables,
        "folding_schedule": list(config.folding_schedule),
        "rounds": len(config.rounds),
        "queries": [record.num_opened for record in config.rounds] + [config.final_num_opened],
        "grinding_bits": dict(config.pow_by_phase),
    }


def statement_lines(statement: FiledStatement) -> list[tuple[str, str]]:
    """For people."""
    choices, config = statement.choices, statement.choices.config
    tables = [_table_text(choices, table) for table in range(len(choices.tables))]
    shown = ", ".join(tables[:_SHOWN]) + (f" and {len(tables) - _SHOWN} more" if len(tables) > _SHOWN else "")
    rates = [config.log_inv_rate, *config.round_log_inv_rates]
    grinding = max((bits for _, bits in config.pow_by_phase), default=0)
    queries = [record.num_opened for record in config.rounds] + [config.final_num_opened]
    lines = [
        ("statement", f"{shown}; {config.num_variables} variables in {choices.order} order"),
        ("", f"{_plural(statement.schedule.num_claims, 'value')} opened at {_points_text(statement)}"),
        ("parameters", f"folds {list(config.folding_schedule)}, rates 1/2^{rates}, queries {queries}"),
        ("", f"up to {grinding} bits of grinding, trees {choices.tree.name}, cap height {choices.tree.cap_height}"),
    ]
    if statement.encoding:
        lines.insert(1, ("", f"tables encoded as {statement.encoding}: 16-bit limbs of the given data"))
    return lines


def _table_text(choices: Choices, table: int) -> str:
    shape = choices.tables[table]
    name = f"{choices.names[table]!r} " if choices.names else ""
    return f"{name}{_plural(shape.columns, 'column')} of 2^{shape.log_rows}"


def _points_text(statement: FiledStatement) -> str:
    kind = "drawn" if statement.points is None else "chosen"
    return _plural(statement.schedule.num_batches, f"{kind} point")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def security_values(report: SecurityReport) -> dict:
    """For `--json`. `bits` is the union of all error terms, `min_bits` the weakest of them."""
    return {
        "bits": round(report.bits, 3),
        "union_bits": round(report.union_bits, 3),
        "min_bits": round(report.min_bits, 3),
        "weakest": f"{report.weakest.phase}: {report.weakest.error}",
        "target_per_term": report.security_level,
        "soundness": report.soundness.value,
        "conjectured": report.conjectured,
        "terms": [
            {"phase": t.phase, "error": t.error, "bits": round(t.bits, 3), "grinding": t.pow_bits, "count": t.count}
            for t in report.terms
        ],
    }


def security_lines(report: SecurityReport) -> list[tuple[str, str]]:
    """For people: the union first, since it is what the whole protocol is worth."""
    weakest = report.weakest
    lines = [
        ("security", f"{report.bits:.1f} bits (union of all error terms), soundness {report.soundness}"),
        (
            "",
            f"weakest term {report.min_bits:.1f} bits ({weakest.phase}: {weakest.error}), "
            f"target {report.security_level} for each term by itself",
        ),
    ]
    if report.conjectured:
        lines.append(("", "CONJECTURED ONLY: the conjecture behind 'capacity' has been refuted near capacity"))
    return lines


def opened_values(opened: tuple[Opened, ...]) -> list[dict]:
    """For `--json`."""
    return [
        {
            "table": entry.table,
            "name": entry.name,
            "point": entry.point.tolist(),
            "columns": list(entry.columns),
            "values": entry.values.tolist(),
            "next_columns": list(entry.next_columns),
            "next_values": entry.next_values.tolist(),
        }
        for entry in opened
    ]


def opened_lines(opened: tuple[Opened, ...]) -> list[tuple[str, str]]:
    """For people: the first few values."""
    texts = []
    for entry in opened:
        name = repr(entry.name) if entry.name is not None else f"table {entry.table}"
        for columns, values, side in (
            (entry.columns, entry.values, ""),
            (entry.next_columns, entry.next_values, " next"),
        ):
            texts += [f"{name} column {c}{side}: {','.join(map(str, v))}" for c, v in zip(columns, values.tolist())]
    lines = [("" if i else "opened", text) for i, text in enumerate(texts[:_SHOWN])]
    if len(texts) > _SHOWN:
        lines.append(("", f"and {len(texts) - _SHOWN} more (--json lists all)"))
    return lines
