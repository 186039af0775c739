"""Programs of the CPU target: what they give, that runs do not meet, and that arrays in one memory do not overlap."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import host_device, load_proof
from tests.proving import commit
from whir_mlx.field.constants import P
from whir_mlx.kernels.compress import compress
from whir_mlx.kernels.device import CpuDevice, get_device
from whir_mlx.kernels.field_arithmetic import field_add, field_mul
from whir_mlx.kernels.grind import grind_found
from whir_mlx.kernels.ntt import ntt, twiddles
from whir_mlx.kernels.targets import cpu, cpu_program
from whir_mlx.kernels.targets.cpu_trace import Block, tracing
from whir_mlx.protocol import prover

pytestmark = pytest.mark.skipif(not cpu.available(), reason="no C++ compiler is installed")

CONSTANT = np.arange(48, dtype=np.uint32).reshape(6, 8)


def words(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, P, shape, dtype=np.uint32)


def mixed(device, arrays: list, state):
    """Launches, views of all kinds, copies, joins, constants, a search (whose output starts at 0), an argument and a
    constant handed on, and two views of one result."""
    xp = device.array_module
    first, second = arrays
    product = field_mul(device, first, second)
    turned = product.reshape((2, 3, 8)).transpose(1, 0, 2).reshape((6, 8))  # copied: its words lay apart
    joined = xp.concatenate([turned[1:5], CONSTANT, xp.zeros((2, 8), dtype=first.dtype)], axis=0)
    taken = xp.take(joined, np.array([11, 0, 3, 3]), axis=0)
    columns = field_add(device, xp.transpose(taken, (1, 0))[2:6, 1:], np.full((4, 3), 5, np.uint32))
    parents = compress(device, joined[2:], arity=2)
    found = grind_found(device, state, bits=6)
    return [parents, (parents[1:3], columns)], found, second, CONSTANT


def flat(nested) -> list:
    return [x for part in nested for x in flat(part)] if isinstance(nested, (list, tuple)) else [nested.tolist()]


def arguments(seed: int) -> tuple:
    state = words(seed + 2, 26)
    state[16:] = 0
    return [words(seed, 6, 8), words(seed + 1, 6, 8)], state


def test_a_program_gives_what_its_function_gives():
    device = CpuDevice()
    program = device.compile(lambda arrays, state: mixed(device, arrays, state))
    results = [program(*arguments(seed)) for seed in (10, 20, 30)]
    for seed, result in zip((10, 20, 30), results):  # the first ones too, after later runs
        assert (
            flat(result) == flat(mixed(device, *arguments(seed))) == flat(mixed(get_device("numpy"), *arguments(seed)))
        )
    (kept,) = program.args[0].values()
    assert kept.words > 0


def test_threads_do_not_meet():
    device = CpuDevice()
    program = device.compile(lambda arrays, state: mixed(device, arrays, state))
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda seed: flat(program(*arguments(seed))), range(0, 160, 10)))
    assert got == [flat(mixed(device, *arguments(seed))) for seed in range(0, 160, 10)]


def test_shapes_and_threads_have_programs_of_their_own():
    device = CpuDevice()
    double = device.compile(lambda x: field_add(device, x, x))
    for length in (1, 7, 8, 9, 1000):
        assert np.array_equal(double(words(1, length)), field_add(device, words(1, length), words(1, length)))
    device.threads += 1
    double(words(1, 7))
    assert len(double.args[0]) == 6


def test_large_functions_are_played(monkeypatch):
    device, played = CpuDevice(), []
    square = device.compile(lambda x: played.append(1) or field_mul(device, field_mul(device, x, x), x))
    monkeypatch.setattr(cpu_program, "_MOST_WORDS", 63)  # the inner product is 64 words
    expected = square(words(1, 64))
    assert np.array_equal(square(words(1, 64)), expected) and len(played) == 3
    numpy, x = get_device("numpy"), words(1, 64)
    assert np.array_equal(expected, field_mul(numpy, field_mul(numpy, x, x), x))
    monkeypatch.setattr(cpu_program, "_MOST_WORDS", 64)
    other = device.compile(lambda x: played.append(1) or field_mul(device, field_mul(device, x, x), x))
    assert all(np.array_equal(other(words(1, 64)), expected) for _ in range(2)) and len(played) == 4


def test_a_compiled_function_may_call_another():
    device = CpuDevice()
    inner = device.compile(lambda x: field_add(device, x, x))
    outer = device.compile(lambda x: field_mul(device, inner(x), x))
    x = words(1, 9)
    for _ in range(2):
        assert np.array_equal(outer(x), field_mul(device, field_add(device, x, x), x))


def test_captured_arrays_stay_as_they_were_traced():
    device, captured = CpuDevice(), words(1, 9)

    def added(x):
        first = field_add(device, x, captured)
        captured[:] = 5
        return first, field_add(device, x, captured), captured

    program, x, before = device.compile(added), words(2, 9), captured.copy()
    for _ in range(2):
        first, second, five = program(x)
        assert np.array_equal(first, field_add(device, x, before)) and five.tolist() == [5] * 9
        assert np.array_equal(second, field_add(device, x, np.full(9, 5, np.uint32)))
        five[:] = captured[:] = 7


def test_tables_are_shared_by_programs():
    # What may be written to is copied, tables (as large as a codeword) are not.
    device = CpuDevice()
    with tracing() as trace:
        for _ in range(2):
            ntt(device, trace.new((512, 1)), log_rows=9)
    arrays = [block.array for node in trace.nodes for block, _ in node.buffers if block.array is not None]
    tables = [array for array in arrays if array.size == 512]
    assert len({id(array) for array in tables}) == 1 and np.shares_memory(twiddles(device, 9), tables[0])


def test_what_a_program_cannot_take_or_give():
    device = CpuDevice()
    with pytest.raises(TypeError, match="arrays must be uint32, got uint64"):
        device.compile(lambda x: field_add(device, x, x))(np.ones(3, np.uint64))
    with pytest.raises(TypeError, match="must return arrays, in lists and tuples, got dict"):
        device.compile(lambda x: {"sum": field_add(device, x, x)})(np.ones(3, np.uint32))
    assert not device.recording


def test_a_trace_has_no_words_to_read():
    with tracing() as trace:
        x = trace.new((4, 8))
        with pytest.raises(TypeError, match="no words to read"):
            x[1]
        with pytest.raises(TypeError):
            np.asarray(CONSTANT) + x
    assert not host_device().recording


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=40))
@settings(max_examples=200, deadline=None)
def test_blocks_that_are_needed_at_a_time_lie_apart(sizes):
    blocks = [Block(words, made=k, used=k + stay) for k, (words, stay) in enumerate(sizes)]
    starts, total = cpu_program._shared(blocks)
    for a, first in zip(blocks, starts):
        assert first % 16 == 0 and first + a.words <= total
        for b, second in zip(blocks, starts):
            if a is not b and a.made <= b.used and b.made <= a.used and a.words and b.words:
                assert first + a.words <= second or second + b.words <= first


@pytest.mark.parametrize("name", ["suffix_n10_k4_johnson", "prefix_tables"])
def test_proofs_are_the_same_played(name, monkeypatch):
    case = load_proof(name)
    schedule, points = case.arguments["schedule"], case.arguments.get("points")

    def prove():
        prover._commit_program.cache_clear()
        prover._OpeningProgram.of.cache_clear()
        device = CpuDevice()
        return [prover.open_proof(commit(case.args, case.arguments, device), schedule, points=points) for _ in range(2)]

    replayed = prove()
    monkeypatch.setattr(cpu_program, "_MOST_WORDS", -1)
    assert replayed == prove() == [case.proof] * 2
