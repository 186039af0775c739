"""The cache of CUDA machine code without a GPU: a stand-in compiler, and stand-ins for MLX's CUDA functions."""

import multiprocessing
import os
import re
import threading
import warnings

import mlx.core as mx
import numpy as np
import pytest

from tests.kernels import metal_trace
from tests.kernels.test_gpu_text import KERNELS, VALUES, specialised
from tests.proving import FULL_ARGS, arguments_of
from whir_mlx.cli.phases import Phases
from whir_mlx.errors import DeviceError
from whir_mlx.kernels import quick_check
from whir_mlx.kernels.targets import cuda_cache, gpu
from whir_mlx.kernels.targets.build_progress import watch_builds
from whir_mlx.kernels.targets.cuda_cache import CubinCache
from whir_mlx.kernels.targets.gpu_source import GpuSource, precompiled_text
from whir_mlx.kernels.targets.nvrtc import Nvrtc
from whir_mlx.kernels.tuning import tuning_for

SOURCES = [specialised("cuda", "field_arithmetic", {"OPERATION": operation}) for operation in range(4)]
ONE = SOURCES[0]


class Compiler:
    """Stands for NVRTC: its machine code is the text behind a mark. Refuses the kernels named in `refused`."""

    def __init__(self, identity="stand-in 1", refused=(), together=1):
        self.identity, self.refused, self.names = identity, refused, []
        # A compilation ends once this many are under way.
        self.barrier = threading.Barrier(together)

    def compile(self, text, name):
        self.names.append(name)
        self.barrier.wait(timeout=60)
        if name in self.refused:
            raise DeviceError(f"NVRTC refused {name}:\nk.cu(1): error")
        return b"cubin " + text.encode()


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Every test as in a new process."""
    monkeypatch.setattr(cuda_cache, "_WARNED", set())
    for cached in (cuda_cache.cubin_cache, gpu._kernel, gpu._prepare):
        cached.cache_clear()
    yield
    for cached in (cuda_cache.cubin_cache, gpu._kernel, gpu._prepare):
        cached.cache_clear()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new" / "cuda"


def cubin(source: GpuSource) -> bytes:
    return b"cubin " + precompiled_text(source).encode()


def expect_compiled(folder, count: int, compiler=None, mlx="0.32.4"):
    """Asks a new cache for `ONE`, and returns the cache."""
    compiler = compiler or Compiler()
    made = CubinCache(compiler, mlx, folder)
    assert made.get(ONE) == cubin(ONE)
    assert made.get(ONE) == cubin(ONE)
    assert len(compiler.names) == count
    return made


def test_miss_then_hit(folder):
    """The first process compiles, later ones read; warnings are errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = expect_compiled(folder, 1).path(ONE)
        expect_compiled(folder, 0)
    assert path.parent == folder and [x.name for x in folder.iterdir()] == [path.name]
    assert re.fullmatch(r"field_arithmetic-[0-9a-f]{32}\.cubin", path.name)


@pytest.mark.parametrize("changed", ["text", "options and NVRTC", "MLX"])
def test_key_holds_all_that_decides_the_code(folder, changed):
    kept = CubinCache(Compiler(), "0.32.4", folder)
    paths = {kept.path(source) for source in SOURCES}
    assert len(paths) == len(SOURCES)
    if changed == "text":
        other = GpuSource(ONE.name, ONE.header, ONE.body + " ", ONE.inputs, ONE.outputs)
        assert kept.path(other) not in paths
    elif changed == "MLX":
        assert CubinCache(Compiler(), "0.32.5", folder).path(ONE) not in paths
    else:
        assert CubinCache(Compiler("stand-in 2"), "0.32.4", folder).path(ONE) not in paths


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:31],
        lambda data: data[:32],
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data + b"\0",
    ],
)
def test_damaged_entry_is_made_again(folder, damage):
    path = expect_compiled(folder, 1).path(ONE)
    path.write_bytes(damage(path.read_bytes()))
    expect_compiled(folder, 1)
    expect_compiled(folder, 0)


def test_link_in_place_of_an_entry_is_replaced(folder, tmp_path):
    """A link may lead to what others write; what it leads to stays as it is."""
    path = expect_compiled(folder, 1).path(ONE)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    before = elsewhere.read_bytes()
    path.symlink_to(elsewhere)
    expect_compiled(folder, 1)
    assert not path.is_symlink() and elsewhere.read_bytes() == before
    expect_compiled(folder, 0)


needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no file owners")


@needs_owners
def test_entry_that_others_can_write_is_replaced(folder):
    path = expect_compiled(folder, 1).path(ONE)
    path.chmod(0o620)
    expect_compiled(folder, 1)
    assert path.stat().st_mode & 0o777 == 0o600


