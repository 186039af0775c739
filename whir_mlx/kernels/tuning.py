"""Numbers that belong to a device: how its launches are cut, by target and, on Apple GPUs, by family.

Whatever a wrapper chooses by device stands here, with the reason beside it; limits that no device may pass (CUDA's
grids) stay with the target. Nothing here changes a result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

__all__ = ["TUNING", "Tuning", "apple_family", "check_tuning", "tuning_for"]


@dataclass(frozen=True)
class Tuning:
    """Launch shapes of one kind of device.

    tile_words, tile_lanes, tile_least_lanes, tile_threads: of a transform's pass: words of threadgroup memory, lanes a
    tile at most, and at least where that saves a pass, threads along lanes and butterflies. The words and lanes
    together are the radix split: levels a pass are log2(tile_words / lanes). wide_columns: lanes are columns where rows
    are a multiple of so many, else neighbouring words, narrow_lanes of them at most (at least tile_lanes, which the
    last pass takes), and fewer where there would not be narrow_groups groups. tile_direct: whether a pass reads and
    writes its rows as its butterflies need them, or copies tiles as a whole.
    group_threads: a group of independent threads, at most; smaller ones, down to 32, where there would be fewer than
    least_groups. sum_threads: threads that share one sum, at most.
    fold_short_row: a row this short is summed by one thread, and so is any row where there are fold_many_rows.
    fold_least_rows to fold_rows: rows summed by one thread before the shares are added, the more the more values there
    are for each of fold_threads; the fewest of them is also what a thread makes of a table of query powers.
    eq_log_each: log2 of the entries of an eq table that a thread makes. direct_variables: a table of more variables is
    the outer product of several. search_threads: of a grind, at least and at most (0: the
    pool's); half the expected candidates in between. search_reach: candidates of a search that cannot be asked
    whether it found something, as a multiple of the expected number (0: all). window_permutations: permutations of
    width 16 in one dispatch (0: no limit). fused_leaf_rows: rows from which a thread hashes four of them and their
    parents. cooperative_rows: up to so many rows, or nodes of a layer, sixteen lanes make a permutation together (0:
    never), in groups of tree_threads at most that go on for tree_levels layers. cooperative_bits: of a grind, up to so
    many bits sixteen lanes make a candidate (0: never), cooperative_candidates a step at most, in cooperative_groups
    groups (0: groups are SIMD groups).
    four_lane_rows: so many wide rows, at least and at most, are hashed by four lanes each (0: none).
    rest_values: where so many values or fewer are left of a sumcheck without grinding, the rest of its rounds is one
    launch (0: never), of one group of rest_threads at most. draw_values: where so many values or fewer are left of one
    with grinding, folds draw their challenges themselves (0: never), in groups of draw_threads at most.
    wake_nanoseconds: work from which waking a pool of host threads pays.
    """

    target: str
    family: str | None = None
    tile_words: int = 4096
    tile_lanes: int = 16
    wide_columns: int = 1
    narrow_lanes: int = 0
    narrow_groups: int = 0
    tile_direct: bool = False
    tile_least_lanes: int = 16
    tile_threads: tuple[int, int] = (1, 1)
    group_threads: int = 256
    least_groups: int = 1
    sum_threads: int = 64
    fold_short_row: int = 64
    fold_many_rows: int = 1 << 14
    fold_rows: int = 256
    fold_least_rows: int = 256
    fold_threads: int = 1
    eq_log_each: int = 0
    direct_variables: int = 6
    search_threads: tuple[int, int] = (0, 0)
    search_reach: int = 0
    window_permutations: int = 0
    fused_leaf_rows: int = 4
    cooperative_rows: int = 0
    tree_threads: int = 256
    four_lane_rows: tuple[int, int] = (0, 0)
    tree_levels: int = 4
    rest_values: int = 0
    rest_threads: int = 0
    draw_values: int = 0
    draw_threads: int = 0
    cooperative_bits: int = 0
    cooperative_candidates: int = 0
    cooperative_groups: int = 0
    wake_nanoseconds: float = 0.0

    def threads_a_group(self, threads: int) -> int:
        """Of so many independent threads: a power of two, 32 or more."""
        each = max(32, threads // self.least_groups)
        return min(self.group_threads, 1 << each.bit_length() - 1)


_CPU = Tuning(
    "cpu",
    # 16 KB: half of a core's 32 KB first-level cache. 16 lanes make 64-byte rows, a cache line.
    tile_words=4096,
    tile_lanes=16,
    # A group is one vector of threads, so its size is not ours to choose.
    tile_threads=(1, 1),
    # A few vectors a core; more shares cost more to add than they balance.
    sum_threads=64,
    # Products past 2^6 entries cost more than a second launch of some 10 us.
    direct_variables=6,
    # The host sees what a search found: it searches on, and its threads are the pool's.
    search_threads=(0, 0),
    search_reach=0,
    # A pool's worker that sleeps wakes in some 50 us.
    wake_nanoseconds=50_000.0,
)

_GPU = replace(
    _CPU,
    # 16 KB of threadgroup memory, so that two groups share the 32 KB of a core of an Apple GPU; 16 lanes by 16
    # butterflies are 256 threads.
    tile_threads=(16, 16),
    # A sector of 32 bytes, and a line of 128.
    wide_columns=8,
    narrow_lanes=32,
    # Of a pass of 8 levels that saves four of six accesses to threadgroup memory a word, and two barriers of three. (On
    # CPUs it costs a tenth: 16 rows that are a power of two apart share few places of a first-level cache.)
    tile_direct=True,
    # Safe on every Apple GPU however many registers a kernel takes (the worst case is granted 384), and enough for
    # NVIDIA.
    group_threads=256,
    # 128 SIMD groups: enough to read at full bandwidth, and 4 shares a lane for the SIMD group that adds them up.
    sum_threads=4096,
    # A thread waits some 0.6 us for each four of its rows (H200): few rows where values are few.
    fold_least_rows=16,
    fold_threads=1 << 16,
    # 2^3 entries share n - 3 factors and as many squarings of a challenge: some 5 products an entry, which a GPU that
    # is full at 2^14 threads feels only past 2^18 entries.
    eq_log_each=3,
    direct_variables=18,
    # All of 32 times the expected number miss once in e^32 proofs, and the host sees it.
    search_reach=32,
    # Four rows a thread leave a GPU idle where there are few: a row of 64 words is 8 permutations, four are 35 in a
    # row. 2^18 rows are 2^16 threads.
    fused_leaf_rows=1 << 18,
    wake_nanoseconds=0.0,
)

# Measured on one NVIDIA H200 (sm_90).
_CUDA = replace(
    _GPU,
    target="cuda",
    # One for each of 132 cores: 2^14 rows of 64 words in groups of 256 lie on 64 cores, two SIMD groups for each of
    # their schedulers, and take 95 us; on all cores, a SIMD group for each scheduler, 73.
    least_groups=128,
    # 32 KB, so that three groups share a core; with 8 lanes, a sector of 32 bytes each, a pass takes 10 levels and 2^20
    # rows two passes (16 columns: 0.27 ms against 0.42 in three passes of 16 KB).
    tile_words=8192,
    tile_least_lanes=8,
    # As many as there are cores.
    narrow_groups=132,
    # Few rows leave most of a GPU idle, so that a thread a row takes the time of one thread, which needs five times as
    # long for a permutation as sixteen lanes. An H200 runs the groups of 2^13 rows at once (100 us against 60 for 2^12
    # leaves of 64 words and four layers more).
    cooperative_rows=1 << 13,
    # 2^12 rows of 64 words take 30 us (by sixteen lanes 43, but their layers then in the same launch), 2^13 40 (79, by
    # a thread each 72), 2^14 67 (by a thread each 73), 2^15 122 (96).
    four_lane_rows=(1 << 12, 1 << 14),
    # 64 rows a group at once, so that two launches reach the root where four layers a launch take three.
    tree_threads=1024,
    tree_levels=6,
    # A round's two launches take the host some 20 us; one group takes some 5 us, and 1 us for each 2^10 values
    # (estimated from its instructions).
    rest_values=1 << 13,
    # Its 100 registers a thread allow 512 threads, no more. SIMD groups without a pair skip a round.
    rest_threads=512,
    # 2^14 threads, each with a pair of the folded values, are 64 groups: one a core, which draw at the same time.
    draw_values=1 << 16,
    draw_threads=256,
    # The step in which a witness turns up is lost to the threads behind it. 2^14 threads, one a lane, take 10 us a
    # step; a group of 1,024 on each of 132 cores takes 39 us.
    search_threads=(1 << 14, 132 << 10),
    # 2^12 sixteens are four SIMD groups for each of a core's schedulers, as many as one permutation's waiting hides;
    # 2^7 groups are one for each of 132 cores. With more bits the work tells, a third of it with a thread a candidate.
    cooperative_bits=13,
    cooperative_candidates=1 << 12,
    cooperative_groups=1 << 7,
)

_METAL = replace(
    _GPU,
    target="metal",
    # macOS stops a GPU that is busy for too long while a display is active; the budget is undocumented, others stay
    # below 100 ms. 2^21 permutations are some 60 ms on an M1, at a published Metal prover's rate.
    window_permutations=1 << 21,
    # The 8 cores of the smallest chips hold some 2^9 sixteens at once.
    cooperative_rows=1 << 10,
    # Reasoned, untested: 2^11 rows are 8 SIMD groups for each of 32 schedulers.
    four_lane_rows=(1 << 11, 1 << 11),
    # Reasoned, untested: one core of an M1 folds 2^11 values and multiplies them in some 3 us, the time of one
    # permutation; each further round has half of them.
    rest_values=1 << 11,
    rest_threads=256,
    # A group for each of 8 cores.
    draw_values=1 << 13,
    draw_threads=256,
    # 2^13 threads fill 8 cores of 128 lanes eight times over.
    search_threads=(1 << 13, 1 << 15),
    # The same sixteens, some 30 us a step on 8 cores, where 2^13 threads take 160 us: 2^10 candidates are two steps and
    # one in vain.
    cooperative_bits=10,
    cooperative_candidates=1 << 9,
    cooperative_groups=1 << 7,
)

# None of the Apple entries was run on such a chip. All have SIMD groups of 32, 32 KB of threadgroup memory a group and
# 1,024 threads a group at most, so tiles and groups are the same; what differs is how many threads fill a chip.
# A core has some 208 KB of registers, so that about 1,000 threads of a Poseidon2 kernel (50 registers) are resident:
# 8 to 10 cores of a plain chip are full at 2^14 threads, which hash 2^16 rows four a thread.
_APPLE = replace(_METAL, fused_leaf_rows=1 << 16)

TUNING: dict[tuple[str, str | None], Tuning] = {
    ("cpu", None): _CPU,
    ("numpy", None): replace(_CPU, target="numpy"),  # no launches; only its windows are asked for
    ("cuda", None): _CUDA,
    ("metal", None): _METAL,  # no family known: a trace, or a chip newer than this table
    # M1, 8 cores and up at 1.28 GHz: the slowest, so its windows are everybody's.
    ("metal", "apple7"): replace(_APPLE, family="apple7"),
    # M2: the same core, 10% faster: windows of 2^21 are some 45 ms.
    ("metal", "apple8"): replace(_APPLE, family="apple8"),
    # M3, M4: registers, threadgroup memory and cache share one store that is allotted while a kernel runs, so spills
    # and occupancy matter less; windows would hold twice the work, which saves 3 us in 60 ms: not worth a change.
    ("metal", "apple9"): replace(_APPLE, family="apple9"),
    # M5: as apple9; its matrix units do no integer products of 32 bits.
    ("metal", "apple10"): replace(_APPLE, family="apple10"),
}
"""By (target, family)."""

_GENERATIONS = {13: "apple7", 14: "apple8", 15: "apple9", 16: "apple9", 17: "apple10"}


def apple_family(architecture: str) -> str | None:
    """Apple's GPU family by MLX's architecture name (applegpu_g13g: apple7); None for one that is not known."""
    found = re.match(r"applegpu_g(\d+)", architecture)
    return _GENERATIONS.get(int(found.group(1))) if found else None


def tuning_for(target: str, family: str | None = None) -> Tuning:
    """The entry of a target and family; that of the target alone where the family has none."""
    return TUNING.get((target, family)) or TUNING[target, None]


def check_tuning(target: str) -> Tuning:
    """For the check build, which runs threads one at a time: a GPU's tiles, tables and windows, a CPU's number of
    threads."""
    tuning = tuning_for(target)
    return replace(
        tuning_for("cpu"),
        target=target,
        tile_words=tuning.tile_words,
        tile_lanes=tuning.tile_lanes,
        tile_least_lanes=tuning.tile_least_lanes,
        wide_columns=tuning.wide_columns,
        narrow_lanes=tuning.narrow_lanes,
        narrow_groups=tuning.narrow_groups,
        tile_direct=tuning.tile_direct,
        tile_threads=tuning.tile_threads,
        group_threads=tuning.group_threads,
        least_groups=tuning.least_groups,
        window_permutations=tuning.window_permutations,
        cooperative_rows=tuning.cooperative_rows,
        tree_threads=tuning.tree_threads,
        four_lane_rows=tuning.four_lane_rows,
        tree_levels=tuning.tree_levels,
        rest_values=tuning.rest_values,
        rest_threads=tuning.rest_threads,
        draw_values=tuning.draw_values,
        draw_threads=tuning.draw_threads,
        eq_log_each=tuning.eq_log_each,
        direct_variables=tuning.direct_variables,
        search_threads=tuning.search_threads,
        # Lanes that hand words over take the host a thousand times longer: few bits, in steps of few candidates.
        cooperative_bits=min(tuning.cooperative_bits, 4),
        cooperative_candidates=min(tuning.cooperative_candidates, 32),
        cooperative_groups=min(tuning.cooperative_groups, 4),
    )
