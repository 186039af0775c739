"""Small mutations of the package's own kernels, each with the check that must catch it.

A fault is a text, an edit, the check that catches it and the words in which it does. The checks are those that the
package's kernels pass: `check` runs the text on the check build, at the inputs of a self-test case (bounds, races,
barriers, shuffles, unset words, ranges); `answer` does too, and compares with the known answer; `large` runs it on
arrays of gigabytes that are not there (large_cases.py, at the case of that label); `c++14`, `c++17` and
`spaces` are clang's parses; `rules` is the allow-list over its syntax tree; `limits` are Apple's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tests.kernels.large_cases import large_cases, run_large
from tests.kernels.metal_clang import complaints
from tests.kernels.metal_launches import base_name, collected, texts
from tests.kernels.metal_limits import CACHED_INSTRUCTIONS, launch_faults, machine_code, text_faults
from tests.kernels.metal_rules import broken_rules
from whir_mlx.kernels.targets.cpu_check import CheckDevice, CheckError
from whir_mlx.kernels.targets.cpu_sparse import SparseDevice
from whir_mlx.kernels.text import FOLDER, expand_includes
from whir_mlx.selftest.answers import digest, known_answers
from whir_mlx.selftest.cases import kernel_cases

CLANG_CHECKS = ("c++14", "c++17", "spaces", "rules", "limits")


@dataclass(frozen=True)
class Fault:
    """`old` is replaced by `new` once in `<kernel>.metal` with its headers; `check` then says `words` (a pattern).

    case: the self-test case that runs it, by the start of its label; by default the kernel's first.
    """

    check: str
    kernel: str
    old: str
    new: str
    words: str
    case: str = ""


HELPER = "\n[[kernel]] void"
"""Before the kernel of a generated text: where a fault puts a function of its own."""

FAULTS: dict[str, Fault] = {
    # Memory and its order, on the check build.
    "missing barrier": Fault(
        "check",
        "ntt",
        "    if (!last) GROUP_BARRIER();",
        "",
        r"race: (reads|writes) tile|reads tile\[\d+\] before",
        "ntt: 2^9",
    ),
    "barrier of some threads": Fault(
        "check",
        "ntt",
        "    if (!last) GROUP_BARRIER();",
        "    if (!last && thread_position_in_threadgroup.x < 1) GROUP_BARRIER();",
        r"of a group part|has finished|race: reads tile|reads tile\[\d+\] before",
        "ntt: 2^9",
    ),
    "off-by-one read": Fault("check", "montgomery", "(x[i], factor)", "(x[i + 1], factor)", r"reads x\[1000\]"),
    "off-by-one write": Fault(
        "check",
        "poseidon2",
        "store_words_8(out, i * WIDTH + part,",
        "store_words_8(out, i * WIDTH + part + 1,",
        "writes out|race",
    ),
    "uninitialised output": Fault(
        "check", "montgomery", "out[i] = field", "if (i != 7) out[i] = field", r"no thread writes output out\[7\]"
    ),
    "uninitialised word": Fault(
        "check",
        "hash_rows",
        "    s[T - 4 + k] = sum;\n",
        "",
        "never set",
    ),
    "tile too small": Fault(
        "check", "ntt", "(tile, TILE_WORDS)", "(tile, 64)", r"tile\[\d+\], which has 64 words", "ntt: 2^9"
    ),
    "race between SIMD groups": Fault(
        "check",
        "ntt",
        "    if (!last) GROUP_BARRIER();",
        "    if (!last && width != 16) GROUP_BARRIER();",
        r"race: (reads|writes) tile|reads tile\[\d+\] before",
        "ntt: 2^10 x 16",
    ),
    "one half of a tile for two layers": Fault(
        "check",
        "tree_layers",
        "TREE_LAYER_WORDS * (level & 1), s)",
        "0 * (level & 1), s)",
        "race: (reads|writes) digests",
    ),
    "a barrier that orders no device memory": Fault(
        "check",
        "sumcheck_rest",
        "GROUP_BARRIER_DEVICE();",
        "GROUP_BARRIER();",
        r"race: reads values\[\d+\], which .* wrote|reads values\[\d+\] before",
    ),
    "a level that does not wait for the one below": Fault(
        "check", "climb", "    GROUP_BARRIER_DEVICE();\n", "", r"race: (reads|writes) nodes|reads nodes\[\d+\] before"
    ),
    "shares added up too soon": Fault(
        "check",
        "sumcheck_rest",
        "    GROUP_BARRIER();\n    if (own == 0)",
        "    if (own == 0)",
        r"race: (reads|writes) shares|reads shares\[\d+\] before",
    ),
    "a challenge taken before it is drawn": Fault(
        "check",
        "sumcheck_rest",
        "    GROUP_BARRIER();\n    int next",
        "    int next",
        r"race: (reads|writes) drawn|reads drawn\[\d+\] before",
    ),
    "a group that folds before its challenge is drawn": Fault(
        "check",
        "sumcheck_draw_fold",
        "  GROUP_BARRIER();\n  Quad r",
        "  Quad r",
        r"race: (reads|writes) drawn|reads drawn\[\d+\] before",
    ),
    "race between rows": Fault(
        "check",
        "eq_outer",
        "store_quad(out, b + a * int(size[0]),",
        "store_quad(out, b,",
        "race: writes out|no thread writes",
    ),
    "two threads, one node": Fault(
        "check", "compress", "parents, i * 8", "parents, (i >> 1) * 8", "race: writes parents"
    ),
    "row past the matrix": Fault(
        "check", "gather_rows", "int(indices[q]) *", "(int(indices[q]) + 300) *", r"reads x\[\d+\], which has 4800"
    ),
    "last block read whole": Fault("check", "hash_rows", "if (block + k < length) s[k]", "s[k]", r"reads rows\[\d+\]"),
    "shift by 32": Fault(
        "check",
        "query_tables",
        "exponent >> bit",
        "exponent >> (bit + 32)",
        "shifts a 32-bit word by 32",
        "query_weights",
    ),
    "shift out of a mask": Fault(
        "check", "challenge", "(1u << int(size[5]))", "(uint(1) << (int(size[5]) + 19))", "shifts a 32-bit word by 32"
    ),
    "wrong shuffle width": Fault(
        "check", "tree_layers", "(lane & 16) | uint(from)", "(lane & 16) + uint(from + 16)", "shuffles from lane"
    ),
    "shuffle one lane too far": Fault(
        "check", "tree_layers", "(lane & 28) | ((lane + 1) & 3)", "lane + 1", "shuffles from lane 32"
    ),
    "shuffle in a branch": Fault(
        "check",
        "challenge",
        "uint sample = simd_shuffle(c.s, c.left - 1 - min(ahead, uint(count - 1)));",
        "uint sample = c.s; if (lane < uint(16)) sample = simd_shuffle(c.s, c.left - 1 - min(ahead, uint(count - 1)));",
        "threads of a SIMD group part",
    ),
    "sum past its reduction": Fault(
        "check",
        "ext_arithmetic",
        "c.x = wide_reduce_4(",
        "c.x = wide_reduce(",
        r"not below 2\^32 p",
        "ext_arithmetic: ext_mul",
    ),
    "write to an input": Fault("check", "montgomery", "  out[i] = field", "  x[i] = field", "not in the dialect"),
    # Right as long as arrays are small.
    "an index product in 32 bits": Fault(
        "large",
        "hash_rows",
        "rows, i * width,",
        "rows, (i * (4 * width)) >> 2,",
        r"hash_rows.metal:\d+: an index of 32 bits wrapped: \d+ stands for \d+|of 32 bits wrapped",
        "hash_rows",
    ),
    "a signed index product": Fault(
        "large",
        "gather_rows",
        "int(indices[q]) * width]",
        "int(indices[q]) * (4 * width) / 4]",
        "signed integer overflow",
        "gather_rows of many",
    ),
    "bytes counted in 32 bits": Fault(
        "large", "montgomery", "out[i] = field", "out[(i << 2) / 4] = field", "of 32 bits wrapped", "montgomery"
    ),
    "a row number in 16 bits": Fault(
        "large", "add_scaled", "lane_index i = thread", "lane_index i = 65535 & thread", "last word|race", "add_scaled"
    ),
    # Right as a program, wrong as mathematics.
    "wrong round constant": Fault(
        "answer", "poseidon2", "constants[(first) + i]", "constants[(first) + 0]", "wrong answer"
    ),
    "one round too few": Fault(
        "answer",
        "poseidon2",
        "for (int r = 0; r < PARTIAL_ROUNDS; r++)",
        "for (int r = 1; r < PARTIAL_ROUNDS; r++)",
        "wrong answer",
    ),
    "no reduction of a sum": Fault(
        "answer", "field_arithmetic", "return min(sum, sum - FIELD_P);", "return sum;", "wrong answer"
    ),
    "outputs of the sponge in the other order": Fault(
        "answer", "sumcheck_rest", "7 - (lane & 3)", "4 + (lane & 3)", "wrong answer"
    ),
    "siblings on the other side": Fault(
        "answer", "climb", "* ARITY + part] * 8", "* ARITY + (ARITY - 1 - part)] * 8", "wrong answer"
    ),
    "the sample that decides about a witness taken for the challenge's": Fault(
        "answer", "sumcheck_draw_fold", "6 - (lane & 3)", "7 - (lane & 3)", "wrong answer"
    ),
    "children swapped": Fault(
        "answer", "hash_leaves", "if ((j & 1) == 0) {", "if ((j & 1) == 1) {", "wrong answer|never set"
    ),
    "fewer bits of grinding": Fault(
        "answer", "grind", "(sample & mask)", "(sample & (mask >> 8))", "wrong answer", "grind: 12"
    ),
    "a witness of the step before overlooked": Fault(
        "answer", "grind_sixteen", "found + at, ~w);", "found + at, j == 0 ? uint(~w) : uint(0));", "wrong answer"
    ),
    "a group that does not wait for what one thread read": Fault(
        "check", "grind_sixteen", "      GROUP_BARRIER();\n", "", r"race: (reads|writes) best|reads best"
    ),
    "biased index kept": Fault("answer", "challenge", "value & mask;", "(value >> 1) & mask;", "wrong answer"),
    "a step that begins where the one before began": Fault("answer", "replay", "read = end;", "", "wrong answer"),
    "a factor past a claim's variables": Fault(
        "answer", "point_weights", "uint(s) < variables)", "uint(s) <= variables)", "wrong answer"
    ),
    "pairs of the other order": Fault(
        "answer",
        "sumcheck_fold",
        "return ((i >> s) << (s + 1)) | (i & uint((1 << s) - 1));",
        "return ((i >> s) << (s + 1)) | (i >> (31 - s) & uint((1 << s) - 1));",
        "wrong answer|reads",
        "sumcheck_fold: stride 2^12",
    ),
    # What Metal's compiler would refuse.
    "a name that Metal lacks": Fault(
        "spaces",
        "field_arithmetic",
        "field_add(left, right)",
        "field_plus(left, right)",
        "undeclared identifier 'field_plus'",
    ),
    "a function that Metal lacks": Fault(
        "c++14", "field_arithmetic", "uint left = a[i];", "uint left = popcnt(a[i]);", "undeclared identifier 'popcnt'"
    ),
    "write to an input, for Metal": Fault(
        "c++14", "field_arithmetic", "out[i] = field_add", "a[i] = field_add", "not assignable|read-only|const"
    ),
    "an input as a thread's": Fault(
        "c++14",
        "field_arithmetic",
        "uint left = a[i];",
        "thread const uint* p = a; uint left = p[i];",
        "cannot initialize",
    ),
    "a reserved word as a name": Fault(
        "c++14", "field_arithmetic", "uint left = a[i];", "uint half = a[i]; uint left = half;", "cannot combine"
    ),
    "wrong address space": Fault(
        "c++14", "field_arithmetic", "uint left = a[i];", "device uint* p = b; uint left = p[i];", "cannot initialize"
    ),
    "device memory as a thread's": Fault(
        "spaces",
        "hash_rows",
        "store_words_8(digests, i * 8, s);",
        "thread uint* p = digests; p[0] = s[0];",
        "cannot initialize|changes address space",
    ),
    "threadgroup memory as a thread's": Fault(
        "spaces",
        "ntt",
        "  int log_rows = int(size[0])",
        "  thread uint* p = tile; int log_rows = int(size[0] + p[0])",
        "cannot initialize|changes address space",
    ),
    "a threadgroup array in a helper": Fault(
        "spaces",
        "ntt",
        HELPER,
        "\nMETAL_FUNC uint helper() { threadgroup uint words[4]; return words[0]; }\n[[kernel]] void",
        "in (function|kernel)|address space|outermost",
    ),
    "a variable of program scope": Fault(
        "spaces", "ext_sum", HELPER, "\nthread uint counter = 0;\n[[kernel]] void", "program scope|address space"
    ),
    "a word of the language": Fault(
        "spaces",
        "field_arithmetic",
        "uint left = a[i];",
        "uint half = a[i]; uint left = half;",
        "cannot combine|expected",
    ),
    "a constant shift by 32": Fault(
        "c++14", "field_arithmetic", "uint left = a[i];", "uint left = a[i] >> 32;", "shift count"
    ),
    "C++17 on macOS 14": Fault(
        "c++14",
        "ntt",
        "        if (radix_bits == 4) {",
        "        if constexpr (sizeof(int) == 4) {\n        if (radix_bits == 4) {}",
        "C\\+\\+17",
    ),
    "an array of unknown length": Fault(
        "spaces", "poseidon2", "uint s[WIDTH];", "uint s[size[0]];", "variable length|constant expression"
    ),
    "a word that is not set": Fault("c++17", "gather_rows", "int width = int(size[0]);", "int width;", "uninitialized"),
    "the preamble's name": Fault(
        "spaces",
        "ext_sum",
        HELPER,
        "\n#define N 3\nMETAL_FUNC uint ceildiv(uint a) { return a; }\nstruct Limits { uint x; };\n[[kernel]] void",
        "redefinition|Limits",
    ),
    # What compiles, and is not allowed.
    "recursion": Fault(
        "rules",
        "ext_sum",
        HELPER,
        "\nMETAL_FUNC uint down(uint a);\nMETAL_FUNC uint twice(uint a) { return down(a); }\n"
        "METAL_FUNC uint down(uint a) { return a == uint(0) ? a : twice(a - 1); }\n[[kernel]] void",
        "calls itself",
    ),
    "a lambda": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "auto twice = [](uint a) { return a + a; }; Quad sum = ext_zero(); sum.x = twice(sum.x);",
        "LambdaExpr",
    ),
    "goto": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "again: Quad sum = ext_zero(); if (sum.x > uint(5)) goto again;",
        "LabelStmt|GotoStmt",
    ),
    "a loop that may not end": Fault(
        "rules",
        "ext_sum",
        "for (int c = 0; c < count; c++)",
        "for (int c = 0; c < count; columns++)",
        "does not count",
    ),
    "a while loop": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "Quad sum = ext_zero(); while (sum.x > uint(1)) sum.x = sum.x / 2;",
        "WhileStmt",
    ),
    "a float": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "Quad sum = ext_zero(); sum.x = uint(0.5f * 2);",
        "FloatingLiteral|floating type",
    ),
    "a struct in device memory": Fault(
        "rules",
        "ext_sum",
        "store_quad(out, b + group * columns, sum);",
        "((device Quad*)out)[int(b)].x = sum.x;",
        "keeps Quad in memory",
    ),
    "64-bit words in device memory": Fault(
        "rules",
        "ext_sum",
        "store_quad(out, b + group * columns, sum);",
        "((device ulong*)out)[int(b)] = ulong(sum.x);",
        "keeps (unsigned long|ulong) in memory|keeps unsigned in memory",
    ),
    "a pointer without a space": Fault(
        "rules",
        "ext_sum",
        HELPER,
        "\nMETAL_FUNC uint first(uint* words) { return words[0]; }\n[[kernel]] void",
        "points to no address space",
    ),
    "a virtual function": Fault(
        "rules",
        "ext_sum",
        HELPER,
        "\nstruct Base { virtual uint get() const { return 1; } };\n[[kernel]] void",
        "virtual",
    ),
    "a derived class": Fault(
        "rules",
        "ext_sum",
        HELPER,
        "\nstruct Base { uint a; };\nstruct Derived : Base { uint b; };\n[[kernel]] void",
        "virtual or derived",
    ),
    "a static local": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "static constant uint three = 3; Quad sum = ext_zero(); sum.x = three;",
        "is static",
    ),
    "Metal's own name": Fault(
        "rules", "ext_sum", HELPER, "\nMETAL_FUNC uint clamp(uint a) { return a; }\n[[kernel]] void", "the name clamp"
    ),
    "a function pointer": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "uint (*add)(uint, uint) = &field_add; Quad sum = ext_zero(); sum.x = add(sum.x, sum.y);",
        "pointer.* to a? ?function|pointers to functions",
    ),
    "a switch": Fault(
        "rules",
        "ext_sum",
        "Quad sum = ext_zero();",
        "Quad sum = ext_zero(); switch (int(b)) { case 1: sum.x = uint(1); }",
        "SwitchStmt",
    ),
    # Apple's limits.
    "33 KB": Fault(
        "limits", "ntt", "#define TILE_WORDS 4096", "#define TILE_WORDS 8448", "threadgroup arrays of 33792 bytes"
    ),
    "two tiles": Fault(
        "limits",
        "ntt",
        "THREADGROUP_ARRAY(tile, TILE_WORDS);",
        "THREADGROUP_ARRAY(tile, TILE_WORDS); THREADGROUP_ARRAY(second, 4097);",
        "threadgroup arrays of 32784 bytes",
    ),
    "rounds unrolled": Fault(
        "limits",
        "poseidon2",
        "    ROLLED_LOOP \\\n    for (int r = 0; r < 4; r++)",
        "    UNROLLED_LOOP \\\n    for (int r = 0; r < 4; r++)",
        "instructions in a row",
    ),
    "a state of 512 words": Fault(
        "limits",
        "poseidon2",
        "uint s[WIDTH];",
        "uint s[512]; for (int k = 0; k < 512; k++) s[k] = states[(int(i) * k) & 15]; "
        "for (int k = 0; k < 512; k++) s[(int(i) + s[k & 15]) & 511] += s[k];",
        "spill|registers",
    ),
}
LAUNCH_FAULTS = {
    "1024 threads": ({"group": 1024}, "groups of 1024 threads"),
    "a dispatch of seconds": ({"threads": 1 << 27, "size": (1 << 27,)}, "a dispatch of"),
    "a grid of 2^31": ({"threads": 1 << 31}, "2\\^31 and more"),
}
"""Faults of wrappers: a launch of `poseidon2` with other fields."""


def _edited(text: str, fault: Fault) -> str:
    if text.count(fault.old) < 1:
        raise AssertionError(f"{fault.kernel} no longer holds {fault.old!r}")
    return text.replace(fault.old, fault.new, 1)


def found(fault: Fault) -> str:
    """What the fault's check says of it; empty where it sees nothing."""
    if fault.check in ("check", "answer"):
        return _run(fault)
    if fault.check == "large":
        return _run_large(fault)
    text = _edited(_generated(fault.kernel), fault)
    if fault.check in ("c++14", "c++17", "spaces"):
        return complaints(text, fault.check)
    if fault.check == "rules":
        try:
            return "\n".join(broken_rules(text))
        except ValueError as error:  # it does not even parse
            return str(error)
    return "\n".join([*text_faults(text), *_code_faults(text)])


