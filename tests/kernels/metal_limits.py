"""Apple's limits, checked on generated texts and on launches, and an estimate of registers and instructions.

The estimate: clang compiles the same text, with Metal's address spaces, for a GPU that it can compile for (AMD's
gfx1030: SIMD groups of 32, 32-bit registers a thread, integer instructions much like Apple's: wide multiply-add, high
product, minimum, three-operand add). Its registers and instructions stand for Apple's, whose compiler is not to be had
here.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from tests.kernels.metal_clang import CLANG, HERE, OPENCL
from tests.kernels.metal_launches import Launch
from whir_mlx.kernels.dispatch_limits import MAX_DISPATCH_SECONDS
from whir_mlx.kernels.estimates import CHIPS, kernel_seconds

THREADGROUP_BYTES = 32 * 1024
GROUP_THREADS = 256
BUFFERS = 31
# 12 KB of instruction cache at some 8 bytes an instruction.
CACHED_INSTRUCTIONS = 1500
# 256 of Apple's 16-bit registers; at the limit a group may still have 384 threads.
REGISTERS = 128


@dataclass(frozen=True)
class Code:
    """registers: 32-bit ones a thread; spilled: bytes of them in memory; instructions: of all; loop: of the longest
    innermost loop."""

    registers: int
    spilled: int
    instructions: int
    loop: int


@lru_cache(maxsize=256)
def machine_code(text: str) -> Code:
    """What clang's AMDGPU back-end makes of a generated text."""
    start = text.index("[[kernel]] void")
    end = text.index(") {", start)
    signature, positions = [], []
    for parameter in text[start:end].split(",\n"):
        position = re.search(r"(\w+) (\w+) \[\[\2\]\]", parameter)
        if position:
            positions.append(f"{position.group(1)} {position.group(2)} = codegen_{position.group(2)}();\n")
        else:
            signature.append(parameter)
    kernel = ",\n".join(signature).replace(
        "[[kernel]] void", "METAL_KERNEL __attribute__((amdgpu_flat_work_group_size(1, 256)))"
    )
    text = text[:start] + kernel + ") {\n" + "".join(positions) + text[end + 3 :]
    headers = ("-include", str(HERE / "metal_language.h"), "-include", str(HERE / "metal_codegen.h"))
    command = [CLANG, *OPENCL, "-w", "-O2", "-S", *headers, "-o", "-", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise ValueError(done.stderr[:2000])
    number = lambda key: int(re.search(rf"{key}:? +(\d+)", done.stdout).group(1))  # noqa: E731
    instructions, loop = _count(done.stdout)
    return Code(number("NumVgprs"), number("ScratchSize"), instructions, loop)


def _count(assembly: str) -> tuple[int, int]:
    """(instructions of the kernel, of its longest innermost loop): a loop is a branch back to a label."""
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    count = 0
    for line in assembly.splitlines():
        label = re.match(r"(\.?\w+):", line)
        if label:
            labels[label.group(1)] = count
        elif re.match(r"\t[vs]_|\tds_|\tglobal_|\tbuffer_|\tflat_|\tscratch_", line):
            count += 1
            branch = re.match(r"\ts_c?branch\w* (\.?\w+)", line)
            if branch and branch.group(1) in labels:
                loops.append((labels[branch.group(1)], count))
        elif line.startswith("\t.section") and count:
            break
    inner = [(a, b) for a, b in loops if not any((a, b) != (c, d) and a <= c and d <= b for c, d in loops)]
    return count, max((b - a for a, b in inner), default=0)


def text_faults(text: str) -> list[str]:
    """Limits that a generated text passes: threadgroup memory, buffers."""
    found = []
    values = dict(re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE))
    arrays = re.findall(r"\bTHREADGROUP_ARRAY\((?!name)\w+, ([^)]+)\);", text)
    total = 0
    for size in arrays:
        for name, value in values.items():
            size = re.sub(rf"\b{name}\b", value, size)
        if not re.fullmatch(r"[\d\s+*()-]+", size):
            found.append(f"a threadgroup array's size is no number: {size}")
            continue
        # Every array starts at a multiple of 16 bytes.
        total += -(-4 * eval(size) // 16) * 16
    if total > THREADGROUP_BYTES:
        found.append(f"threadgroup arrays of {total} bytes, {THREADGROUP_BYTES} is the limit")
    buffers = len(re.findall(r"\[\[buffer\(\d+\)\]\]", text))
    if buffers > BUFFERS:
        found.append(f"{buffers} buffers, {BUFFERS} is the limit")
    return found


def launch_faults(launch: Launch) -> list[str]:
    """Limits that a launch passes: threads of a group, indices of 32 bits, time on the smallest chip."""
    found = []
    if not 1 <= launch.group <= GROUP_THREADS:
        found.append(f"{launch.name}: groups of {launch.group} threads, {GROUP_THREADS} is the limit")
    if launch.threads >= 1 << 31:
        found.append(f"{launch.name}: a grid of {launch.threads} threads, 2^31 and more are refused")
    seconds = kernel_seconds(
        CHIPS["M1"], launch.name, launch.size, dict(launch.values), launch.threads, launch.words, floor=True
    )
    if seconds > MAX_DISPATCH_SECONDS:
        found.append(f"{launch.name}: a dispatch of {1000 * seconds:.0f} ms on an M1 ({launch.label})")
    return found