@needs_owners
def test_new_folder_is_the_users_alone(folder):
    expect_compiled(folder, 1)
    assert folder.stat().st_mode & 0o777 == 0o700


@needs_owners
@pytest.mark.parametrize("case", ["foreign", "world-writable", "group-writable", "link"])
def test_folder_that_others_could_write_is_left_alone(folder, tmp_path, monkeypatch, case):
    """Neither read nor written: an entry planted there must not run, and nothing is put there."""
    path = expect_compiled(folder, 1).path(ONE)
    before = path.read_bytes()
    if case == "foreign":
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        reason = "belongs to another user"
    elif case == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
        reason = "is not a folder"
    else:
        folder.chmod(0o777 if case == "world-writable" else 0o770)
        reason = "can be written by others"
    with pytest.warns(RuntimeWarning, match=rf"not kept.*{reason}"):
        expect_compiled(folder, 1)
    assert path.read_bytes() == before and len(list(folder.iterdir())) == 1


@needs_owners
def test_foreign_entry_is_not_read(folder, monkeypatch):
    """In a folder of the user's own: as after a careless `sudo`."""
    made = expect_compiled(folder, 1)
    later = CubinCache(Compiler(), "0.32.4", folder)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert later._read(ONE) is None
    monkeypatch.undo()
    assert later._read(ONE) == cubin(ONE) == made.get(ONE)


def test_no_place_to_keep_compiles_all_the_same(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="not kept"):
        expect_compiled(tmp_path / "file" / "cuda", 1)


def test_read_only_folder_warns_once(folder, monkeypatch):
    """Root writes anywhere, so the refusal is the stand-in's."""

    def refuse(path, data):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(cuda_cache, "write_private_file", refuse)
    made = CubinCache(Compiler(), "0.32.4", folder)
    with pytest.warns(RuntimeWarning, match="not kept.*Read-only") as caught:
        made.build(SOURCES)
    assert len(caught) == 1 and [made.get(source) for source in SOURCES] == [cubin(source) for source in SOURCES]
    assert not list(folder.iterdir())


def test_builds_run_side_by_side(folder, monkeypatch):
    """Each of the four compilations waits until all four are under way: one after another would never end."""
    monkeypatch.setenv("WHIR_MLX_THREADS", "4")
    compiler, heard = Compiler(together=4), []
    made = CubinCache(compiler, "0.32.4", folder)
    with watch_builds(lambda *counts: heard.append(counts)):
        made.build(SOURCES)
        made.build(SOURCES)
    assert heard == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert sorted(compiler.names) == sorted(source.name for source in SOURCES)
    assert [made.get(source) for source in SOURCES] == [cubin(source) for source in SOURCES]


def test_only_missing_kernels_are_built(folder):
    CubinCache(Compiler(), "0.32.4", folder).build(SOURCES[:3])
    compiler, heard = Compiler(), []
    made = CubinCache(compiler, "0.32.4", folder)
    with watch_builds(lambda *counts: heard.append(counts)):
        made.build(SOURCES)
    assert compiler.names == [SOURCES[3].name] and heard == [(0, 1), (1, 1)]
    with watch_builds(lambda *counts: heard.append(counts)):
        CubinCache(Compiler(), "0.32.4", folder).build(SOURCES)
    assert len(heard) == 2, "nothing to build, nothing to say"


def test_threads_share_one_compilation(folder):
    compiler = Compiler()
    made, start, found = CubinCache(compiler, "0.32.4", folder), threading.Barrier(8), []

    def ask():
        start.wait()
        found.append(made.get(ONE))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cubin(ONE)] * 8 and len(compiler.names) == 1


def build_in_process(folder, barrier, failures):
    """All sources by a cache of this process, over and over from nothing; counts wrong results."""
    for _ in range(20):
        barrier.wait(timeout=120)
        made = CubinCache(Compiler(), "0.32.4", folder)
        made.build(SOURCES)
        if [made.get(source) for source in SOURCES] != [cubin(source) for source in SOURCES]:
            with failures.get_lock():
                failures.value += 1
        barrier.wait(timeout=120)
        for source in SOURCES:
            made.path(source).unlink(missing_ok=True)