def found_in_launch(changes: dict) -> str:
    """The same for a launch with other fields."""
    launch = next(launch for launch in collected()[0] if launch.name == "poseidon2")
    return "\n".join(launch_faults(replace(launch, **changes)))


def _generated(kernel: str) -> str:
    """A text of `kernel` as MLX generates it, all inputs in device memory; the narrowest specialisation."""
    return next(text for name, text in texts().items() if base_name(name) == kernel)


def _code_faults(text: str) -> list[str]:
    code = machine_code(text)
    found = [f"registers spill: {code}"] if code.spilled or code.registers > 128 else []
    # A text in rolled loops has some 2,000 instructions around its longest loop of 720; a transform's has four radices.
    if code.loop > (2 if "void custom_kernel_ntt" in text else 1) * CACHED_INSTRUCTIONS:
        found.append(f"{code.instructions} instructions in a row, {CACHED_INSTRUCTIONS} fit the cache")
    if code.instructions - code.loop > 2 * CACHED_INSTRUCTIONS:
        found.append(f"{code.instructions} instructions in a row, {CACHED_INSTRUCTIONS} fit the cache")
    return found


def _run(fault: Fault) -> str:
    case = next(case for case in kernel_cases() if case.label.startswith(fault.case or fault.kernel))
    device = CheckDevice(0, 32, False, "metal")
    source = (FOLDER / f"{fault.kernel}.metal").read_text(encoding="utf-8")
    device.texts[fault.kernel] = _edited(expand_includes(source, set()), fault)
    try:
        results = case.run(device)
    except CheckError as error:
        return str(error)
    return "" if digest(results) == known_answers()[case.label] else "wrong answer"


def _run_large(fault: Fault) -> str:
    case = next(case for case in large_cases() if case.label == fault.case)
    source = (FOLDER / f"{fault.kernel}.metal").read_text(encoding="utf-8")
    text = _edited(expand_includes(source, set()), fault)
    try:
        return run_large(case, SparseDevice(texts={fault.kernel: text}))
    except CheckError as error:
        return str(error)


def matches(fault: Fault) -> bool:
    """Whether the check catches the fault in the words expected."""
    return re.search(fault.words, found(fault)) is not None
