"""Every operation and whole proofs traced for the Metal target, on any machine: what MLX generates keeps Metal's limits
and parses, and commit and open are one graph.

The parse is clang's, against `metal_stub.h`: it finds undefined names, wrong types and pointers that change address
space.
"""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, load_proof
from tests.kernels.metal_trace import HostRead, TracedKernel, TracingDevice, record, trace, trace_proof
from tests.kernels.operation_cases import small_cases
from tests.proving import FULL_ARGS, arguments_of, tables_of
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.grind import grind
from whir_mlx.kernels.text import FOLDER

CLANG = shutil.which("clang++") or shutil.which("clang")
STUB = Path(__file__).with_name("metal_stub.h")
PREAMBLE = Path(mx.__file__).parent / "include" / "mlx" / "backend" / "metal" / "kernels"
PREAMBLE_HEADERS = ("utils.h", "bf16.h", "bf16_math.h", "complex.h", "defines.h", "logging.h")
LARGE = 20
# Address spaces of the inputs: as traced, all below MLX's limit of `constant`, all above.
FORMS = (r"\1", "constant", "device")
METAL_WORDS = {
    "half", "bfloat", "kernel", "vertex", "fragment", "device", "constant", "thread", "threadgroup", "sampler",
    "texture1d", "texture2d", "atomic", "vec", "matrix", "array", "quad", "ushort", "uchar", "as_type",
}  # fmt: skip


@lru_cache(maxsize=1)
def traced() -> tuple[tuple[str, TracedKernel], ...]:
    """(label, launch) of all small cases, of the vectors' proofs, and of one of full size."""
    found = [(case.label, kernel) for case in small_cases() for kernel in trace(case)]
    for name in PROOF_NAMES:
        case = load_proof(name)
        found += [(name, kernel) for kernel in trace_proof(case.args, case.arguments, tables_of(case.args))]
    return (*found, *((f"2^{LARGE} proof", kernel) for kernel in large_proof()))


@lru_cache(maxsize=1)
def large_proof() -> tuple[TracedKernel, ...]:
    """A proof at the default parameters; tracing computes nothing, so its size costs nothing."""
    args = {**FULL_ARGS, "security": 100, "pow": 20, "fold": 4, "rate": 1, "tables": [[LARGE, 1]]}
    return tuple(trace_proof(args, arguments_of(args), [mx.zeros((1, 1 << LARGE), mx.uint32)]))


@lru_cache(maxsize=1)
def texts() -> dict[str, str]:
    """Kernel name -> text, of all that was traced."""
    return {kernel.name: kernel.source for _, kernel in traced()}


def base_name(kernel_name: str) -> str:
    """The `.metal` file of a generated name, custom_kernel_<file>_<hash>_<types>."""
    return re.match(r"custom_kernel_(\w+?)_[0-9a-f]{16}", kernel_name).group(1)


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_commit_and_open_are_one_graph(name):
    """Nothing is evaluated or read before the end: MLX raises at an evaluation in a trace, `trace_proof` at a read."""
    case = load_proof(name)
    kernels = trace_proof(case.args, case.arguments, tables_of(case.args))
    assert {"ntt", "grind", "challenge", "sumcheck_fold"} - {base_name(kernel.name) for kernel in kernels} <= {"grind"}


def test_a_read_or_an_evaluation_ends_a_trace():
    """The test above can fail."""
    device = TracingDevice()

    def launch(x):
        return device.launch("montgomery", (8,), [x], [(8,)], grid=(8, 1, 1), values={"TO_MONTGOMERY": 1})

    def evaluating(x):
        out = launch(x)
        device.evaluate(*out)
        return out

    def reading(x):
        device.numpy(launch(x)[0])

    x = mx.arange(8, dtype=mx.uint32)
    assert len(record(launch, x)) == 1
    with pytest.raises((RuntimeError, ValueError)):
        record(evaluating, x)
    with pytest.raises(HostRead):
        record(reading, x)


class LaunchSizes(Device):
    """A device that runs nothing and keeps the size words of every launch."""

    def __init__(self):
        super().__init__("metal")
        self.sizes = []

    def launch(self, name, size, inputs, outputs, **shape):
        self.sizes.append(size)
        return [np.zeros(output, np.uint32) for output in outputs]


@pytest.mark.parametrize("bits", [1, 16, 20, 30])
def test_grinding_windows_are_short(bits):
    """2^21 permutations take a small Apple GPU about 60 ms; past some 100 ms a dispatch its watchdog may strike."""
    device = LaunchSizes()
    grind(device, np.zeros(26, np.uint32), bits=bits)
    windows = [threads * tries for threads, _, _, tries in device.sizes]
    assert max(windows) <= 1 << 21
    # Together they reach 32 times the expected search, or every word below p.
    assert sum(windows) >= min(32 << bits, 15 * 2**27 + 1)


def test_every_kernel_file_is_traced():
    assert {base_name(name) for name in texts()} == {path.stem for path in FOLDER.glob("*.metal")}


def test_one_name_has_one_text():
    seen: dict[str, str] = {}
    for _, kernel in traced():
        assert seen.setdefault(kernel.name, kernel.source) == kernel.source, kernel.name


def test_both_argument_forms_are_traced():
    """MLX passes inputs of fewer than 8 elements in `constant`, so texts must take both."""
    signatures = "".join(text[text.rindex("[[kernel]] void") :] for text in texts().values())
    assert "const device uint32_t* x " in signatures and "const constant uint32_t* x " in signatures


