"""clang as a stand-in for Metal's compiler, which is clang too: parses, syntax trees and machine code of kernel texts.

Metal's own front end is not to be had off a Mac. Three of clang's modes share its work: C++14 and C++17, whose rules
Metal 3 and Metal 4 take over, and C++ for OpenCL, whose address spaces and kernel rules are Metal's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import mlx.core as mx

HERE = Path(__file__).parent
INCLUDE = Path(mx.__file__).parent / "include"
TARGET = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1030", "-nogpulib")
OPENCL = ("-x", "cl", "-cl-std=CLC++", "-cl-no-stdinc", *TARGET, "-Xclang", "-cl-ext=+cl_khr_fp16")


def _find_clang() -> str | None:
    """A clang that can do all of this; Apple's own knows no other GPUs."""
    found = shutil.which("clang++") or shutil.which("clang")
    if found is None:
        return None
    done = subprocess.run(
        [found, *OPENCL, "-S", "-o", "-", "-"], input="kernel void f() {}\n", capture_output=True, text=True
    )
    return found if done.returncode == 0 else None


CLANG = _find_clang()
STANDARDS = {"c++14": ("-x", "c++", "-std=c++14"), "c++17": ("-x", "c++", "-std=c++17"), "spaces": OPENCL}
"""Modes of a parse: Metal 3's and Metal 4's standards, and `spaces`, all address spaces and MLX's preamble."""
WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wconditional-uninitialized",
    "-Wno-unknown-attributes",
    "-Wno-unused-parameter",
)
WARNINGS += ("-Wno-unused-variable", "-Wno-duplicate-decl-specifier", "-Wno-unknown-pragmas", "-Wno-pass-failed")
_MARK = "struct metal_language_ends_here;\n"


def _headers(path: str, seen: set[str]) -> str:
    """A header of MLX's with those of its own that it includes; Metal's own (<...>) are what the stand-in declares."""
    if path in seen:
        return ""
    seen.add(path)
    parts = []
    for line in (INCLUDE / path).read_text(encoding="utf-8").splitlines():
        included = re.match(r'#include "([^"]+)"', line)
        if included:
            parts.append(_headers(included.group(1), seen))
        elif not line.startswith(("#include <", "#pragma once")):
            parts.append(line)
    return "\n".join(parts) + "\n"


@lru_cache(maxsize=1)
def mlx_preamble() -> str:
    """`metal::utils()`, the text that MLX puts before every custom kernel, rebuilt from the headers of its wheel."""
    return _headers("mlx/backend/metal/kernels/utils.h", set())


@lru_cache(maxsize=1)
def _preamble_text() -> str:
    text = mlx_preamble()
    names = sorted(set(re.findall(r"__metal_\w+", text)))
    declared = "".join(f"template <typename T, typename... A>\nT {name}(T, A...);\n" for name in names)
    # clang refuses to make values of a class whose constructors name a space; Metal's default is `thread` all the same.
    text = re.sub(r"\)(\s+)thread(\s*[:{])", r")\1\2", text)
    # Line markers with flag 3 make it a system header: its own warnings are not ours.
    stub = (HERE / "metal_preamble.h").read_text(encoding="utf-8")
    return f'# 1 "mlx_preamble.h" 1 3\n{stub}{declared}{text}\n# 1 "kernel.metal" 2\n'


def _whole(text: str, mode: str) -> str:
    text = re.sub(r"\[\[kernel\]\] void", "METAL_KERNEL", text)
    if mode == "spaces":
        return _preamble_text() + text
    # Plain clang takes a local of another address space only as a static.
    text = text.replace(
        "#define THREADGROUP_ARRAY(name, size) threadgroup", "#define THREADGROUP_ARRAY(name, size) static threadgroup"
    )
    return '# 1 "kernel.metal"\n' + text


def _clang(arguments: tuple[str, ...], text: str) -> subprocess.CompletedProcess:
    command = [CLANG, *arguments, "-include", str(HERE / "metal_language.h"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)


def complaints(text: str, mode: str) -> str:
    """clang's words about a generated text, none where it is well-formed; warnings count."""
    done = _clang((*STANDARDS[mode], "-fsyntax-only", *WARNINGS), _whole(text, mode))
    return done.stderr or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def syntax_tree(text: str) -> tuple[list[dict], list[dict]]:
    """Top-level declarations of the language header, and those of the text, as clang's JSON (mode `spaces`, no
    preamble)."""
    text = _MARK + re.sub(r"\[\[kernel\]\] void", "METAL_KERNEL", text)
    done = _clang((*OPENCL, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json"), text)
    if done.returncode:
        raise ValueError(done.stderr[:2000])
    nodes = json.loads(done.stdout)["inner"]
    mark = next(i for i, node in enumerate(nodes) if node.get("name") == "metal_language_ends_here")
    return nodes[:mark], nodes[mark + 1 :]


@lru_cache(maxsize=1)
def preamble_names() -> frozenset[str]:
    """Names that MLX's preamble declares at namespace level, its macros included."""
    text = _preamble_text() + _MARK
    done = _clang((*OPENCL, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json"), text)
    names, spaces = set(), json.loads(done.stdout)["inner"]
    for node in spaces:
        inner = node.get("inner", ()) if node["kind"] == "NamespaceDecl" else ()
        names |= {child["name"] for child in (node, *inner) if child.get("name")}
    return frozenset(names | set(re.findall(r"^#define (\w+)", mlx_preamble(), re.MULTILINE)))


def on_all_cores(function, items) -> list:
    """`function` of every item; the work is clang's, so threads will do."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
