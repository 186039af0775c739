"""Small kernel texts, and the faults that are seeded in them, for `test_check_build.py`."""

HEAD = (
    "kernel void probe(const constant uint* size [[buffer(0)]], const device uint* x [[buffer(1)]],"
    " device uint* out [[buffer(2)]],"
)
BY_GRID = (
    HEAD + " uint3 thread_position_in_grid [[thread_position_in_grid]]) {\n  uint i = thread_position_in_grid.x;\n"
)
BY_GROUP = HEAD + (
    " uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],"
    " uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],"
    " uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {\n"
    "  uint l = thread_position_in_threadgroup.x, g = threadgroup_position_in_grid.x, i = g * 64 + l;\n"
)
# 64 threads a group hand words to their neighbours twice, the second time in the same place.
EXCHANGE = (
    BY_GROUP
    + """
  THREADGROUP_ARRAY(tile, 64);
  tile[l] = x[i];
  GROUP_BARRIER();
  uint next = tile[(l + 1) & 63];
  GROUP_BARRIER();
  tile[l] = next;
  GROUP_BARRIER();
  out[i] = tile[(l + 1) & 63];
}
"""
)
# The same once, in device memory.
DEVICE_EXCHANGE = (
    BY_GROUP
    + """
  out[i] = x[i];
  GROUP_BARRIER_DEVICE();
  uint next = out[((l + 1) & 63) + g * 64];
  GROUP_BARRIER_DEVICE();
  out[i] = next + uint(0 & size[0]);
}
"""
)
# Each thread takes the word of the lane across, by both functions.
SHUFFLE = (
    BY_GROUP
    + """
  uint y = simd_shuffle(x[i], thread_index_in_simdgroup ^ uint(31));
  out[i] = simd_shuffle_xor(y, 31) + uint(0 & size[0]);
}
"""
)
# Word 0: the most that any thread raised it to. Word i: what thread i saw there after raising it to i + 1.
SEEN = (
    HEAD.replace("device uint* out", "device atomic_uint* out")
    + """ uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  uint i = thread_position_in_grid.x;
  ATOMIC_MAX_IF(true, out, i + 1);
  uint seen = ATOMIC_READ(out);
  ATOMIC_MAX_IF(i > uint(0), out + i, seen + uint(0 & size[0]));
}
"""
)
# The same with SIMD groups that shuffle three times before they look: what each saw tells which were ahead.
OVERTAKING = SEEN.replace(
    "  uint seen",
    "  uint y = x[i];\n  for (int k = 0; k < 3; k++) y = simd_shuffle_xor(y, 1);\n  uint seen",
)
COPY = BY_GRID + "  if (i < size[0]) out[i] = x[i];\n}\n"

