"""Seeded faults: the check build refuses every one of them, and runs the text that it was made from.

Small texts show one rule each; the mutations of real kernels show that the rules bite there.
"""

import re

import numpy as np
import pytest

from tests.helpers import load_proof
from tests.kernels.check_faults import (
    COPY,
    DEVICE_EXCHANGE,
    EXCHANGE,
    FAULTS,
    OVERTAKING,
    SANITIZED,
    SEEN,
    SHUFFLE,
)
from tests.kernels.conftest import make_target
from tests.kernels.operation_cases import operation, words
from tests.proving import commit
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.targets.cpu_check import CheckDevice, CheckError, get_check_device, sanitizers
from whir_mlx.kernels.text import FOLDER, dialect
from whir_mlx.protocol.prover import open_proof, read_commitment


@pytest.fixture(autouse=True)
def compiler():
    make_target("check")  # skips where there is no compiler


def device(
    name: str, text: str, *, round_up: bool = False, seed: int = 0, lock_step: bool = False, width: int = 32
) -> CheckDevice:
    """A check device that runs `text` in place of the kernel `name`."""
    made = CheckDevice(seed, width, round_up, "metal", lock_step)
    made.texts[name] = text
    return made


def probe(text: str, *, count: int = 128, group: int = 64, **options) -> np.ndarray:
    """Run a small text on x = 0, 1, ...: by groups where it uses them, else by grid. `out` has as many words."""
    grouped = "threadgroup_position_in_grid" in text
    shape = {"groups": (count // group, 1, 1), "group": (group, 1, 1)} if grouped else {"grid": (count, 1, 1)}
    runner = device("probe", text, **options)
    return runner.launch("probe", (count,), [np.arange(count, dtype=np.uint32)], [(count,)], **shape)[0]


def replace(text: str, old: str, new: str) -> str:
    """`text` with its one `old` replaced."""
    assert text.count(old) == 1, f"the text has {text.count(old)} times {old!r}"
    return text.replace(old, new)


def refused(message: str):
    return pytest.raises(CheckError, match=message)


@pytest.mark.parametrize("lock_step", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_sound_texts_run(seed, lock_step):
    x = np.arange(128, dtype=np.uint32)
    options = {"seed": seed, "lock_step": lock_step}
    assert np.array_equal(probe(COPY, **options), x)
    assert np.array_equal(probe(EXCHANGE, **options), (x & 64) + (x + 2) % 64)
    assert np.array_equal(probe(DEVICE_EXCHANGE, **options), (x & 64) + (x + 1) % 64)
    assert np.array_equal(probe(SHUFFLE, **options), x)


@pytest.mark.parametrize("lock_step", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_seeded_fault(fault, lock_step):
    text, old, new, message = FAULTS[fault]
    with refused(message):
        probe(replace(text, old, new), lock_step=lock_step)


@pytest.mark.parametrize("width", [8, 32])
def test_lock_step_is_lock_step(width):
    """Every thread raises the first word, then reads it: in lock-step it sees what its whole SIMD group wrote."""
    own = np.arange(256) // width * width + width  # the largest number that a thread of the group writes
    together = probe(SEEN, count=256, lock_step=True, width=width)
    freely = probe(SEEN, count=256, lock_step=False, width=width)
    # Word 0 is that which all raise; word i is what thread i saw, one more thread's own number at least.
    assert together[0] == freely[0] == 256
    assert (together[1:] >= own[1:]).all() and not (freely[1:] >= own[1:]).all()


def test_what_only_lock_step_allows_is_refused_in_both():
    """Lanes that hand a word over without a barrier: right where they go together, and a race by Metal's rules."""
    text = replace(EXCHANGE, "x[i];\n  GROUP_BARRIER();", "x[i];")
    for lock_step in (False, True):
        with refused(r"race: (reads|writes) tile|before anything"):
            probe(text, lock_step=lock_step)


def test_simd_groups_run_apart():
    """Free SIMD groups overtake each other between barriers, by whole SIMD functions; seeds give different orders."""
    orders = {tuple(probe(OVERTAKING, seed=seed)) for seed in range(6)}
    assert len(orders) > 1


@pytest.mark.skipif(not sanitizers(), reason="AddressSanitizer and UBSan are not installed")
@pytest.mark.parametrize("fault", SANITIZED)
def test_sanitizers_watch(fault):
    body, message = SANITIZED[fault]
    with refused(message) as raised:
        probe(replace(COPY, "if (i < size[0]) out[i] = x[i];", body))
    assert "kernel probe, thread (" in str(raised.value)


def test_size_of_a_group():
    with refused("groups of 2048 threads"):
        probe(EXCHANGE, count=2048, group=2048)


def test_threads_past_the_grid():
    # CUDA runs 256 threads for a grid of 100 by groups of 256 only where the kernel's grid is larger than a group.
    assert len(probe(COPY, count=300, round_up=True)) == 300
    unguarded = replace(COPY, "if (i < size[0]) ", "")
    assert len(probe(unguarded, count=300)) == 300
    with refused(r"thread \(\d+, 0, 0\), probe.metal:3: reads x\[\d+\], which has 300 words"):
        probe(unguarded, count=300, round_up=True)


def test_the_seed_decides_the_order():
    # Every thread is at fault; the one that runs first is reported.
    def first(seed):
        with refused(r"reads x\[") as raised:
            probe(replace(COPY, "x[i]", "x[i + 1000]"), seed=seed)
        return str(raised.value)

    found = [first(seed) for seed in range(4)]
    assert len(set(found)) > 1 and found == [first(seed) for seed in range(4)]


def test_both_lines_of_a_race_are_named():
    with refused("race") as raised:
        probe(replace(EXCHANGE, "GROUP_BARRIER();\n  tile[l]", "tile[l]"))
    lines = {int(line) for line in re.findall(r"probe\.metal:(\d+)", str(raised.value))}
    number = EXCHANGE.split("\n").index("  uint next = tile[(l + 1) & 63];") + 1
    assert lines == {number, number + 1}


def test_every_word_of_the_dialect_is_here():
    def defined(*headers):
        text = "".join(dialect(name) for name in headers)
        found = re.findall(r"^(?:#define|struct) (\w+)|^typedef .*?(\w+);|^[\w ]+?[&*]? (\w+)\(", text, re.MULTILINE)
        return {word for match in found for word in match if word}

    check = defined(*(path.name for path in (FOLDER / "dialect").glob("cpu_check*.h")))
    words_of_metal = defined("metal.h")
    assert {"THREADGROUP_ARRAY", "wide_reduce", "Quad", "load_quad", "lane_index"} <= words_of_metal
    assert words_of_metal - check == set()


# Real kernels


def metal(name: str) -> str:
    return (FOLDER / f"{name}.metal").read_text(encoding="utf-8")


def tree(device, rows):
    return operation("tree_layers")(device, rows, levels=4, sponge=False)


RNG = np.random.default_rng(1)
CALLS = {
    "montgomery": (operation("to_montgomery", "montgomery"), (words(RNG, 300),), {}),
    "ntt": (operation("ntt"), (words(RNG, 512, 16),), {"log_rows": 9}),
    "tree_layers": (tree, (words(RNG, 64, 8),), {}),
    "gather_rows": (operation("gather_rows"), (words(RNG, 5, 4), np.array([4, 0, 1], np.uint32)), {}),
    "eq_table": (operation("eq_table"), (words(RNG, 4, 4),), {}),
    "sumcheck_round": (operation("sumcheck_round"), (words(RNG, 64, 4), words(RNG, 64, 4)), {"log_stride": 2}),
    "ext_arithmetic": (operation("ext_mul", "ext_arithmetic"), (np.full((2, 4), 0x78000000, np.uint32),) * 2, {}),
}
MUTATIONS = {
    "montgomery: next word": ("montgomery", "(x[i], factor)", "(x[i + 1], factor)", r"reads x\[300\]"),
    "montgomery: first word left out": (
        "montgomery",
        "out[i] = field",
        "if (i > 0) out[i] = field",
        r"no thread writes output out\[0\]",
    ),
    "ntt: no barrier after a step": (
        "ntt",
        "    if (!last) GROUP_BARRIER();",
        "",
        r"(race: (reads|writes) tile|reads tile\[\d+\] before)",
    ),
    "ntt: barrier of some threads": (
        "ntt",
        "    if (!last) GROUP_BARRIER();",
        "    if (!last && (taken > 0 || thread_position_in_threadgroup.x < 1)) GROUP_BARRIER();",
        r"barrier|reads tile\[\d+\] before",
    ),
    "ntt: tile too small": (
        "ntt",
        "(tile, TILE_WORDS)",
        "(tile, 511)",
        r"tile\[511\], which has 511 words",
    ),
    "tree_layers: no barrier": (
        "tree_layers",
        "    GROUP_BARRIER();",
        "",
        "race: reads digests|reads digests.* before",
    ),
    "tree_layers: no guard": ("tree_layers", "node < uint(count), out", "node < uint(2 * count), out", "writes out"),
    "gather_rows: row too far": (
        "gather_rows",
        "int(indices[q])",
        "(int(indices[q]) + 1)",
        r"reads x\[2[0-3]\], which has 20",
    ),
    "eq_table: coordinate too far": (
        "eq_table",
        "x = load_quad(point, j);",
        "x = load_quad(point, j + 1);",
        r"eq_table.metal:\d+: reads point\[16\]",
    ),
    "sumcheck_round: shares overlap": (
        "sumcheck_round",
        "store_share(shares, share + 1, ",
        "store_share(shares, share, ",
        "no thread writes|race: writes shares|writes shares",
    ),
}


@pytest.mark.parametrize("kernel", CALLS)
def test_real_kernels_run(kernel):
    function, arrays, keywords = CALLS[kernel]
    assert np.array_equal(
        function(device(kernel, metal(kernel)), *arrays, **keywords), function(get_device("numpy"), *arrays, **keywords)
    )


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_kernel(mutation):
    kernel, old, new, message = MUTATIONS[mutation]
    function, arrays, keywords = CALLS[kernel]
    with refused(message):
        function(device(kernel, replace(metal(kernel), old, new)), *arrays, **keywords)


def test_wrong_reduction_in_a_header(monkeypatch):
    # Sums of four products need wide_reduce_4; with the largest words the check build sees the bound passed.
    from whir_mlx.kernels.targets import cpu_check

    read = cpu_check.read_header
    monkeypatch.setattr(cpu_check, "read_header", lambda name: read(name).replace("wide_reduce_4(", "wide_reduce("))
    function, arrays, keywords = CALLS["ext_arithmetic"]
    with refused("ext.h:.* not below 2\\^32 p"):
        function(device("ext_arithmetic", metal("ext_arithmetic") + "\n"), *arrays, **keywords)


def test_narrow_simd_groups():
    # The text hands words over among sixteen lanes: a GPU with narrower SIMD groups is refused, not answered wrongly.
    function, arrays, _ = CALLS["tree_layers"]
    with refused("of a SIMD group of 8"):
        function(get_check_device(simd_width=8), *arrays)


@pytest.mark.parametrize("seed, round_up, tuning", [(0, False, "metal"), (7, True, "cuda")])
@pytest.mark.parametrize("name", ["suffix_n10_k4_johnson", "prefix_tables"])
def test_whole_proofs(name, seed, round_up, tuning):
    # Every kernel of commit and open, launched as the prover does, number for number with the crate.
    case, checked = load_proof(name), get_check_device(seed, 32, round_up, tuning)
    data = commit(case.args, case.arguments, checked)
    assert read_commitment(data) == case.commitment
    assert open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof
