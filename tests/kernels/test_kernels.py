"""Every operation against its NumPy twin, on every target (see conftest.py), at sizes around its wrapper's switches.

The twins are tested against plain integers and the crates' numbers in `test_reference*.py`.
"""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.conftest import TARGETS
from tests.kernels.operation_cases import (
    LARGE_OPENINGS,
    SMALL_OPENINGS,
    Case,
    challenge_state,
    climb_cases,
    draw_cases,
    draw_fold,
    elementwise_cases,
    fold_cases,
    hash_cases,
    ntt_cases,
    operation,
    rest_cases,
    table_cases,
    transcript_cases,
    words,
)
from whir_mlx.field.numpy_field import montgomery_word
from whir_mlx.kernels.device import CpuDevice, get_device
from whir_mlx.kernels.ext_sum import ext_sum
from whir_mlx.kernels.targets import cpu
from whir_mlx.kernels.targets.cpu_check import get_check_device
from whir_mlx.kernels.tree_layers import tree_layers

P = 15 * 2**27 + 1

# Vectors are 4, 8 or 16 threads, SIMD groups 32, a GPU's groups 256: below, at and above each; primes; 2^k + 1.
COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1009, 1025)


def ntt_sizes(rng) -> list[Case]:
    cases = [
        # One step of radix 2, 4, 8, 16; then 16 and a rest. Widths below, at and above a vector, no multiples too.
        *ntt_cases(rng, (1, 2, 3, 4, 5, 6), (1, 2, 3, 8, 9, 16)),
        # 4096 words a tile: 16 lanes fit 2^8 rows, 8 lanes 2^9; one pass, then two.
        *ntt_cases(rng, (8, 9), (16,)),
        *ntt_cases(rng, (9, 10), (8,)),
        # One column: on a GPU one lane of up to 2^12 rows; on the CPU 16 words side by side, up to 2^8 rows.
        *ntt_cases(rng, (8, 9, 12, 13), (1,)),
        # 24 columns are 3 blocks of 8 lanes; 17 and 5 leave single lanes.
        *ntt_cases(rng, (7,), (24, 17, 5)),
    ]
    for log_input in range(10):  # zero padding by every power of two: a constant, one pass, ...
        call = partial(operation("ntt"), log_rows=9)
        for width in (3, 8):
            cases.append(Case(f"ntt 2^{log_input} rows to 2^9x{width}", call, (words(rng, 1 << log_input, width),)))
    return cases


def reduction_sizes(rng) -> list[Case]:
    """64 shares on a CPU, 4096 on a GPU: fewer items than shares, as many, more; odd counts leave one share."""
    cases = []
    for pairs in (1, 2, 3, 31, 32, 63, 64, 65, 96, 128, 257, 512):
        f, w = words(rng, 2 * pairs, 4), words(rng, 2 * pairs, 4)
        cases.append(Case(f"dot {2 * pairs}", operation("dot"), (f, w)))
        for stride in (s for s in range(7) if 2 * pairs % (2 << s) == 0):
            cases.append(
                Case(
                    f"round {pairs} stride 2^{stride}", partial(operation("sumcheck_round"), log_stride=stride), (f, w)
                )
            )
            call = partial(operation("sumcheck_fold"), log_stride=stride)
            cases.append(Case(f"fold {pairs} stride 2^{stride}", call, (f, w, words(rng, 4))))
    return cases


def table_sizes(rng) -> list[Case]:
    """On the CPU up to 6 coordinates are one table, 7 and 13 the product of two and three; queries by fours: 0 to 9."""
    cases = table_cases(rng, (1, 2, 3, 6, 7, 8))
    cases += [Case(f"eq_table {n}", operation("eq_table"), (words(rng, n, 4),)) for n in (0, 1, 5, 6, 7, 12, 13)]
    for lengths in ((1,), (0, 2), (2, 0), (4, 12), (13, 7), (3, 3, 3)):
        call = partial(operation("eq_tables", "eq_table"), lengths=lengths)
        cases.append(Case(f"eq_tables {lengths}", call, (words(rng, 4),)))
        cases.append(Case(f"eq_tables {lengths} of a point", call, (words(rng, sum(lengths), 4),)))
    for queries in (1, 3, 4, 5, 9):
        for variables in (0, 1, 5):
            call = partial(operation("query_weights"), log_domain=7)
            w, ood = words(rng, 1 << variables, 4), words(rng, queries % 3, 1 << variables, 4)
            indices = rng.integers(0, 1 << 7, queries, dtype=np.uint32)
            cases.append(Case(f"weights 2^{variables}, {queries} queries", call, (w, ood, words(rng, 4), indices)))
    for groups, count in ((1, 1), (3, 7), (2, 257)):
        cases.append(
            Case(f"eq_outer {groups}x{count}", operation("eq_outer"), (words(rng, groups, 4), words(rng, count, 4)))
        )
    return cases