def test_buffers_and_groups_are_within_limits():
    """31 buffers; 256 threads a group, which every Apple GPU grants whatever the registers; at least one of each."""
    for label, kernel in traced():
        assert len(re.findall(r"\[\[buffer\(\d+\)\]\]", kernel.source)) <= 31, label
        x, y, z = kernel.group
        assert 1 <= x * y * z <= 256, (label, kernel.group)
        assert all(1 <= extent < 2**31 for extent in kernel.grid), (label, kernel.grid)


def test_grids_of_kernels_with_barriers_or_simd_functions_are_whole_groups():
    """Metal shrinks the last group, where a barrier would wait and a shuffle would read nothing."""
    seen = set()
    for label, kernel in traced():
        body = kernel.source[kernel.source.rindex("[[kernel]]") :]
        if "GROUP_BARRIER" in body or "simd_" in body.replace("thread_index_in_simdgroup", ""):
            seen.add(base_name(kernel.name))
            unit = kernel.group if "GROUP_BARRIER" in body else (32, 1, 1)
            assert all(extent % size == 0 for extent, size in zip(kernel.grid, unit)), (
                label,
                kernel.grid,
                kernel.group,
            )
    assert {"ntt", "tree_layers"} <= seen


def test_threadgroup_memory_is_within_32_kilobytes():
    sizes = {}
    for name, text in texts().items():
        values = dict(re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE))
        arrays = re.findall(r"\bTHREADGROUP_ARRAY\(\w+, (\w+)\);", text)
        sizes[name] = sum(4 * int(values.get(size, size)) for size in arrays)
    assert 0 < max(sizes.values()) <= 32768


def declared_names(text: str) -> set[str]:
    """Names that a text declares: macros, types, functions, constants, locals."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    names = set(re.findall(r"#define (\w+)", text)) | set(re.findall(r"\b(?:struct|class|using) (\w+)", text))
    names |= set(re.findall(r"typedef [\w ]+ (\w+);", text))
    kinds = r"(?:uint|int|bool|auto|Quad|Wide|void|ulong|float|half|bfloat16_t|uint64_t|int64_t|IdxT|T|U|otype)"
    return names | set(re.findall(rf"\b{kinds}[*&]? (\w+)", text))


def test_no_name_collides_with_metal_or_the_preamble():
    preamble = set()
    for header in PREAMBLE_HEADERS:
        text = (PREAMBLE / header).read_text(encoding="utf-8")
        preamble |= set(re.findall(r"#define (\w+)", text)) | set(re.findall(r"^struct (\w+)", text, re.MULTILINE))
        preamble |= set(re.findall(r"^(?:METAL_FUNC|inline|static|typedef)[^(\n;=]*?(\w+)\s*[(;=]", text, re.MULTILINE))
    assert {"ceildiv", "Limits", "MTL_CONST", "bfloat16_t", "REDUCE_N_READS"} <= preamble, (
        "the headers were not understood"
    )
    for name, text in texts().items():
        assert not declared_names(text) & (preamble | METAL_WORDS), name


def with_form(text: str, form: str) -> str:
    """The text as MLX would generate it for inputs of the address space `form` (see `FORMS`)."""
    start = text.rindex("[[kernel]] void")
    # The name holds a hash of the forms; one name for all lets equal texts be parsed once.
    kernel = re.sub(r"void custom_kernel_\w+", "void custom_kernel", text[start:])
    return text[:start] + re.sub(r"const (constant|device) uint32_t\*", f"const {form} uint32_t*", kernel)


def parse(text: str, standard: str) -> str:
    """clang's complaints about a generated text, none where it is well-formed."""
    command = [
        CLANG,
        "-x",
        "c++",
        f"-std={standard}",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unknown-attributes",
    ]
    command += [
        "-Wno-duplicate-decl-specifier",
        "-Wno-unused-parameter",
        "-Wno-unused-variable",
        "-include",
        str(STUB),
        "-",
    ]
    return subprocess.run(command, input=text, capture_output=True, text=True).stderr


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
@pytest.mark.parametrize("standard", ["c++14", "c++17"])
def test_texts_parse(standard):
    """Metal 3 is C++14, Metal 4 C++17; every text must be both, with its inputs as traced, all small, and all large."""
    wanted = FORMS if standard == "c++14" else FORMS[:1]
    variants = {with_form(text, form) for text in texts().values() for form in wanted}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for complaint in pool.map(lambda text: parse(text, standard), variants):
            assert not complaint, complaint[:3000]


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("field_add(left, right)", "field_plus(left, right)", "undeclared identifier 'field_plus'"),
        ("out[i]", "a[i]", "not assignable|read-only|const"),
        ("uint left = a[i];", "uint half = a[i]; uint left = a[i];", "cannot combine"),
        ("uint left = a[i];", "device uint* p = b; uint left = a[i];", "cannot initialize"),
        ("uint left = a[i];", "thread const uint* p = a; uint left = p[i];", "cannot initialize"),
        ("uint left = a[i];", "uint left = popcnt(a[i]);", "undeclared identifier 'popcnt'"),
        ("uint left = a[i];", "uint left = (uint)(1u << 32) + a[i];", "shift count"),
    ],
)
def test_parse_finds_faults(old, new, complaint):
    """The parse is worth something: each is a fault that Metal's compiler would refuse, or take in another sense."""
    add = next(t for n, t in texts().items() if base_name(n) == "field_arithmetic" and "#define OPERATION 0" in t)
    start = add.rindex("[[kernel]]")
    assert old in add[start:]
    assert re.search(complaint, parse(add[:start] + add[start:].replace(old, new), "c++14"))
