"""Every text that Metal can be asked to compile is legal, as far as clang and rules over its syntax tree can tell.

Texts: whatever tracing the operations and whole proofs gives (metal_launches.py), with inputs in the address spaces
traced, all small (`constant`) and all large (`device`). Modes of clang: metal_clang.py. That the checks bite:
test_seeded_faults.py.
"""

import re

import pytest

from tests.kernels.metal_clang import CLANG, STANDARDS, complaints, mlx_preamble, on_all_cores, preamble_names
from tests.kernels.metal_launches import base_name, collected, texts, with_form
from tests.kernels.metal_rules import broken_rules
from whir_mlx.kernels.text import FOLDER

pytestmark = pytest.mark.skipif(CLANG is None, reason="no clang that knows AMD GPUs is installed")
KERNELS = {path.stem for path in FOLDER.glob("*.metal")}


def test_every_kernel_file_is_collected():
    """A kernel that no operation launches is one that nothing here looks at."""
    assert {base_name(name) for name in texts()} == KERNELS


def test_both_argument_forms_are_collected():
    """MLX passes inputs of fewer than 8 elements in `constant`, so texts must take both."""
    signatures = "".join(text[text.rindex("[[kernel]] void") :] for text in texts().values())
    assert "const device uint32_t* x " in signatures and "const constant uint32_t* x " in signatures


def test_the_preamble_is_understood():
    """The names that are known to collide, from each of the preamble's headers."""
    assert {
        "ceildiv",
        "Limits",
        "elem_to_loc",
        "complex64_t",
        "bfloat16_t",
        "MTL_CONST",
        "REDUCE_N_READS",
        "cast_to",
    } <= preamble_names()
    assert "METAL_FUNC bool schedule_row_tile" in mlx_preamble() or "schedule_row_tile" in mlx_preamble()


@pytest.mark.parametrize("mode", STANDARDS)
def test_texts_parse(mode):
    """Metal 3 is C++14, Metal 4 C++17; `spaces` knows all of Metal's address spaces and puts MLX's preamble before the
    text."""
    forms = ("", "constant", "device") if mode != "c++17" else ("",)
    variants = sorted({with_form(text, form) for text in texts().values() for form in forms})
    for text, complaint in zip(variants, on_all_cores(lambda text: complaints(text, mode), variants)):
        name = re.findall(r"METAL_KERNEL|void custom_kernel\w*", text)[-1]
        assert not complaint, f"{name}:\n{complaint[:3000]}"


def test_texts_are_made_of_what_is_allowed():
    """The syntax tree of every kernel and specialisation; the form of its inputs changes nothing that the rules look
    at."""
    chosen = {with_form(text, "device"): name for name, text in texts().items()}
    for text, broken in zip(chosen, on_all_cores(broken_rules, chosen)):
        assert broken == [], f"{base_name(chosen[text])}: {broken[:10]}"


def test_only_relaxed_atomics_pass_between_groups():
    """No group of a dispatch may wait for another: no fences, no barriers but a group's own, no order but relaxed."""
    order = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)"  # within a group
    for name, text in texts().items():
        kernel = text[text.index("#define KERNEL_FUNCTION") :].replace(order, "")
        orders = set(re.findall(r"memory_order_\w+", kernel))
        assert orders <= {"memory_order_relaxed"}, base_name(name)
        assert not re.search(r"atomic_thread_fence|mem_flags::mem_device|coherent|volatile", kernel), base_name(name)


def test_texts_need_no_newer_metal_than_3_1():
    """Words of Metal 3.2 and later would not compile on macOS 14."""
    newer = r"\b(os_log|coherent|atomic_thread_fence|tensor|bfloat|thread_scope\w*|memory_order_(?!relaxed)\w+)\b"
    for name, text in texts().items():
        assert not re.search(newer, text), base_name(name)


def test_positions_are_those_of_simd_width_32():
    """What a kernel knows of SIMD groups it takes from lane numbers below 32; the probe alone asks for the width."""
    assert {base_name(name) for name, text in texts().items() if "threads_per_simdgroup" in text} == {"simd_width"}


def test_one_name_has_one_text():
    """MLX keeps compiled kernels by name."""
    seen: dict[str, str] = {}
    for _, kernel in collected()[1]:
        assert seen.setdefault(kernel.name, kernel.source) == kernel.source, kernel.name
