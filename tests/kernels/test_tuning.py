"""The tuning table: an entry for every target, Apple families by MLX's architecture names; no entry passes what its
hardware allows, or changes a proof."""

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers import load_proof
from tests.kernels.cuda_emulator import EmulatedCuda
from tests.proving import commit
from whir_mlx.field.constants import P
from whir_mlx.kernels.device import NAMES, get_device
from whir_mlx.kernels.sumcheck_rest import MOST_VALUES
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.kernels.tree_layers import MOST_LEVELS
from whir_mlx.kernels.tuning import TUNING, apple_family, check_tuning, tuning_for
from whir_mlx.protocol.merkle import commit_rows
from whir_mlx.protocol.merkle_config import tree_config
from whir_mlx.protocol.prover import open_proof

ENTRIES = pytest.mark.parametrize("key", TUNING, ids=str)


def test_every_target_has_an_entry_without_a_family():
    assert {target for target, family in TUNING if family is None} == set(NAMES)
    assert tuning_for("metal", "apple11") is tuning_for("metal")  # a chip newer than the table


@ENTRIES
def test_entries_are_filed_under_their_own_name(key):
    assert (TUNING[key].target, TUNING[key].family) == key


@pytest.mark.parametrize(
    ("architecture", "family"),
    [
        ("applegpu_g13g", "apple7"),
        ("applegpu_g13d", "apple7"),
        ("applegpu_g14s", "apple8"),
        ("applegpu_g15s", "apple9"),
        ("applegpu_g16g", "apple9"),
        ("applegpu_g17g", "apple10"),
        ("applegpu_g99g", None),
        ("sm_90", None),
        ("", None),
    ],
)
def test_families_by_architecture(architecture, family):
    assert apple_family(architecture) == family
    assert family is None or ("metal", family) in TUNING


@ENTRIES
def test_entries_keep_the_hardwares_limits(key):
    """32 KB of threadgroup memory, 1,024 threads a group, powers of two where kernels split by them."""
    entry = TUNING[key]
    across, along = entry.tile_threads
    assert 4 * entry.tile_words <= 32768 and across * along <= entry.group_threads <= 1024
    powers = (entry.tile_words, entry.tile_lanes, entry.sum_threads, entry.group_threads, entry.fold_rows)
    assert all(x > 0 and x & (x - 1) == 0 for x in powers)
    # Kernels know of 32 SIMD groups at most, and sumcheck_rest of values that one group takes in a reasonable time.
    assert entry.rest_threads in (0, 256, 512, 1024) and entry.rest_values <= MOST_VALUES
    assert entry.tree_threads in (256, 512, 1024) and entry.tree_levels <= MOST_LEVELS
    if entry.cooperative_bits:
        powers = (entry.cooperative_candidates, entry.cooperative_groups)
        assert all(x > 0 and x & (x - 1) == 0 for x in powers) and entry.cooperative_candidates >= 2
    # At least one level a pass, and a group's lanes within a tile's.
    assert across <= entry.tile_lanes < entry.tile_words
    if key[0] == "metal":
        assert 0 < entry.window_permutations <= 1 << 21
    if key[0] in ("metal", "cuda"):
        assert (
            entry.group_threads % 32 == 0
            and entry.least_groups >= 1
            and all(x and x % 256 == 0 for x in entry.search_threads)
        )


def test_the_check_build_takes_tiles_of_the_gpu_and_threads_of_the_cpu():
    for target in ("metal", "cuda"):
        entry, gpu, cpu = check_tuning(target), tuning_for(target), tuning_for("cpu")
        assert (entry.target, entry.tile_threads, entry.sum_threads) == (target, gpu.tile_threads, cpu.sum_threads)
        assert entry.window_permutations == gpu.window_permutations


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
def test_an_apple_entry_makes_the_same_proof():
    # On the emulated GPU, which runs the same texts: launches are cut as on that chip, the numbers are the crates'.
    device = EmulatedCuda()
    device.tuning = tuning_for("metal", "apple7")
    case = load_proof("suffix_n10_k4_johnson")
    assert open_proof(commit(case.args, case.arguments, device), case.arguments["schedule"]) == case.proof


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
def test_launches_follow_the_table():
    """A table with other numbers gives other launches, and the same proof: small tiles, layers and rounds one a
    launch, and 10 bits of grinding by sixteen lanes or by threads."""
    case, sizes = load_proof("suffix_n10_k4_johnson"), []
    few = {"tile_words": 64, "cooperative_rows": 0, "sum_threads": 64, "search_threads": (256, 256), "rest_values": 0}
    for changes in ({"cooperative_bits": 10}, {**few, "cooperative_bits": 9}):
        device = EmulatedCuda()
        device.tuning = replace(device.tuning, **changes)
        launched = []
        launch = device.launch
        device.launch = lambda name, *a, launch=launch, launched=launched, **k: (
            launched.append(name) or launch(name, *a, **k)
        )
        assert open_proof(commit(case.args, case.arguments, device), case.arguments["schedule"]) == case.proof
        names = ("ntt", "tree_layers", "grind_sixteen", "grind", "sumcheck_rest", "sumcheck_fold")
        sizes.append([launched.count(name) for name in names])
    ntt, tree, sixteen, threads, rest, fold = zip(*sizes)
    assert ntt[1] > ntt[0] and tree[0] > tree[1] == 0
    assert sixteen[0] == threads[1] > 0 and sixteen[1] == threads[0] == 0
    assert (rest, fold) == ((2, 0), (0, 2))


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
@pytest.mark.parametrize(
    ("tree", "height", "width", "four"),
    [("w16", 32, 32, 1), ("w16", 64, 40, 1), ("w16", 16, 40, 0), ("w16", 128, 40, 0), ("w16", 64, 31, 0)]
    + [("ary4", 64, 40, 1), ("w24", 64, 40, 0)],
)
def test_wide_rows_that_are_few_take_four_lanes(tree, height, width, four):
    """From 32 words, at both ends of the table's range and past them; any tree of that sponge."""
    device, launched = EmulatedCuda(), []
    device.tuning = replace(device.tuning, four_lane_rows=(32, 64))
    launch = device.launch
    device.launch = lambda name, *a, **k: launched.append(name) or launch(name, *a, **k)
    rows = np.random.default_rng(height + width).integers(0, P, (height, width), dtype=np.uint32)
    made = commit_rows(device, tree_config(tree), device.asarray(rows))
    assert launched.count("hash_rows_four") == four
    reference = commit_rows(get_device("numpy"), tree_config(tree), rows)
    for mine, theirs in zip(made.layers, reference.layers, strict=True):
        assert device.numpy(mine).tolist() == theirs.tolist()
