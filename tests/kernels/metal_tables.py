"""The tables of docs/metal.md, made from the kernels as they are: `python -m tests.kernels.metal_tables` writes them.

Estimates come from the launches of traced proofs (metal_launches.py) and whir_mlx/kernels/estimates.py; registers and
instructions from clang's back-end for another GPU (metal_limits.py), so those depend on its version, which is noted.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

from tests.kernels.metal_clang import CLANG, on_all_cores
from tests.kernels.metal_launches import base_name, collected, texts
from tests.kernels.metal_limits import machine_code
from whir_mlx.kernels.estimates import CHIPS, kernel_seconds

DOCUMENT = Path(__file__).parents[2] / "docs" / "metal.md"


def proof_milliseconds(label: str, chip: str, *, floor: bool = False) -> float:
    """Paper estimate of one of `PROOFS`: its launches, command buffers of 40 at 20 us each, and one round trip."""
    launches = [launch for launch in collected()[0] if launch.label == label]
    seconds = sum(
        kernel_seconds(CHIPS[chip], x.name, x.size, dict(x.values), x.threads, x.words, floor=floor, expected=True)
        for x in launches
    )
    return 1000 * (seconds + len(launches) / 40 * 20e-6 + 120e-6)


def proofs_table() -> str:
    """Estimated milliseconds by proof and chip, aim and (in brackets) floor."""
    lines = ["| proof | launches | " + " | ".join(CHIPS) + " |", "|---|---|" + "---|" * len(CHIPS)]
    for label in ("2^20", "S 2^22", "S 2^24"):
        count = sum(launch.label == label for launch in collected()[0])
        cells = [f"{proof_milliseconds(label, c):.0f} ({proof_milliseconds(label, c, floor=True):.0f})" for c in CHIPS]
        lines.append(f"| {label} | {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def kernels_table(label: str = "S 2^22") -> str:
    """Launches and estimated milliseconds by kernel of one proof."""
    spent: dict[str, list] = defaultdict(lambda: [0, *[0.0] * len(CHIPS)])
    for x in collected()[0]:
        if x.label == label:
            spent[x.name][0] += 1
            for i, chip in enumerate(CHIPS.values()):
                spent[x.name][i + 1] += 1000 * kernel_seconds(
                    chip, x.name, x.size, dict(x.values), x.threads, x.words, expected=True
                )
    lines = ["| kernel | launches | " + " | ".join(CHIPS) + " |", "|---|---|" + "---|" * len(CHIPS)]
    for name, (count, *times) in sorted(spent.items(), key=lambda item: (-item[1][1], item[0])):
        lines.append(f"| {name} | {count} | " + " | ".join(f"{t:.2f}" for t in times) + " |")
    return "\n".join(lines) + "\n"


def specialised_texts() -> dict[tuple[str, str], str]:
    """One text of each kernel and specialisation: (file, values) -> text."""
    chosen: dict[tuple[str, str], str] = {}
    for name, text in sorted(texts().items()):
        names = "WIDTH|ARITY|OPERATION|MODE|EXT|WIDE|TO_MONTGOMERY|TILE_WORDS|DIRECT"
        values = re.findall(rf"^#define ({names}) (\d+)$", text, re.M)
        chosen.setdefault((base_name(name), ", ".join(f"{key} {value}" for key, value in values)), text)
    return chosen


def code_table() -> str:
    """Registers, instructions and the longest innermost loop of each kernel, by `clang_version`."""
    chosen = specialised_texts()
    lines = [f"By {clang_version()}:", "", "| kernel | specialised | registers | instructions | longest loop |"]
    lines.append("|---|---|---|---|---|")
    codes = zip(chosen, on_all_cores(machine_code, chosen.values()))
    for (name, values), code in sorted(codes, key=lambda item: -item[1].instructions):
        lines.append(f"| {name} | {values} | {code.registers} | {code.instructions:,} | {code.loop:,} |")
    return "\n".join(lines) + "\n"


def clang_version() -> str:
    """clang and its major version."""
    said = subprocess.run([CLANG, "--version"], capture_output=True, text=True).stdout
    return "clang " + re.search(r"version (\d+)", said).group(1)


TABLES = {"proofs": proofs_table, "kernels": kernels_table, "code": code_table}


def table_in(document: str, name: str) -> str:
    """What stands between a table's two markers."""
    return re.search(_marks(name), document, re.DOTALL).group(2)


def _marks(name: str) -> str:
    return rf"(<!-- {name}: written by tests\.kernels\.metal_tables -->\n)(.*?)(<!-- end -->)"


def write() -> None:
    """Puts all tables into the document anew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        if name != "code" or CLANG is not None:
            made = table()
            text = re.sub(_marks(name), lambda match, made=made: match[1] + made + match[3], text, flags=re.DOTALL)
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