def phase_sizes(rng) -> list[Case]:
    """Groups are 16 or 32 threads to 256 or 512: below, at and above each; a last SIMD group that is not full."""
    sizes = ((4, 1), (8, 2), (24, 2), (32, 1), (64, 4), (128, 6), (136, 1), (544, 4), (1024, 2), (1056, 4), (2080, 3))
    call = partial(operation("sumcheck_rest"), rounds=2, log_stride=0, falling=False)
    largest = (np.full(shape, P - 1, np.uint32) for shape in ((1056, 4), (1056, 4), (4,)))
    cases = [*rest_cases(rng, sizes), Case("sumcheck_rest of p - 1", call, (challenge_state(rng, 0, 4), *largest))]
    # A pair of folded values a thread: one and two values, an odd number; a SIMD group of 16, of 32 and a group of 256
    # pairs, and one more than each.
    cases += draw_cases(rng, (2, 4, 6, 8, 12, 64, 72, 128, 136, 1024, 1032, 2048, 3088))
    call = partial(draw_fold, log_stride=0, next_log_stride=0)
    largest = (np.full(shape, P - 1, np.uint32) for shape in ((1,), (1032, 4), (1032, 4)))
    return [*cases, Case("sumcheck_draw_fold of p - 1", call, (challenge_state(rng, 7, 0), *largest))]


def contraction_sizes(rng) -> list[Case]:
    """Axis 0: 8 columns and a vector of them change the mode, 256 rows are a thread's chunk. Axis 1: 64 columns do."""
    shapes = [(1, 1), (2, 1), (1, 2), (4, 4), (2, 8), (8, 8), (4, 16), (256, 8), (512, 8), (128, 2), (256, 4), (4, 32)]
    return fold_cases(rng, (*shapes, (8, 64), (8, 128), (1, 256)))


def transcript_sizes(rng) -> list[Case]:
    """Every number of buffered inputs, absorbing 0 to 17 words (blocks are of 8), drawing past a block of outputs."""

    def challenge(device, state, *segments, **keywords):
        return operation("challenge")(device, state, list(segments), **keywords)

    cases = transcript_cases(rng, (0, 1, 4, 5))
    for buffered in range(8):
        for absorbed in (0, 1, 8 - buffered, 17):
            left = 5 if buffered == 0 and absorbed == 0 else 0
            call = partial(challenge, num_samples=9, num_indices=9, index_bits=27)
            arrays = (challenge_state(rng, buffered, left), words(rng, absorbed), words(rng, 0), words(rng, 2))
            cases.append(Case(f"challenge {buffered} waiting, absorbing {absorbed}", call, arrays))
    for samples, indices in ((0, 0), (0, 1), (1, 0), (8, 1)):
        call = partial(challenge, num_samples=samples, num_indices=indices, index_bits=1)
        cases.append(Case(f"challenge {samples} + {indices} draws", call, (challenge_state(rng, 3, 0), words(rng, 4))))
    # Outputs p - 1 are no fair index: the next ones must be drawn, here past the end of the block.
    state = challenge_state(rng, 0, 2)
    state[:2] = montgomery_word(P - 1)
    call = partial(challenge, num_samples=0, num_indices=3, index_bits=13)
    cases.append(Case("challenge with biased outputs", call, (state, words(rng, 0))))
    # One among eight that are drawn at once, after samples and before others.
    state = challenge_state(rng, 0, 8)
    state[3] = montgomery_word(P - 1)
    call = partial(challenge, num_samples=2, num_indices=21, index_bits=13, num_after=3)
    cases.append(Case("challenge with a biased output", call, (state, words(rng, 0))))
    for width in (1, 2, 3, 7, 8, 9, 257):
        x, indices = words(rng, 13, width), np.array([12, 0, 5, 5, 0], np.uint32)
        cases.append(Case(f"gather 5 of 13x{width}", operation("gather_rows"), (x, indices)))
    return cases


