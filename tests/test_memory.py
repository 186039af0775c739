"""Memory planned beforehand, and what happens where a GPU has less: steps, the CPU, or a refusal.

Statements are small; limits are put between the planned numbers, so that each fallback is taken for its own reason.
"""

import gc
import json
import os
import subprocess
import sys
import warnings
from math import prod
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tests.emulated import EmulatedGpu
from tests.helpers import PROOF_NAMES, load_proof
from tests.proving import commit
from whir_mlx import Whir, splitmix
from whir_mlx.choices import make_choices
from whir_mlx.kernels.device import Device, get_device, host_target
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.kernels.targets.gpu import LEAST_WORDS, GpuDevice
from whir_mlx.kernels.targets.shapes import Meter, ShapeDevice
from whir_mlx.kernels.targets.stepwise import StepwiseDevice, stepwise
from whir_mlx.memory import gpu_bytes, gpu_memory, parse_bytes, place
from whir_mlx.protocol.planning import plan_memory
from whir_mlx.protocol.prover import open_proof
from whir_mlx.protocol.statement import Schedule

SMALL = {"folding_factor": 2, "security_level": 30, "pow_bits": 4}
ROOT = Path(__file__).parents[1]
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")


# ---- the plan --------------------------------------------------------------------------------------------------------