def test_processes_share_a_folder(folder):
    """Three processes that read, write and remove the same entries: each always has whole ones, and no leavings."""
    context = multiprocessing.get_context("spawn")
    barrier, failures = context.Barrier(3), context.Value("i", 0)
    workers = [context.Process(target=build_in_process, args=(folder, barrier, failures)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=240)
    assert [worker.exitcode for worker in workers] == [0, 0, 0] and failures.value == 0
    assert not list(folder.iterdir())


def test_refused_kernel_is_left_to_mlx(folder):
    """One warning for both; the others are compiled all the same, and a refused one is not tried again."""
    compiler = Compiler(refused={SOURCES[1].name, SOURCES[3].name})
    made = CubinCache(compiler, "0.32.4", folder)
    with pytest.warns(RuntimeWarning, match="(?s)MLX compiles it itself.*NVRTC refused field_arithmetic") as caught:
        made.build(SOURCES)
    assert [made.get(source) is None for source in SOURCES] == [False, True, False, True]
    assert len(caught) == 1 and compiler.names.count(SOURCES[1].name) == 1
    assert len(list(folder.iterdir())) == 2


class FakeMlx:
    """MLX's CUDA functions: they note what they are given. The trial kernel gets `answer`."""

    def __init__(self, monkeypatch, folder, answer=(2, 42, 8)):
        self.calls, self.answer = [], answer
        facts = {"compute_capability_major": 9, "compute_capability_minor": 0}
        monkeypatch.setenv("WHIR_MLX_CACHE", str(folder))
        monkeypatch.setattr(mx, "device_info", lambda device=None: facts)
        monkeypatch.setattr(mx.fast, "precompiled_cuda_kernel", self.precompiled)
        monkeypatch.setattr(mx.fast, "cuda_kernel", self.generator)
        monkeypatch.setattr("whir_mlx.kernels.targets.nvrtc.Nvrtc", self.make_compiler)
        monkeypatch.setattr(gpu, "usable_gpu", lambda: "cuda")

    def make_compiler(self, architecture):
        assert architecture == "sm_90"
        return Compiler()

    def precompiled(
        self,
        *,
        name,
        compiled_source,
        inputs,
        output_shapes,
        output_dtypes,
        scalars,
        grid,
        threadgroup,
        shared_memory=0,
        init_value=None,
        ensure_row_contiguous=False,
        stream=None,
    ):
        """The signature of MLX 0.32.4's."""
        assert isinstance(compiled_source, bytes) and scalars == [] and ensure_row_contiguous and stream == mx.gpu
        assert f'extern "C" __global__ void {name}('.encode() in compiled_source
        self.calls.append(("precompiled", name, len(inputs), init_value, grid, threadgroup))
        if name == "whir_mlx_trial":
            return [mx.array(self.answer, mx.uint32)]
        return [mx.zeros(shape, dtype) for shape, dtype in zip(output_shapes, output_dtypes)]

    def generator(self, *, name, input_names, output_names, source, header):
        def kernel(*, inputs, output_shapes, output_dtypes, grid, threadgroup, init_value, stream):
            self.calls.append(("cuda_kernel", name, len(inputs), init_value, grid, threadgroup))
            return [mx.zeros(shape, dtype) for shape, dtype in zip(output_shapes, output_dtypes)]

        return kernel


def add(device):
    x = np.arange(5, dtype=np.uint32)
    shapes = device.launch("field_arithmetic", (5,), [x, x], [(5,)], grid=(5, 1, 1), values={"OPERATION": 0})
    assert shapes[0].shape == (5,)


ARGUMENTS = (ONE.name, 3, None, (5, 1, 1), (5, 1, 1))
TRIAL = ("precompiled", "whir_mlx_trial", 1, None, (3, 1, 1), (3, 1, 1))


def test_launch_by_machine_code(folder, monkeypatch):
    fake = FakeMlx(monkeypatch, folder)
    device = gpu.GpuDevice("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        device.prepare((("field_arithmetic", (("OPERATION", 0),), 0),))
        add(device)
        add(device)
    assert fake.calls == [TRIAL, ("precompiled", *ARGUMENTS), ("precompiled", *ARGUMENTS)]
    assert len(list((folder / "cuda").iterdir())) == 2


def test_atomic_outputs_start_at_zero(folder, monkeypatch):
    fake = FakeMlx(monkeypatch, folder)
    x = np.zeros(200, np.uint32)
    gpu.GpuDevice("cuda").launch("grind", (1,) * 8, [x] * 2, [(1,)] * 3, grid=(32, 1, 1), values={"WIDTH": 16})
    assert fake.calls[-1][0] == "precompiled" and fake.calls[-1][3] == 0


def missing_package(fake, monkeypatch):
    def make(architecture):
        raise DeviceError("the package cuda-bindings is missing (pip install 'whir-mlx[cuda]')")

    monkeypatch.setattr("whir_mlx.kernels.targets.nvrtc.Nvrtc", make)
    return r"pip install 'whir-mlx\[cuda\]'"


def missing_function(fake, monkeypatch):
    monkeypatch.delattr(mx.fast, "precompiled_cuda_kernel")
    return "precompiled_cuda_kernel"


def refused_code(fake, monkeypatch):
    def refuse(**arguments):
        raise RuntimeError("Failed to load compiled whir_mlx_trial kernel: ")

    monkeypatch.setattr(mx.fast, "precompiled_cuda_kernel", refuse)
    return "Failed to load"


def wrong_answer(fake, monkeypatch):
    fake.answer = (2, 42, 9)
    return r"\[2, 42, 9\] instead of"


def refused_trial(fake, monkeypatch):
    monkeypatch.setattr(Compiler, "compile", lambda self, text, name: (_ for _ in ()).throw(DeviceError("no")))
    return "did not compile"


@pytest.mark.filterwarnings("ignore:a CUDA kernel cannot be compiled")
@pytest.mark.parametrize("fault", [missing_package, missing_function, refused_code, wrong_answer, refused_trial])
def test_fallback_to_mlx_with_a_warning(folder, monkeypatch, fault):
    fake = FakeMlx(monkeypatch, folder)
    reason = fault(fake, monkeypatch)
    device = gpu.GpuDevice("cuda")
    expected = rf"(?s)not compiled beforehand.*{reason}.*MLX compiles it itself"
    with pytest.warns(RuntimeWarning, match=expected) as caught:
        device.prepare((("field_arithmetic", (("OPERATION", 0),), 0),))
        add(device)
        add(device)
    assert sum("not compiled beforehand" in str(x.message) for x in caught) == 1
    assert fake.calls[-2:] == [("cuda_kernel", *ARGUMENTS)] * 2


def test_missing_bindings_name_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    with pytest.raises(DeviceError, match=r"pip install 'whir-mlx\[cuda\]'"):
        Nvrtc("sm_90")


def test_check_prepares_what_it_launches(monkeypatch, folder):
    """The list in `quick_check` against the launches."""
    FakeMlx(monkeypatch, folder)
    asked, prepared = set(), []
    device = gpu.GpuDevice("cuda")
    original = device.generate
    monkeypatch.setattr(device, "prepare", prepared.extend)
    monkeypatch.setattr(device, "generate", lambda *call: asked.add(call[:2]) or original(*call))
    assert "came out as" in quick_check.quick_check(device)
    assert asked == {(name, values) for name, values, _ in prepared}


@pytest.mark.parametrize("tuning", ["cuda", "metal"])
@pytest.mark.parametrize("tree", ["w16", "w24", "ary4"])
def test_proof_launches_only_prepared_kernels(monkeypatch, tuning, tree):
    """Traced, not run. 2^17 values: long enough for every kernel that only long arrays take."""
    asked, prepared = set(), set()

    class Recorder(metal_trace.TracingDevice):
        def __init__(self):
            super().__init__()
            self.tuning = tuning_for(tuning)

        def prepare(self, kernels):
            prepared.update((name, values) for name, values, _ in kernels)

        def generate(self, name, values, forms):
            asked.add((name, values))
            return super().generate(name, values, forms)

    monkeypatch.setattr(metal_trace, "TracingDevice", Recorder)
    args = {**FULL_ARGS, "tables": [[17, 1]], "fold": 4, "security": 60, "pow": 16, "tree": tree}
    metal_trace.trace_proof(args, arguments_of(args), [np.zeros((1, 1 << 17), np.uint32)])
    assert len(asked) > 15 and asked <= prepared


def test_progress_reaches_the_command_line(folder):
    phases, shown = Phases(1), []
    phases._progress.update = lambda task, description: shown.append(description)
    with phases.phase("commit", gpu.GpuDevice("metal", trace=True)):
        CubinCache(Compiler(), "0.32.4", folder).build(SOURCES[:2])
    assert shown[1:] == ["commit (compiling kernels: 0 of 2 done)", "commit (compiling kernels: 1 of 2 done)", "commit"]
    assert phases.done[0].kernels_compiled == 2


def test_text_needs_nothing_of_mlx():
    for name in KERNELS:
        for values in VALUES.get(name, [{}]):
            source = specialised("cuda", name, values)
            text = precompiled_text(source)
            assert not re.search(r"uint(8|16|32|64)_t|#include|\bmlx\b|\bcg::|cooperative_groups", text), name
            assert text.endswith("}\n") and text.count(f"void {source.name}(") == 1


def test_nvrtc_takes_every_text():
    """Real machine code of every specialisation; needs cuda-bindings and NVRTC, but no GPU."""
    try:
        compiler = Nvrtc("sm_90")
    except DeviceError as error:
        pytest.skip(str(error))
    for name in KERNELS:
        for values in VALUES.get(name, [{}]):
            source = specialised("cuda", name, values)
            built = compiler.compile(precompiled_text(source), source.name)
            assert built[:4] == b"\x7fELF" and source.name.encode() in built
    with pytest.raises(DeviceError, match=r'(?s)NVRTC refused wrong:.*"no_such_name" is undefined'):
        compiler.compile("__global__ void wrong() { no_such_name; }", "wrong")
