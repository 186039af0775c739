"""C++ text of a kernel for the CPU target: the `.metal` text under the CPU dialect, for vectors of threads and for
one."""

from __future__ import annotations

from ..text import KernelText, defines, dialect, expand_includes

_TYPES = {"uint3": "Position", "uint": "uint"}
# Per thread position: its value for a vector of threads, and for one thread.
_VALUES = {
    "thread_position_in_grid": ("Position{lane_index{x}, y, z}", "Position{x, y, z}"),
    "thread_position_in_threadgroup": ("Position{lane_index{0}, 0, 0}", "Position{0, 0, 0}"),
    "threadgroup_position_in_grid": ("UniformPosition{group_x, y, z}",) * 2,
    "threads_per_threadgroup": ("UniformPosition{LANES, 1, 1}",) * 2,
    "thread_index_in_simdgroup": ("uint(lane_index{0})", "0"),
    "threads_per_simdgroup": ("uint(uint32_t(LANES))", "LANES"),
}
# The macros that the vector and the single-thread dialect define differently.
_MACROS_OF_A_BUILD = (
    "LANES",
    "THREADGROUP_ARRAY",
    "STORE_IF",
    "STORE_QUAD_IF",
    "REDUCE_WIDTH",
    "GATHER_FUNCTION",
    "ATOMIC_MAX_IF",
    "ATOMIC_READ",
    "TARGET_HAS_POW7",
    "TARGET_HAS_SUB_MUL",
    "TARGET_HAS_SIXTEEN",
    "TARGET_LACKS_SIGNED_MUL",
    "TARGET_HAS_TIMES_CONSTANT",
    "ROUND_CONSTANTS",
    "FIELD_ADD_POW7_ALL",
)
_UNIFORM = ("threadgroup_position_in_grid", "threads_per_threadgroup")


def _run_function(text: KernelText, vector: bool) -> str:
    """`run(launch, x, y, z, group_x)`: the kernel's body as a function, called for one vector of threads."""
    parameters, values = [], []
    for index, name in enumerate(text.inputs + text.outputs):
        kind, pointer = ("const_buffer", "const uint32_t*") if name in text.inputs else ("buffer", "uint32_t*")
        parameters.append(f"{kind} {name}")
        values.append(f"{kind}{{({pointer})launch->buffers[{index}]}}")
    for kind, name in text.attributes:
        parameters.append(f"{'UniformPosition' if name in _UNIFORM else _TYPES[kind]} {name}")
        values.append(_VALUES[name][0 if vector else 1])
    return (
        f"static inline void body({', '.join(parameters)}) {{{text.body}}}\n"
        "static inline void run(const Launch* launch, uint32_t x, uint32_t y, uint32_t z, uint32_t group_x) {\n"
        f"  (void)x; (void)y; (void)z; (void)group_x;\n  body({', '.join(values)});\n}}\n"
    )


def fast_source(text: KernelText, values: dict[str, int], lanes: int) -> str:
    """The fast build: `lanes` threads a vector, and single threads for the rest of the grid."""
    parts = [dialect("cpu_common.h")]
    builds = (
        (("narrow", 1, "cpu_scalar.h"),)
        if lanes == 1
        else (("wide", lanes, "cpu_lanes.h"), ("narrow", 1, "cpu_scalar.h"))
    )
    if lanes == 16 and "cooperative_permute(" in text.header:
        # One state is soonest permuted by one thread, in plain words: see PERMUTE_ALONE in cpu_lanes.h.
        alone = expand_includes('#include "poseidon2.h"\n', set())
        parts += ["namespace alone {\n#define LANES 1\n", dialect("cpu_scalar.h"), alone, "}\n"]
        parts += [*(f"#undef {word}\n" for word in _MACROS_OF_A_BUILD), "#define PERMUTE_ALONE\n"]
    # Groups and SIMD groups are whole vectors: they have no remainder.
    whole = lanes > 1 and (text.has_barrier or text.has_simd)
    if whole:
        builds = builds[:1]
    for space, width, header in builds:
        parts += [
            f"namespace {space} {{\n#define LANES {width}\n",
            dialect(header),
            defines(values),
            text.header,
            _run_function(text, width > 1),
            "}\n",
            *(f"#undef {word}\n" for word in _MACROS_OF_A_BUILD),
        ]
    if lanes == 1:
        parts.append("namespace wide = narrow;\n")
    if whole:
        parts.append("namespace narrow = wide;\n")
    parts.append(f"#define KERNEL_LANES {lanes}\n#define KERNEL_GROUPED {int(text.has_barrier)}\n")
    parts.append(dialect("cpu_entry.h"))
    return "".join(parts)