MEASURE = """
import sys, json, whir_mlx
from whir_mlx.protocol.planning import plan_memory
from whir_mlx.protocol.statement import Schedule
def bytes_of(key):
    return [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key)][0]
small = whir_mlx.Whir(8, folding_factor=2, security_level=30, pow_bits=4, device="cpu")
commitment, data = small.commit(range(256))
small.open(data)  # libraries and kernels that every proof loads
pcs = whir_mlx.Whir(**json.loads(sys.argv[1]), device="cpu")
shapes = [(shape.columns, 1 << shape.log_rows) for shape in pcs.layout.tables]
evals = [whir_mlx.splitmix(0, c * r).reshape(c, r) for c, r in shapes]
given, before = sum(x.nbytes for x in evals), bytes_of("VmRSS")
commitment, data = pcs.commit(evals)
committed = bytes_of("VmHWM")
pcs.open(data)
memory = plan_memory("cpu", pcs.layout, pcs.config, pcs.tree, Schedule.all_columns(pcs.layout))
print(json.dumps([given + committed - before, given + bytes_of("VmHWM") - before, memory.commit, memory.open]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
@needs_compiler
@pytest.mark.parametrize(
    "keywords",
    [
        {"num_variables": 18},
        {"num_variables": 18, "layout": "prefix", "security_level": 60, "pow_bits": 10},
        {"tables": [(15, 3), (13, 5)], "layout": "prefix", "tree": "ary4", "security_level": 80},
        {"num_variables": 19, "folding_factor": 6, "security_level": 60, "pow_bits": 10},
    ],
    ids=["one column", "prefix", "tables", "fold 6"],
)
def test_the_plan_is_what_the_cpu_target_takes(keywords):
    """Within a factor 1.3 either way and 6 MB (the interpreter's own growth), of some 10 to 40 MB; in a process of its
    own, since resident memory never shrinks."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps(keywords)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    committed, peak, planned_commit, planned_open = json.loads(done.stdout)
    assert planned_open > 8 * 2**20
    for measured, planned in ((committed, planned_commit), (peak, planned_open)):
        assert planned / 1.3 - 6 * 2**20 <= measured <= 1.3 * planned + 6 * 2**20, (measured, planned)


class LaunchedShapes(GpuDevice):
    """A CUDA device that makes zeros of every launch's outputs and keeps their shapes; MLX never computes them."""

    def __init__(self):
        Device.__init__(self, "cuda")
        self.outputs = []

    def compile(self, function):
        return function

    def evaluate(self, *arrays):
        pass

    def readback_words(self, count):
        return count  # a plan leaves the few KB out by which a GPU rounds this up

    def prepare(self, kernels):
        pass

    def generate(self, name, values, forms):
        def kernel(*, output_shapes, **_):
            self.outputs.append((name, [tuple(shape) for shape in output_shapes]))
            return [mx.zeros(shape, mx.uint32) for shape in output_shapes]

        return kernel


class Ended(Exception):
    pass


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_the_plan_plays_the_launches_of_a_gpu(name, monkeypatch):
    """Launch by launch the prover on a GPU and the prover on shapes make arrays of the same shapes."""
    case, device, planned = load_proof(name), LaunchedShapes(), []
    if case.arguments.get("points") is not None:
        pytest.skip("a plan's points are drawn: chosen ones save a launch each")

    def read(self, x, *, words=None):
        raise Ended

    monkeypatch.setattr(LaunchedShapes, "numpy", read)
    with pytest.raises(Ended):
        open_proof(commit(case.args, case.arguments, device), case.arguments["schedule"])
    launch = ShapeDevice.launch

    def watched(self, name, size, inputs, outputs, **shape):
        # A GPU makes no array of fewer words than this.
        planned.append((name, [tuple(s) if prod(s) >= LEAST_WORDS else (LEAST_WORDS,) for s in outputs]))
        return launch(self, name, size, inputs, outputs, **shape)

    monkeypatch.setattr(ShapeDevice, "launch", watched)
    arguments = [case.arguments[key] for key in ("layout", "config", "tree", "schedule")]
    plan_memory.__wrapped__("cuda", *arguments)
    assert planned == device.outputs


def test_planning_takes_no_memory_and_forgets_nothing():
    """2^27 elements: 512 MB of data, some 10 GB of arrays on a GPU. The second plan counts the tables that the first
    one left in the caches."""
    choices = make_choices(27, security_level=60, pow_bits=20)
    arguments = (choices.layout, choices.config, choices.tree, Schedule.all_columns(choices.layout))
    plans = [plan_memory.__wrapped__(target, *arguments) for target in ("cuda", "cuda", "cpu")]
    assert plans[0] == plans[1] and 4 * 2**30 < plans[0].peak < 20 * 2**30
    for memory in plans:
        assert 4 << 27 < memory.kept <= memory.commit and memory.stepwise <= memory.peak
    assert plans[0].stepwise < 0.75 * plans[0].peak


def test_more_openings_take_more():
    choices = make_choices(tables=[(12, 4), (11, 2)], **SMALL)
    plans = [gpu_memory("cuda", choices, Schedule.all_columns(choices.layout, points)) for points in (1, 2, 8)]
    assert plans[0].commit == plans[1].commit and plans[0].open < plans[1].open < plans[2].open


def test_the_meter_of_the_pool():
    """Blocks come in eighths of a power of two, are kept when freed, and taken again."""
    meter = Meter(pooled=True)
    taken = [meter.take(1_000_001), meter.take(1_000_001)]
    assert taken[0] == taken[1] and 1_000_001 < taken[0] < 1_200_000
    for size in taken:
        meter.give_back(size)
    assert meter.used == 0 and meter.peak == sum(taken)
    meter.take(999_999)  # a block that lies there
    assert meter.peak == sum(taken)
    meter.take(10_000_000)  # none that does
    assert meter.peak > sum(taken) + 10_000_000 - taken[0]


# ---- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("1000", 1000), (" 8g", 8 << 30), ("16M", 16 << 20), ("3K", 3072)]
)
def test_byte_counts(text, count):
    assert parse_bytes("X", text) == count


@pytest.mark.parametrize("text", ["", "8GB", "-1", "1.5G", "G", "8 G", "0x10"])
def test_other_texts_are_no_byte_counts(text):
    with pytest.raises(ValueError, match="X must be a number of bytes"):
        parse_bytes("X", text)


@pytest.fixture(scope="module")
def choices():
    # 2^16 rows of 4: arrays of 16 MB against the 48 MB that a plan adds, so that the numbers lie apart.
    return make_choices(16, columns=4, **SMALL)


