"""Kernels as standalone Metal sources with a table of their arguments, for apps that compile them on their own."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from pathlib import Path

from .ntt import pass_values
from .text import _KERNEL, FOLDER, defines, dialect, expand_includes, load
from .tuning import tuning_for

__all__ = ["SPECIALISATIONS", "TABLE", "export_kernels", "standalone_text"]

TABLE = "kernels.json"
_FORMAT = "whir-mlx kernels 1"
SPECIALISATIONS: dict[str, tuple[dict[str, int], ...]] = {
    "climb": tuple({"WIDTH": width, "ARITY": arity} for width in (16, 24) for arity in (2, 4)),
    "compress": ({"WIDTH": 16}, {"WIDTH": 32}),
    "eq_table": ({"LOG_EACH": 3},),
    "ext_arithmetic": tuple({"OPERATION": i} for i in range(4)),
    "field_arithmetic": tuple({"OPERATION": i} for i in range(4)),
    "fold_axis": tuple({"MODE": mode, "EXT": ext} for mode in range(3) for ext in range(2)),
    "grind": ({"WIDTH": 16},),
    "hash_leaves": ({"WIDTH": 16},),
    "hash_rows": ({"WIDTH": 16}, {"WIDTH": 24}),
    "montgomery": ({"TO_MONTGOMERY": 0}, {"TO_MONTGOMERY": 1}),
    "ntt": tuple(pass_values(tuning_for("metal"), wide) for wide in (True, False)),
    "poseidon2": tuple({"WIDTH": width} for width in (16, 24, 32)),
}
"""Values that the package's own launches on Metal specialise a kernel by; a kernel that is not named has none."""

_ADDRESS_SPACES = ("device", "constant")


def _function(name: str, values: dict[str, int]) -> str:
    return "_".join([name, *(f"{key.lower()}{value}" for key, value in sorted(values.items()))])


def _source(name: str) -> str:
    return (FOLDER / f"{name}.metal").read_text(encoding="utf-8")


def standalone_text(name: str, values: dict[str, int]) -> str:
    """`<name>.metal` with its headers and specialisation put in, as Metal compiles it: one kernel,
    `<name>_<values>`."""
    source = _source(name)
    match = _KERNEL.search(source)
    head = expand_includes(source[: match.start()], set())
    kernel = f"kernel void {_function(name, values)}({match.group(2)}) {{{source[match.end() :]}"
    return (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "#ifndef METAL_FUNC\n#define METAL_FUNC inline __attribute__((__always_inline__))\n#endif\n\n"
        f"{dialect('metal.h')}\n{defines(dict(sorted(values.items())))}{head}{kernel.rstrip()}\n"
    )


def _entry(name: str, values: dict[str, int]) -> dict:
    """One file's row of the table."""
    text, source = load(name), _source(name)
    buffers = []
    for parameter in re.sub(r"//[^\n]*", "", _KERNEL.search(source).group(2)).split(","):
        slot = re.search(r"\[\[buffer\((\d+)\)\]\]", parameter)
        if slot:
            words = parameter.partition("[[")[0].replace("*", " ").split()
            access = "read" if "const" in words else "atomic" if "atomic_uint" in words else "write"
            space = next(word for word in words if word in _ADDRESS_SPACES)
            buffers.append({"index": int(slot.group(1)), "name": words[-1], "access": access, "space": space})
    arrays = re.findall(r"\bTHREADGROUP_ARRAY\((\w+), (\w+)\)", text.body)
    contract = source[: source.index("#include" if "#include" in source else "kernel void")]
    return {
        "file": f"{_function(name, values)}.metal",
        "function": _function(name, values),
        "kernel": name,
        "values": dict(sorted(values.items())),
        "contract": re.sub(r"^// ?", "", contract, flags=re.MULTILINE).strip(),
        "buffers": buffers,
        "thread_positions": [position for _, position in text.attributes],
        "threads_per_threadgroup": {
            "at_most": tuning_for("metal").group_threads,
            "whole_groups": text.has_barrier,
            "whole_simd_groups": text.has_simd,
        },
        "threadgroup_bytes": sum(4 * int(values.get(size, size)) for _, size in arrays),
        "simd_width": 32 if text.has_simd else None,
    }


def _table() -> dict:
    import whir_mlx

    from .cooperative import table_words

    names = sorted(path.stem for path in FOLDER.glob("*.metal"))
    entries = [_entry(name, values) for name in names for values in SPECIALISATIONS.get(name, ({},))]
    return {
        "format": _FORMAT,
        "whir_mlx": whir_mlx.__version__,
        "words": "uint32; field elements are Montgomery words, x * 2^32 mod p, p = 15 * 2^27 + 1, but for plain ones",
        "size": "buffer 0 of every kernel: the integers that its contract lists as `size`, as uint32",
        "dispatch": "threads as the contract's Grid says; outputs need no initial value, but atomic ones start at 0",
        "cooperative_tables": table_words(),
        "kernels": entries,
    }


def export_kernels(folder: str | os.PathLike) -> list[str]:
    """Write every kernel and specialisation, and `kernels.json`, into `folder`, all of them or nothing.

    Returns the file names. Raises FileExistsError where the folder holds anything but an earlier export,
    NotADirectoryError where it is a file, FileNotFoundError where its parent is missing, and OSError as the system
    gives it.
    """
    target = Path(os.path.realpath(folder))
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{folder} is a file, not a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist")
    if target.exists() and any(target.iterdir()) and not _is_export(target):
        raise FileExistsError(f"{folder} is not empty and not an earlier export; nothing was written")
    table = _table()
    texts = {entry["file"]: standalone_text(entry["kernel"], entry["values"]) for entry in table["kernels"]}
    texts[TABLE] = json.dumps(table, indent=1) + "\n"
    token = secrets.token_hex(8)
    fresh, old = target.with_name(f".{target.name}-{token}.new"), target.with_name(f".{target.name}-{token}.old")
    try:
        fresh.mkdir()
        for name, text in texts.items():
            (fresh / name).write_text(text, encoding="utf-8")
        if target.exists():
            target.rename(old)
        try:
            fresh.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
    return sorted(texts)


def _is_export(folder: Path) -> bool:
    """Whether a folder holds an export and nothing else."""
    try:
        table = json.loads((folder / TABLE).read_text(encoding="utf-8"))
        ours = {TABLE, *(entry["file"] for entry in table["kernels"])}
        return table["format"] == _FORMAT and {path.name for path in folder.iterdir()} <= ours
    except (OSError, ValueError, KeyError, TypeError):
        return False