# What is wrong, the text it is seeded in, what is replaced by what, and the words of the refusal.
FAULTS = {
    "read past the end": (
        COPY,
        "x[i]",
        "x[i + 1]",
        r"thread \(127, 0, 0\), probe.metal:3: reads x\[128\], which has 128 words",
    ),
    "read before the start": (COPY, "x[i]", "x[int(i) - 1]", r"reads x\[-1\]"),
    "write past the end": (COPY, "out[i]", "out[i + 1]", r"writes out\[128\], which has 128 words"),
    "unwritten output": (COPY, "i < size[0]", "i != 7", r"no thread writes output out\[7\]"),
    "write to an input": (COPY, "out[i] = x[i]", "x[i] = out[i]", "not in the dialect"),
    "output read before it is written": (COPY, "= x[i]", "= out[i]", "reads out.* before anything was written"),
    "two threads write one word": (
        COPY,
        "out[i]",
        "out[i >> 1]",
        r"race: writes out\[\d+\], which thread \(\d+, 0, 0\) wrote",
    ),
    "one thread reads what another wrote": (
        COPY,
        "out[i] = x[i];",
        "{ out[i] = x[i]; if (i == 5 && out[6] > 0) return; if (i == 6 && out[5] > 0) return; }",
        r"race: reads out\[|before anything",
    ),
    "shift by 32": (COPY, "= x[i]", "= x[i] << uint(32)", "shifts a 32-bit word by 32"),
    "shift by a computed 32": (COPY, "= x[i]", "= x[i] >> int(size[0] / 4)", "shifts a 32-bit word by 32"),
    "negative shift": (COPY, "= x[i]", "= x[i] << (int(i) - 128)", r"shifts a 32-bit word by -\d+"),
    "unset word": (COPY, "out[i] = x[i]", "{ uint y; out[i] = x[i] + y; }", "a word that was never set"),
    "unset word stored": (COPY, "out[i] = x[i]", "{ uint y; out[i] = y; }", "a word that was never set"),
    "sum past 64 bits": (
        COPY,
        "out[i] = x[i]",
        "{ uint m = ~x[0]; out[i] = wide_reduce(wide_mad(wide_mul(m, m), m, m)); }",
        "passes 2\\^64",
    ),
    "sum past its reduction": (
        COPY,
        "out[i] = x[i]",
        "{ uint m = 0x78000000u; out[i] = wide_reduce(wide_mad(wide_mad(wide_mul(m, m), m, m), m, m)); }",
        "not below 2\\^32 p",
    ),
    "missing barrier after writes": (EXCHANGE, "x[i];\n  GROUP_BARRIER();", "x[i];", r"tile\[\d+\]"),
    "missing barrier between reading and writing": (
        EXCHANGE,
        "GROUP_BARRIER();\n  tile[l]",
        "tile[l]",
        r"race: (writes|reads) tile\[\d+\], which thread .* of group .* (read|wrote) in probe.metal:\d+",
    ),
    "barrier that orders no device memory": (
        DEVICE_EXCHANGE,
        "x[i];\n  GROUP_BARRIER_DEVICE",
        "x[i];\n  GROUP_BARRIER",
        r"race: (reads|writes) out\[|reads out\[\d+\] before",
    ),
    "barrier that orders no device memory, between reading and writing": (
        DEVICE_EXCHANGE,
        "* 64];\n  GROUP_BARRIER_DEVICE",
        "* 64];\n  GROUP_BARRIER",
        r"race: writes out\[\d+\], which thread .* read in",
    ),
    "device memory of another group behind a barrier": (
        DEVICE_EXCHANGE,
        "((l + 1) & 63) + g * 64",
        "(i + 1) & 127",
        r"race: reads out\[\d+\], which thread .* of group \([01], 0, 0\) wrote|reads out\[\d+\] before",
    ),
    "unset threadgroup word": (
        EXCHANGE,
        "tile[l] = x[i]",
        "if (l != 5) tile[l] = x[i]",
        r"reads tile\[5\] before anything",
    ),
    "barrier in a branch": (
        EXCHANGE,
        "& 63];\n}",
        "& 63];\n  if (l < 32) GROUP_BARRIER();\n}",
        "of a group part: .* has finished",
    ),
    "two barriers in two branches": (
        EXCHANGE,
        "& 63];\n}",
        "& 63];\n  if (l < 32) GROUP_BARRIER();\n  else\n    GROUP_BARRIER();\n}",
        r"of a group part: this one waits at the barrier in this line, .* waits at the barrier in probe.metal:\d+",
    ),
    "thread that leaves before a barrier": (EXCHANGE, "uint next", "if (l == 63) return;\n  uint next", "has finished"),
    "threadgroup array of 32 KB and a word": (
        EXCHANGE,
        "(tile, 64)",
        "(tile, 8193)",
        "threadgroup arrays of 32772 bytes",
    ),
    "race between groups": (
        EXCHANGE,
        "out[i] =",
        "out[l] =",
        r"race: writes out\[\d+\], which thread .* of group \([01], 0, 0\) wrote",
    ),
    "shuffle from lane 32": (
        SHUFFLE,
        "thread_index_in_simdgroup ^ uint(31)",
        "thread_index_in_simdgroup + 1",
        "from lane 32 of a SIMD group of 32",
    ),
    "shuffle in a branch": (SHUFFLE, "uint y =", "uint y = x[i];\n  if (l != 40) y =", "threads of a SIMD group part"),
    "masks that differ": (SHUFFLE, "(y, 31)", "(y, int(l & 1))", "masks [01] and [01]"),
    "threadgroup memory as a thread's": (
        "KERNEL_FUNCTION uint first(thread uint* words) { return words[0]; }\n" + EXCHANGE,
        "uint next = tile[(l + 1) & 63]",
        "uint next = first(tile)",
        "not in the dialect",
    ),
    "plain store to an atomic word": (COPY, "device uint* out", "device atomic_uint* out", "not in the dialect"),
    "device memory as threadgroup memory": (
        EXCHANGE,
        "tile[l] = next;",
        "tile[l] = next; tile = out;",
        "not in the dialect",
    ),
}

# Bodies in place of that of COPY, and the sanitizers' words.
SANITIZED = {
    "a thread's own array": (
        "uint y[4]; for (int k = 0; k < 4; k++) y[k] = x[i]; out[i] = y[int(i) / 8];",
        r"index \d+ out of bounds|stack-buffer-overflow",
    ),
    "a pointer into it": (
        "uint y[4]; uint* z = y; for (int k = 0; k <= 4; k++) z[k] = x[i]; out[i] = z[0];",
        "stack-buffer-overflow",
    ),
    "signed overflow": ("int k = 2147483647; out[i] = uint(k + int(i));", "signed integer overflow"),
    "signed shift by 32": ("int k = int(size[0]) / 4; out[i] = uint(1 << k);", "shift exponent 32"),
}
