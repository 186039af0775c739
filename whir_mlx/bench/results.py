"""A measurement's result: values for JSON, lines for people, and the files under `docs/results/`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from whir_mlx.atomic import write_atomic
from whir_mlx.bench.machine import machine_lines

__all__ = ["Measured", "check_output", "write"]


@dataclass
class Measured:
    """kind: which measurement; facts: of the machine; values: its numbers; sections: (title, lines) for people."""

    kind: str
    facts: dict
    values: dict
    sections: list[tuple[str, list[str]]]

    def as_values(self) -> dict:
        """Everything but the rendered text."""
        return {"command": "bench", "kind": self.kind, "machine": self.facts, **self.values}

    def as_markdown(self) -> str:
        """The whole result as a markdown page."""
        lines = [f"# {self.kind}", "", *(f"{line}  " for line in machine_lines(self.facts))]
        for title, body in self.sections:
            lines += ["", f"## {title}", "", *body]
        return "\n".join(lines) + "\n"

    def as_lines(self) -> list[str]:
        """For a terminal."""
        lines = list(machine_lines(self.facts))
        for title, body in self.sections:
            lines += ["", title, *body]
        return lines


def check_output(path: str) -> None:
    """Refuses an output whose kind of file is unknown, before the work is done. Raises ValueError."""
    if os.path.splitext(path)[1] not in ("", ".json", ".md"):
        raise ValueError(f"the output must end in .json or .md (or neither, for both), got {path!r}")


def write(path: str, measured: Measured) -> list[str]:
    """Writes FILE.json, FILE.md, or both where FILE has no ending; returns what was written."""
    check_output(path)
    stem, ending = os.path.splitext(path)
    texts = {
        ".json": json.dumps(measured.as_values(), indent=1) + "\n",
        ".md": measured.as_markdown(),
    }
    written = []
    for kind in (ending,) if ending else (".json", ".md"):
        write_atomic(stem + kind, texts[kind].encode())
        written.append(stem + kind)
    return written
