"""Tables as markdown, which reads well on a terminal too."""

from __future__ import annotations

__all__ = ["megabytes", "milliseconds", "percent", "rate", "ratio", "refusals", "render"]


def render(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table; the first column is left-aligned, the others right-aligned."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: list[str]) -> str:
        return "| " + " | ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return [line(header), rule, *map(line, rows)]


def refusals(rows: list[dict]) -> list[str]:
    """Lines to put below a table: why some of its rows (shape, n) have no numbers."""
    lines = [f"{row['shape']} 2^{row['n']} refused: {row['refused']}" for row in rows if "refused" in row]
    return ["", *lines] if lines else []


def milliseconds(value: float | None) -> str:
    """Three significant digits or so."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """ours / theirs."""
    return "" if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """A share."""
    return "" if value is None else f"{100 * value:.0f}%"


def megabytes(value: int | None) -> str:
    """Of 10^6 bytes."""
    return "" if value is None else f"{value / 1e6:.0f}"


def rate(value: float | None, unit: str = "") -> str:
    """A number a second, as 3.52e9."""
    if value is None:
        return ""
    exponent = 12 if value >= 1e12 else 9 if value >= 1e9 else 6
    return f"{value / 10**exponent:.3g}e{exponent}{' ' + unit if unit else ''}"
