"""Kernel texts: `.metal` files, their headers, and the signature each kernel declares.

A `.metal` file holds one `kernel void name(...) { ... }` after its contract and its `#include`s. The signature is plain
Metal; from it come the names that MLX's generators and the CPU target need, so nothing is declared twice:
`const device uint* x` and `const constant uint* x` are inputs (MLX picks the address space by the array's size),
`device uint* x` is an output (`device atomic_uint* x` one that starts at 0), and a parameter with an attribute other
than `buffer` is a thread position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..field.constants import MONTY_ONE, P, two_adic_generator
from .poseidon2_tables import constant_tables

FOLDER = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "([\w./]+)"[^\n]*\n', re.MULTILINE)
_KERNEL = re.compile(r"kernel void (\w+)\(([^{]*)\)\s*\{")
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True)
class KernelText:
    """One `.metal` file, taken apart.

    `header` is everything before the kernel with its includes put in (each once), `body` the text between the kernel's
    braces, `inputs` and `outputs` the buffer names in order, `attributes` the (type, name) of thread positions;
    whether it uses barriers or SIMD-group functions.
    """

    name: str
    header: str
    body: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    has_barrier: bool
    has_simd: bool
    atomic: bool


def butterfly_roots() -> str:
    """g(4)^i, i < 8, as Montgomery words (the virtual header `butterfly_roots.h`)."""
    root = two_adic_generator(4)
    values = ", ".join(f"{pow(root, i, P) * MONTY_ONE % P:#010x}u" for i in range(8))
    return f"CONSTANT_ARRAY(BUTTERFLY_ROOTS, 8) = {{{values}}};\n"


_VIRTUAL_HEADERS = {"poseidon2_constants.h": constant_tables, "butterfly_roots.h": butterfly_roots}


def read_header(name: str) -> str:
    """Text of one header of this folder, virtual ones included."""
    if name in _VIRTUAL_HEADERS:
        return _VIRTUAL_HEADERS[name]()
    return (FOLDER / name).read_text(encoding="utf-8")


def expand_includes(text: str, seen: set[str]) -> str:
    """`text` with each `#include "..."` replaced by that header the first time and by nothing after."""

    def put_in(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in seen:
            return ""
        seen.add(name)
        return expand_includes(read_header(name), seen)

    return _INCLUDE.sub(put_in, text)


def dialect(name: str) -> str:
    """One header of `dialect/` with its includes put in."""
    return expand_includes(read_header(f"dialect/{name}"), set())


@cache
def load(name: str) -> KernelText:
    """Read and take apart `<name>.metal`. Raises `ValueError` where the file does not hold exactly one kernel of that
    name."""
    return parse(name, (FOLDER / f"{name}.metal").read_text(encoding="utf-8"))


def parse(name: str, source: str) -> KernelText:
    """Take apart the text of `<name>.metal`; the test builds give texts of their own."""
    found = list(_KERNEL.finditer(source))
    if len(found) != 1 or found[0].group(1) != name:
        raise ValueError(f"{name}.metal must hold exactly one kernel, named {name}")
    match = found[0]
    start, end = match.end(), source.rindex("}")
    inputs, outputs, attributes = [], [], []
    for parameter in _COMMENT.sub("", match.group(2)).split(","):
        declaration, _, attribute = parameter.partition("[[")
        words = declaration.replace("*", " * ").split()
        if not attribute.startswith("buffer"):
            attributes.append((words[0], words[-1]))
        elif "const" in words:
            inputs.append(words[-1])
        else:
            outputs.append(words[-1])
    body = source[start:end]
    header = expand_includes(source[: match.start()], set())
    used = header + body
    return KernelText(
        name,
        header,
        body,
        tuple(inputs),
        tuple(outputs),
        tuple(attributes),
        has_barrier="GROUP_BARRIER" in used,
        has_simd="simd_" in used,
        atomic="atomic_uint" in match.group(2),
    )


def defines(values: dict[str, int]) -> str:
    """Specialisation values as macros. Macros reach the headers too, which MLX's template arguments do not."""
    return "".join(f"#define {name} {int(value)}\n" for name, value in values.items())