GROUPS = {
    "elementwise": lambda rng: elementwise_cases(rng, COUNTS),
    "hashes": lambda rng: hash_cases(rng, (1, 2, 3, 7, 8, 9, 17, 33)),
    "opened trees": lambda rng: climb_cases(rng, (*SMALL_OPENINGS, *LARGE_OPENINGS)),
    "transforms": ntt_sizes,
    "reductions": reduction_sizes,
    "tables": table_sizes,
    "sumcheck phases": phase_sizes,
    "contractions": contraction_sizes,
    "transcript": transcript_sizes,
}


@cache
def group_cases(name: str) -> tuple[tuple[Case, list], ...]:
    """The cases of a group with the results of their twins."""
    cases = GROUPS[name](np.random.default_rng(len(name)))
    return tuple((case, case.run(get_device("numpy"))) for case in cases)


def differences(device, case: Case, expected: list) -> list[str]:
    """What is wrong with the results of a case."""
    found = [device.numpy(x) for x in case.run(device)]
    wrong = []
    for k, (got, want) in enumerate(zip(found, expected, strict=True)):
        if got.shape != want.shape or got.dtype != np.uint32:
            wrong.append(f"{case.label}: result {k} is {got.dtype} {got.shape}, not {want.shape}")
        elif not np.array_equal(got, want):
            wrong.append(f"{case.label}: result {k} differs at {np.argwhere(got != want)[0]}")
    return wrong


@pytest.mark.parametrize("group", GROUPS)
def test_around_every_switch(target, group):
    assert [line for case, want in group_cases(group) for line in differences(target, case, want)] == []


@pytest.mark.skipif(not cpu.available(), reason="no C++ compiler is installed")
@pytest.mark.parametrize("group", GROUPS)
def test_around_every_switch_in_lock_step(group):
    # All threads of a SIMD group go together from access to access; `target` runs each as far as it can.
    together = get_check_device(seed=8, lock_step=True)
    assert [line for case, want in group_cases(group) for line in differences(together, case, want)] == []


@pytest.mark.skipif(not cpu.available(), reason="no C++ compiler is installed")
@pytest.mark.parametrize("group", ["transcript", "sumcheck phases"])
def test_transcript_in_narrow_simd_groups(group):
    # The challenger takes SIMD groups of 16 or 32; 32 are checked above.
    narrow = get_check_device(simd_width=16)
    assert [line for case, want in group_cases(group) for line in differences(narrow, case, want)] == []


@pytest.mark.parametrize("value", [0, P - 1])
@pytest.mark.parametrize("group", ["elementwise", "hashes", "opened trees", "transforms", "reductions", "contractions"])
def test_extremes(target, group, value):
    # All words 0, and all the largest: sums and products are as large as they get. A few sizes of each operation.
    for case, _ in group_cases(group)[:: 7 if group != "elementwise" else 17]:
        arrays = tuple(np.full_like(x, value) for x in case.arrays)
        extreme = Case(f"{case.label} of {value}", case.call, arrays)
        assert differences(target, extreme, extreme.run(get_device("numpy"))) == []


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 1), (1, 257, 2), (3, 2, 33)])
def test_ext_sum(target, shape):
    x = words(np.random.default_rng(3), *shape, 4)
    expected = (x.astype(np.uint64).sum(axis=1) % P).astype(np.uint32)
    assert np.array_equal(target.numpy(ext_sum(target, target.asarray(x))), expected)


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in ("check", "check-cuda")], indirect=True)
def test_past_three_passes(target):
    # 2^17 rows of one column: three passes on the CPU (2^8 rows a tile), two on a GPU; 2^12 rows: 256 groups.
    rng = np.random.default_rng(4)
    tall = Case("tree_layers", partial(tree_layers, levels=4, sponge=False), (words(rng, 1 << 13, 8),))
    cases = [*ntt_cases(rng, (17,), (1,)), tall]
    cases += transcript_cases(rng, (12,))  # 2^12 candidates: several windows
    assert [line for case in cases for line in differences(target, case, case.run(get_device("numpy")))] == []