def limits_of(choices) -> tuple[int, int]:
    memory = gpu_memory("cuda", choices)
    return gpu_bytes(memory.peak), gpu_bytes(memory.stepwise)


def placed(device, choices, **keywords):
    """(where `place` puts it, the texts of its warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = place(device, choices, **keywords)
    assert all(warning.category is RuntimeWarning for warning in caught)
    return found, [str(warning.message) for warning in caught]


def test_what_fits_stays_and_says_nothing(choices):
    whole, _ = limits_of(choices)
    for device in (EmulatedGpu(), EmulatedGpu(total_memory=whole), get_device("numpy")):
        assert placed(device, choices) == (device, [])


def test_what_does_not_fit_runs_in_steps_and_then_on_the_cpu(choices):
    whole, steps = limits_of(choices)
    device = EmulatedGpu(total_memory=whole - 1)
    found, (text,) = placed(device, choices)
    assert isinstance(found, StepwiseDevice) and found is stepwise(device)
    for part in (f"{whole} bytes", f"{whole - 1} bytes of the device's memory", f"{steps} bytes", "in steps"):
        assert part in text
    assert placed(found, choices) == (found, [])  # it was said before
    device = EmulatedGpu(max_recommended_working_set_size=steps - 1, total_memory=1 << 40)
    found, (text,) = placed(device, choices)
    assert found is get_device(host_target())
    for part in (f"{whole} bytes", f"{steps - 1} bytes of the working set", f"{steps} bytes", f"on {found.name!r}"):
        assert part in text


def test_the_users_limits(choices, monkeypatch):
    whole, _ = limits_of(choices)
    monkeypatch.setenv("WHIR_MLX_MAX_BYTES", str(whole - 1))
    found, (text,) = placed(EmulatedGpu(total_memory=1 << 40), choices)
    assert isinstance(found, StepwiseDevice) and "bytes of WHIR_MLX_MAX_BYTES" in text
    # The device has less than the user allows.
    found, (text,) = placed(EmulatedGpu(total_memory=whole - 2), choices)
    assert "of the device's memory" in text
    monkeypatch.setenv("WHIR_MLX_MAX_BYTES", "1T")
    with pytest.raises(ValueError, match="WHIR_MLX_MAX_BYTES"):
        place(EmulatedGpu(), choices)
    monkeypatch.setenv("WHIR_MLX_MAX_BYTES", "1G")
    monkeypatch.setenv("WHIR_MLX_GPU_MAX_LOG_N", "18")  # the statement has 2^18 elements
    device = EmulatedGpu()
    assert placed(device, choices) == (device, [])
    monkeypatch.setenv("WHIR_MLX_GPU_MAX_LOG_N", "17")
    found, (text,) = placed(device, choices)
    assert found is get_device(host_target()) and "2^18" in text and "2^17" in text and "GPU_MAX_LOG_N" in text
    # Limits of GPUs: the CPU is not asked.
    assert placed(get_device("numpy"), choices) == (get_device("numpy"), [])
    monkeypatch.setenv("WHIR_MLX_GPU_MAX_LOG_N", "many")
    with pytest.raises(ValueError, match="WHIR_MLX_GPU_MAX_LOG_N"):
        place(device, choices)


def test_without_fallback_it_is_refused(choices):
    whole, _ = limits_of(choices)
    with pytest.raises(MemoryError, match=f"{whole} bytes.*{whole - 1} bytes"):
        place(EmulatedGpu(total_memory=whole - 1), choices, fallback=False)


# ---- whole proofs ----------------------------------------------------------------------------------------------------


@needs_compiler
def test_proofs_are_the_same_wherever_they_run(monkeypatch):
    # 2^12 elements; the plan's 48 MB are taken off, so that small statements have a middle.
    monkeypatch.setattr("whir_mlx.memory._GPU_BYTES", 0)
    values = splitmix(3, 1 << 12)
    whole, steps = limits_of(make_choices(12, **SMALL))
    made = []
    for limit, kind in ((whole, EmulatedGpu), (steps, StepwiseDevice), (1, Device)):
        pcs = Whir(12, **SMALL, device=EmulatedGpu(total_memory=limit))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            commitment, data = pcs.commit(values)
            made.append((commitment, pcs.open(data)))
        assert len(caught) == (0 if limit == whole else 1)
        assert isinstance(pcs.prover_device, kind) and data.device is pcs.prover_device
        assert pcs.prover_device.lazy == (limit != 1)
        pcs.verify(*made[-1])
    assert made[0] == made[1] == made[2]
    with pytest.raises(MemoryError):
        Whir(12, **SMALL, device=EmulatedGpu(total_memory=1), fallback=False).commit(values)


@needs_compiler
def test_an_opening_too_large_for_what_committed(monkeypatch):
    """One point fits, a hundred do not: the opening moves, with a warning, and its proof is the same."""
    monkeypatch.setattr("whir_mlx.memory._GPU_BYTES", 0)
    choices, values = make_choices(10, **SMALL), splitmix(4, 1 << 10)
    many = Schedule.all_columns(choices.layout, 100)
    needed = [gpu_memory("cuda", choices, schedule) for schedule in (None, many)]
    for limit, target in ((gpu_bytes(needed[1].stepwise), "cuda"), (gpu_bytes(needed[0].peak), host_target())):
        device = EmulatedGpu(total_memory=limit)
        pcs, whole = Whir(10, **SMALL, device=device), Whir(10, **SMALL, device="numpy")
        commitment, data = pcs.commit(values)
        assert data.device is device
        device.launched.clear()
        with pytest.warns(RuntimeWarning, match="over the"):
            proof = pcs.open(data, num_points=100)
        assert bool(device.launched[2:]) == (target == "cuda")
        expected, committed = whole.commit(values)
        assert (commitment, proof) == (expected, whole.open(committed, num_points=100))


def test_a_stepwise_device_waits_for_large_launches():
    device = EmulatedGpu()
    steps = stepwise(device)
    assert (steps.name, steps.lazy, steps.tuning) == ("cuda", True, device.tuning) and stepwise(device) is steps
    waited = []

    class Base(type(device)):
        def launch(self, name, size, inputs, outputs, **shape):
            return [np.zeros(shape) for shape in outputs]

        def evaluate(self, *arrays):
            waited.append(len(arrays))

    steps = StepwiseDevice(Base())
    steps.launch("a", (), [], [(1 << 18, 1)], grid=(1, 1, 1))
    steps.launch("b", (), [], [(1 << 17,), (1 << 17,)], grid=(1, 1, 1))
    steps.launch("c", (), [], [((1 << 18) - 1,)], grid=(1, 1, 1))
    assert waited == [1, 2]
    assert steps.compile(waited.append) == waited.append


@pytest.mark.cuda
def test_the_plan_is_what_a_gpu_takes():
    """A proof of 2^22 of 80 bits on a real GPU, as one graph and in steps: at most what was planned, at least half."""
    from whir_mlx.kernels.targets.gpu import usable_gpu

    if usable_gpu() != "cuda":
        pytest.skip("no NVIDIA GPU that MLX can use")
    choices = make_choices(22, security_level=80)
    memory = gpu_memory("cuda", choices)
    gc.collect()
    before = mx.get_active_memory()  # of other tests
    for device, planned in ((get_device("cuda"), memory.peak), (stepwise(get_device("cuda")), memory.stepwise)):
        pcs = Whir.from_choices(choices, device=device)
        for _ in range(2):
            mx.clear_cache()
            mx.reset_peak_memory()
            commitment, data = pcs.commit(splitmix(0, 1 << 22))
            proof = pcs.open(data)
            peak = mx.get_peak_memory() - before
            del data
        pcs.verify(commitment, proof)
        assert planned / 2 < peak <= gpu_bytes(planned)
