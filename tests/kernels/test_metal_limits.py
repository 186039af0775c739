"""Apple's limits: of every text and launch that the package can ask of Metal, and paper estimates of its time there.

The launches of whole proofs up to 2^24 are traced, which computes nothing; limits and estimates are in metal_limits.py
and whir_mlx/kernels/estimates.py.
"""

import re
from copy import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.kernels.metal_clang import CLANG, on_all_cores
from tests.kernels.metal_launches import Launch, base_name, collected, texts
from tests.kernels.metal_limits import (
    CACHED_INSTRUCTIONS,
    GROUP_THREADS,
    REGISTERS,
    launch_faults,
    machine_code,
    text_faults,
)
from tests.kernels.metal_tables import (
    DOCUMENT,
    TABLES,
    clang_version,
    proof_milliseconds,
    specialised_texts,
    table_in,
)
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.dispatch_limits import dispatch_windows
from whir_mlx.kernels.estimates import CHIPS, kernel_seconds, thread_cycles
from whir_mlx.kernels.targets.cpu_check import get_check_device
from whir_mlx.kernels.targets.gpu import GpuDevice
from whir_mlx.kernels.text import FOLDER


def test_texts_keep_the_limits():
    for name, text in texts().items():
        assert text_faults(text) == [], base_name(name)


def test_launches_keep_the_limits():
    """Groups of at most 256 threads, grids below 2^31, and no dispatch over 100 ms on an M1 at a published prover's
    rate."""
    launches, _ = collected()
    assert {"S 2^27", "S 2^24 ary4", "S 2^24 w24"} <= {launch.label for launch in launches}
    assert sorted({fault for launch in launches for fault in launch_faults(launch)}) == []


def test_groups_are_within_limits():
    """As MLX is told: 256 threads at most, as every Apple GPU grants whatever the registers; one at least."""
    for label, kernel in collected()[1]:
        x, y, z = kernel.group
        assert 1 <= x * y * z <= GROUP_THREADS, (label, kernel.group)
        assert all(1 <= extent < 2**31 for extent in kernel.grid), (label, kernel.grid)


def test_whole_groups_where_threads_work_together():
    """Metal shrinks the last group, where a barrier would wait and a shuffle would read nothing."""
    seen = set()
    for label, kernel in collected()[1]:
        body = kernel.source[kernel.source.rindex("[[kernel]]") :]
        name = base_name(kernel.name)
        if "GROUP_BARRIER" in body or re.search(
            r"simd_|challenger_|shuffle", body.replace("thread_index_in_simdgroup", "")
        ):
            seen.add(name)
            unit = kernel.group if "GROUP_BARRIER" in body else (32, 1, 1)
            assert all(extent % size == 0 for extent, size in zip(kernel.grid, unit)), (
                label,
                name,
                kernel.grid,
                kernel.group,
            )
            x, y, z = kernel.group
            assert x * y * z % 32 == 0 or ("GROUP_BARRIER" in body and "simd" not in body), (label, name, kernel.group)
    assert {"ntt", "tree_layers", "challenge", "sumcheck_rest"} <= seen


@pytest.mark.parametrize("log_rows", [21, 24])
def test_sizes_past_2_31_are_refused(log_rows):
    """32-bit indices count words: an array of 2^31 of them, 8 GB, is refused before MLX or a kernel sees it."""
    device = GpuDevice("metal", trace=True)
    with pytest.raises(ValueError, match=r"fewer than 2\^31 words"):
        device.launch(
            "montgomery", (1,), [], [(1 << log_rows, 1 << (31 - log_rows))], grid=(1, 1, 1), values={"TO_MONTGOMERY": 1}
        )


@pytest.mark.skipif(CLANG is None, reason="no clang that knows AMD GPUs is installed")
def test_registers_and_instructions():
    """Estimated by another GPU's compiler (metal_limits.py): no spills at 256 threads a group, loops that fit the
    cache.

    The transform's one loop holds radix 2, 4, 8 and 16; a group runs through one of them at a time, the largest of some
    1,300 instructions, so twice the cache is allowed there.
    """
    chosen = specialised_texts()
    for (name, _), code in zip(chosen, on_all_cores(machine_code, chosen.values())):
        assert code.spilled == 0 and code.registers <= REGISTERS, (name, code)
        assert 0 < code.instructions and code.loop <= (2 if name == "ntt" else 1) * CACHED_INSTRUCTIONS, (name, code)