@pytest.mark.skipif(not cpu.available(), reason="no C++ compiler is installed")
def test_results_do_not_depend_on_threads(monkeypatch):
    rng = np.random.default_rng(5)
    cases = [
        *elementwise_cases(rng, (60_007,))[:3],
        *ntt_cases(rng, (11,), (16, 3)),
        *hash_cases(rng, (257,)),
        *fold_cases(rng, ((4096, 16), (8, 4096))),
        *table_cases(rng, (12,)),
        *transcript_cases(rng, (12,)),
    ]
    used, run = [], cpu.run
    monkeypatch.setattr(
        cpu, "run", lambda *args, threads, **keys: used.append(threads) or run(*args, threads=threads, **keys)
    )
    device = CpuDevice()
    for threads in (1, 2, 3, 8):
        device.threads = threads
        used.clear()
        for case in cases:
            assert differences(device, case, case.run(get_device("numpy"))) == []
        # Small launches stay on one thread, a transcript's all do; the rest of these are above that.
        assert used.count(threads) > len(cases) // 3


# Drawn sizes


@st.composite
def drawn_words(draw):
    """A maker of arrays: random words with some edges, all 0 or all p - 1."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["random", "random", "random", "zero", "largest"]))
    if kind == "random":
        return rng, partial(words, rng)
    return rng, lambda *shape: np.full(shape, 0 if kind == "zero" else P - 1, np.uint32)


@st.composite
def drawn_hashes(draw):
    _, make = draw(drawn_words())
    count, width = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["poseidon2", "hash_rows", "hash_leaves", "compress"]))
    if kind == "poseidon2":
        return Case(kind, operation(kind), (make(count, draw(st.sampled_from([16, 24, 32]))),))
    if kind == "hash_rows":
        return Case(kind, partial(operation(kind), rate=draw(st.sampled_from([8, 16]))), (make(count, width),))
    if kind == "hash_leaves":
        return Case(kind, operation(kind), (make(4 * -(-count // 4), width),))
    arity = draw(st.sampled_from([2, 4]))
    return Case(kind, partial(operation(kind), arity=arity), (make(count * arity, 8),))


@st.composite
def drawn_transforms(draw):
    _, make = draw(drawn_words())
    log_rows, width = draw(st.integers(1, 10)), draw(st.integers(1, 20))
    log_input = draw(st.integers(0, log_rows))
    inverse = log_input == log_rows and draw(st.booleans())
    call = partial(operation("ntt"), log_rows=log_rows, inverse=inverse)
    return Case(f"2^{log_input} to 2^{log_rows}x{width} {inverse=}", call, (make(1 << log_input, width),))


@st.composite
def drawn_contractions(draw):
    _, make = draw(drawn_words())
    rows, columns = 1 << draw(st.integers(0, 9)), 1 << draw(st.integers(0, 7))
    axis, ext, batch = draw(st.integers(0, 1)), draw(st.booleans()), draw(st.integers(0, 3))
    shape = (*((batch,) if batch else ()), rows, columns, *((4,) if ext else ()))
    call = partial(operation("fold_axis"), axis=axis, ext=ext)
    return Case(f"{shape} {axis=} {ext=}", call, (make(*shape), make((rows, columns)[axis], 4)))


@st.composite
def drawn_weights(draw):
    rng, make = draw(drawn_words())
    size, samples, queries = 1 << draw(st.integers(0, 7)), draw(st.integers(0, 3)), draw(st.integers(0, 11))
    log_domain = draw(st.integers(1, 12))
    call = partial(operation("query_weights"), log_domain=log_domain)
    indices = rng.integers(0, 1 << log_domain, queries, dtype=np.uint32)
    return Case(
        f"{size} {samples=} {queries=} {log_domain=}", call, (make(size, 4), make(samples, size, 4), make(4), indices)
    )


@st.composite
def drawn_challenges(draw):
    rng, make = draw(drawn_words())
    buffered = draw(st.integers(0, 7))
    state = challenge_state(rng, buffered, draw(st.integers(0, 8)) if buffered == 0 else 0)
    keywords = {key: draw(st.integers(0, 20)) for key in ("num_samples", "num_indices", "index_bits")}
    sizes = draw(st.lists(st.integers(0, 20), min_size=1, max_size=3))
    call = lambda device, state, *segments: operation("challenge")(device, state, list(segments), **keywords)  # noqa: E731
    return Case(f"{buffered=} {sizes} {keywords}", call, (state, *(make(n) for n in sizes)))


@pytest.mark.parametrize(
    "family", [drawn_hashes, drawn_transforms, drawn_contractions, drawn_weights, drawn_challenges]
)
def test_drawn_sizes(target, family):
    @given(case=family())
    def check(case):
        assert differences(target, case, case.run(get_device("numpy"))) == []

    check()
