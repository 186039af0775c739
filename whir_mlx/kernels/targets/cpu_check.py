"""The check build of the CPU target: kernel texts run one thread at a time in a program that watches every access.

Caught (see `dialect/cpu_check_*.h`): indices out of bounds, writes to inputs, words read before they are written,
outputs left unwritten, races between threads, barriers and SIMD functions that not all threads reach, shifts by 32 and
more, sums beyond the range of their reduction, too large groups and threadgroup arrays, address spaces mixed up, and
what AddressSanitizer and UBSan see. The order of groups and threads is drawn from a seed.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from ...errors import DeviceError
from ..device import Device, refuse_large
from ..operation import product
from ..text import _INCLUDE, _KERNEL, FOLDER, KernelText, defines, dialect, load, parse, read_header
from ..tuning import check_tuning
from .compiler import build_file, find_compiler
from .gpu import choose_group

__all__ = ["CheckDevice", "CheckError", "check_source", "get_check_device", "sanitizers"]

_BEFORE = ("cpu_check_thread.h", "cpu_check.h", "cpu_check_memory.h", "cpu_check_group.h")
# Unoptimised: with the sanitizers a text compiles in a second instead of three to eight and runs some three times
# slower; the tests run far less than would pay for more.
_FLAGS = ("-O0", "-fno-exceptions", "-w")
_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize=alignment,null,vptr", "-fno-sanitize-recover=all")
_TRIPLE = "uint3{{{0}.x, {0}.y, {0}.z}}"
_POSITIONS = {
    "thread_position_in_grid": _TRIPLE.format("current.grid"),
    "thread_position_in_threadgroup": _TRIPLE.format("current.local"),
    "threadgroup_position_in_grid": _TRIPLE.format("current.group"),
    "threads_per_threadgroup": _TRIPLE.format("shape.group_size"),
    "threads_per_grid": _TRIPLE.format("shape.grid"),
    "thread_index_in_threadgroup": "uint(current.local_number)",
    "thread_index_in_simdgroup": "uint(current.simd_lane)",
    "simdgroup_index_in_threadgroup": "uint(current.local_number / shape.simd_width)",
    "threads_per_simdgroup": "uint(shape.simd_width)",
}


class CheckError(DeviceError):
    """A kernel broke a rule; the message names the kernel, the thread, the line and the rule."""


@cache
def sanitizers() -> tuple[str, ...]:
    """Compiler flags of AddressSanitizer and UBSan, or none where they are not installed or do not start."""
    try:
        program = build_file("int main() { return 0; }\n", (*_FLAGS, *_SANITIZERS), "probe", "")
        return _SANITIZERS if subprocess.run([program], capture_output=True, timeout=60).returncode == 0 else ()
    except (DeviceError, OSError, subprocess.TimeoutExpired):
        return ()


def _marked(name: str, text: str, seen: set[str], first_line: int = 1) -> str:
    """`text` of file `name` with its includes put in, each once, and `#line` wherever the file or the line changes."""
    parts, position = [f'#line {first_line} "{name}"\n'], 0
    for match in _INCLUDE.finditer(text):
        parts.append(text[position : match.start()])
        position = match.end()
        header = match.group(1)
        if header not in seen:
            seen.add(header)
            parts.append(_marked(header, read_header(header), seen))
        parts.append(f'#line {first_line + text.count(chr(10), 0, position)} "{name}"\n')
    return "".join([*parts, text[position:]])


def check_source(text: KernelText, source: str, values: dict[str, int]) -> str:
    """C++ program of the check build. `source`: the `.metal` text that `text` was parsed from, for its line numbers."""
    match = _KERNEL.search(source)
    file = f"{text.name}.metal"
    buffers = [*text.inputs, *text.outputs]
    parameters, arguments, memories = [], [], []
    for index, buffer in enumerate(buffers):
        output = "AtomicBuffer" if text.atomic else "OutputBuffer"
        kind, space = ("InputBuffer", "INPUT") if buffer in text.inputs else (output, "OUTPUT")
        parameters.append(f"{kind} {buffer}")
        arguments.append(f"{kind}(&BUFFERS[{index}])")
        memories.append(f'{{"{buffer}", {space}, 0, nullptr, nullptr}}')
    cooperative = text.has_barrier or text.has_simd or "THREADGROUP_ARRAY" in text.header + text.body
    for kind, name in text.attributes:
        parameters.append(f"{kind} {name}")
        arguments.append(_POSITIONS[name])
    body = source[match.end() : source.rindex("}")]
    body_line = source.count("\n", 0, match.end()) + 1
    marked = [f'#line 1 "dialect/{name}"\n{dialect(name)}' for name in _BEFORE]
    marked += [
        f'extern const char* const KERNEL_NAME = "{text.name}";\n',
        defines(values),
        _marked(file, source[: match.start()], set()),
        f"static void body({', '.join(parameters)}) {{\n" + f'#line {body_line} "{file}"\n{body}}}\n',
        f"static Memory BUFFERS[] = {{{', '.join(memories)}}};\n",
        f"static void run_thread() {{ body({', '.join(arguments)}); }}\n",
        f"#define COUNT_INPUTS {len(text.inputs)}\n#define COUNT_BUFFERS {len(buffers)}\n",
        f"#define KERNEL_COOPERATIVE {int(cooperative)}\n#define KERNEL_ATOMIC {int(text.atomic)}\n",
        f'#line 1 "dialect/cpu_check_entry.h"\n{dialect("cpu_check_entry.h")}',
    ]
    return "".join(marked)


@cache
def _program(name: str, source: str | None, values: tuple[tuple[str, int], ...]) -> tuple[Path, int]:
    """The program of one specialisation and its number of inputs; `source` None stands for `<name>.metal`."""
    text = load(name) if source is None else parse(name, source)
    if source is None:
        source = (FOLDER / f"{name}.metal").read_text(encoding="utf-8")
    try:
        built = build_file(check_source(text, source, dict(values)), (*_FLAGS, *sanitizers()), f"check-{name}", "")
    except DeviceError as error:
        raise CheckError(f"kernel {name} is not in the dialect: {error}") from None
    return built, len(text.inputs)


class CheckDevice(Device):
    """The CPU target in its check build; usable wherever a `Device` is. Made by `get_check_device`.

    `texts` may hold texts to run in place of the package's, by kernel name: the tests seed faults with it.
    """

    def __init__(self, seed: int, simd_width: int, round_up: bool, tuning: str, lock_step: bool = False):
        super().__init__("cpu")
        self.tuning = check_tuning(tuning)
        self.seed = seed
        self.simd_width = self.reduce_width = simd_width
        # SIMD groups that run; the tests let it differ from what the wrappers take the device to have.
        self.real_simd_width = simd_width
        self.round_up = round_up
        self.lock_step = lock_step
        self.texts: dict[str, str] = {}

    def __repr__(self) -> str:
        chosen = (self.seed, self.simd_width, self.round_up, self.tuning.target, self.lock_step)
        return "CheckDevice(seed={}, simd_width={}, round_up={}, tuning={!r}, lock_step={})".format(*chosen)

    def threads_for(self, cost: float) -> int:
        """Threads of a search (`grind`), few and not a power of two: they must agree in whatever order they run."""
        return 24

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, lanes=0, cost=0.0
    ):
        """As `Device.launch`, with groups of the size that a GPU would run. Raises `CheckError`."""
        arrays = [np.ascontiguousarray(x, np.uint32) for x in (np.array(size, np.uint32), *inputs)]
        lengths = [product(shape) for shape in outputs]
        formulas = [(0, 0)] * (len(arrays) + len(outputs))
        done = self.run(name, values, grid, groups, group, arrays, lengths, formulas, ())
        words = np.frombuffer(done, np.uint32)
        starts = np.cumsum([0, *lengths])
        if len(words) != starts[-1]:
            raise CheckError(f"kernel {name}: {len(words)} words came back, not {starts[-1]}")
        return [words[a:b].reshape(shape).copy() for a, b, shape in zip(starts, starts[1:], outputs)]

    def run(self, name, values, grid, groups, group, arrays, lengths, formulas, chosen) -> bytes:
        """What the check program writes (see `cpu_check_entry.h`). arrays: the inputs, or what stands for them;
        lengths: words of the outputs; formulas: (modulus, salt) of every buffer; chosen: groups that run, none for
        all."""
        refuse_large(name, arrays, lengths)
        program, count_inputs = _program(name, self.texts.get(name), tuple(sorted((values or {}).items())))
        if len(arrays) != count_inputs:
            raise CheckError(f"kernel {name} declares {count_inputs} inputs, {len(arrays)} are given")
        if grid is not None:
            group = choose_group(tuple(grid), self.tuning)
        modes = [self.seed, self.real_simd_width, self.reduce_width, self.round_up, self.lock_step, groups is not None]
        moduli, salts = zip(*formulas)
        lengths = [*(x.size for x in arrays), *lengths]
        head = [*modes, *(groups or grid), *group, len(chosen), *lengths, *moduli, *salts]
        sent = [x.tobytes() for x, modulus in zip(arrays, moduli) if modulus == 0]
        message = b"".join([np.array(head, np.int64).tobytes(), np.array(chosen, np.uint32).tobytes(), *sent])
        done = subprocess.run([program], input=message, capture_output=True)
        if done.returncode != 0:
            raise CheckError(_report(name, done.returncode, done.stderr.decode("utf-8", "replace")))
        return done.stdout


def _report(name: str, status: int, stderr: str) -> str:
    """The program's own words; of a sanitizer's pages the first lines."""
    noise = ("=====", "WARNING: ASan doesn't fully support makecontext")
    lines = [line for line in stderr.splitlines() if line.strip() and not any(words in line for words in noise)]
    return "\n".join(lines[:12]) or f"kernel {name}: the check program ended with status {status}"


@cache
def get_check_device(
    seed: int = 0, simd_width: int = 32, round_up: bool = False, tuning: str = "metal", lock_step: bool = False
) -> CheckDevice:
    """A device that runs the check build, made at first use and kept.

    seed: of the orders of groups and threads. simd_width: threads of a SIMD group. round_up: run the threads that fill
    up the last groups of a grid too, as CUDA does and Metal does not. tuning: whose launch shapes (metal, cuda, cpu).
    lock_step: the threads of a SIMD group go together, one access of shared memory at a time; else each runs freely as
    far as the next barrier or SIMD function.
    Raises `DeviceError` where there is no C++ compiler.
    """
    if find_compiler() is None:
        raise DeviceError("the check build needs a C++ compiler (looked for CXX, g++, c++, clang++)")
    return CheckDevice(seed, simd_width, round_up, tuning, lock_step)