def test_every_kernel_has_an_estimate():
    for path in FOLDER.glob("*.metal"):
        size, values = (8,) * 8, {"WIDTH": 16, "ARITY": 2, "OPERATION": 2, "EXT": 1}
        if path.stem == "grind":
            size = (1 << 18, 20, 0, 8)
        assert thread_cycles(path.stem, size, values) >= 0


def test_estimates_of_kernels_against_published_numbers():
    """M1, 8 cores: 36 M permutations/s and 0.7e9 transformed elements/s are published; the aim is 70 M and 2.3 to
    3.4e9."""
    count = 1 << 20

    def rate(floor):
        return count / kernel_seconds(CHIPS["M1"], "poseidon2", (count,), {"WIDTH": 16}, count, 32 * count, floor=floor)

    assert rate(True) == pytest.approx(36e6, rel=0.05) and rate(False) == pytest.approx(70e6, rel=0.05)
    passes = 2 * kernel_seconds(CHIPS["M1"], "ntt", (19, 16, 19, 10, 1, 16, 1, 0), {}, 1, 2 * 16 << 19)
    assert 1.5e9 < (16 << 19) / passes < 4e9


@pytest.mark.parametrize(("chip", "milliseconds"), [("M1", 50), ("M3 Max", 10), ("M4 Max", 9), ("M5", 31)])
def test_estimate_of_a_proof(chip, milliseconds):
    """2^22 of shape S, counted launch by launch, against an estimate made from the work alone."""
    assert proof_milliseconds("S 2^22", chip) == pytest.approx(milliseconds, rel=0.3)


# Splitting


@pytest.mark.parametrize("count", [1, 255, 256, 257, 10_000, 1 << 21, (1 << 21) + 1, 5 << 20])
@pytest.mark.parametrize("permutations", [1, 3.2, 11, 1 << 22])
def test_windows_cover_everything_once(count, permutations):
    windows = list(dispatch_windows(GpuDevice("metal", trace=True), count, permutations))
    assert windows[0][0] == 0 and windows[-1][1] == count
    assert all(a[1] == b[0] for a, b in pairwise(windows))
    assert all((end - first) * permutations <= 1 << 21 or end - first <= 256 for first, end in windows)
    assert all((end - first) % 256 == 0 for first, end in windows[:-1])
    assert list(dispatch_windows(get_device("numpy"), count, permutations)) == [(0, count)]


@pytest.mark.parametrize("name", ["hash_rows", "hash_leaves", "compress", "poseidon2"])
def test_split_launches_give_the_same(name, monkeypatch):
    """With windows of 256 threads, 600 of them take three launches on the check build with Metal's shapes."""
    from importlib import import_module

    from tests.kernels.conftest import make_target

    make_target("check")
    launched = []
    device = copy(get_check_device())
    device.tuning = replace(device.tuning, window_permutations=256)
    launch = type(device).launch
    monkeypatch.setattr(type(device), "launch", lambda self, *a, **k: launched.append(a[0]) or launch(self, *a, **k))
    rng = np.random.default_rng(3)
    shape = {"hash_rows": (600, 9), "hash_leaves": (2400, 5), "compress": (1200, 8), "poseidon2": (600, 16)}[name]
    keywords = {"hash_rows": {"rate": 8}, "compress": {"arity": 2}}.get(name, {})
    x = rng.integers(0, 15 * 2**27 + 1, shape, dtype=np.uint32)
    function = getattr(import_module(f"whir_mlx.kernels.{name}"), name)
    got, expected = function(device, x, **keywords), function(get_device("numpy"), x, **keywords)
    assert launched == [name] * 3
    for a, b in zip(got, expected) if name == "hash_leaves" else [(got, expected)]:
        assert np.array_equal(a, b)


# The tables of docs/metal.md


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_the_document_are_current(name):
    """Else: `python -m tests.kernels.metal_tables`."""
    table = table_in(DOCUMENT.read_text(encoding="utf-8"), name)
    if name == "code":
        if CLANG is None:
            pytest.skip("no clang that knows AMD GPUs is installed")
        if clang_version() not in table:
            pytest.skip(f"the table is another clang's, not {clang_version()}'s")
    assert table == TABLES[name]()


def test_limits_bite():
    """33 KB, 1,024 threads and a dispatch that is too long are found."""
    ntt = next(text for name, text in texts().items() if base_name(name) == "ntt")
    assert (
        "threadgroup arrays of 33792 bytes"
        in text_faults(re.sub(r"#define TILE_WORDS \d+", "#define TILE_WORDS 8448", ntt))[0]
    )
    slow = Launch("", "poseidon2", (1 << 22,), (("WIDTH", 16),), 1 << 22, 1024, 1 << 26)
    assert len(launch_faults(slow)) == 2
