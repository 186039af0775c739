"""Texts and launch shapes of the GPU targets, on any machine."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tests.kernels.metal_trace import trace
from tests.kernels.operation_cases import small_cases
from whir_mlx.errors import DeviceError
from whir_mlx.kernels.device import Device, get_device
from whir_mlx.kernels.fold_axis import _geometry
from whir_mlx.kernels.targets import gpu
from whir_mlx.kernels.targets.gpu_source import LONE_GROUPS, cuda_text, gpu_source, input_forms, precompiled_text
from whir_mlx.kernels.text import FOLDER, load
from whir_mlx.kernels.tuning import tuning_for

CLANG = shutil.which("clang++") or shutil.which("clang")
STUB = Path(__file__).with_name("cuda_stub.h")
KERNELS = sorted(path.stem for path in FOLDER.glob("*.metal"))
# Every specialisation that the wrappers ask for.
VALUES = {
    "climb": [{"WIDTH": width, "ARITY": arity} for width in (16, 24) for arity in (2, 4)],
    "compress": [{"WIDTH": 16}, {"WIDTH": 32}],
    "eq_table": [{"LOG_EACH": 3}],
    "ext_arithmetic": [{"OPERATION": i} for i in range(4)],
    "field_arithmetic": [{"OPERATION": i} for i in range(4)],
    "fold_axis": [{"MODE": mode, "EXT": ext} for mode in range(3) for ext in range(2)],
    "grind": [{"WIDTH": 16}],
    "hash_leaves": [{"WIDTH": 16}],
    "hash_rows": [{"WIDTH": 16}, {"WIDTH": 24}],
    "montgomery": [{"TO_MONTGOMERY": 0}, {"TO_MONTGOMERY": 1}],
    "ntt": [{"WIDE": wide, "TILE_WORDS": words, "DIRECT": 1} for wide in (0, 1) for words in (4096, 8192)],
    "poseidon2": [{"WIDTH": width} for width in (16, 24, 32)],
}


def specialised(target: str, name: str, values: dict[str, int], forms: str = ""):
    """`gpu_source` with the values in the order that a launch gives them."""
    return gpu_source(target, name, tuple(sorted(values.items())), forms)


@pytest.fixture
def no_gpu():
    if gpu.usable_gpu():
        pytest.skip("this machine has a GPU that MLX can use")


def test_specialisations_are_those_that_launches_ask_for(monkeypatch):
    """`VALUES` above against the values that the wrappers' launches gave."""
    asked: dict[str, set] = {}

    def generate(device, name, values, forms, original=gpu.GpuDevice.generate):
        asked.setdefault(name, set()).add(values)
        return original(device, name, values, forms)

    monkeypatch.setattr(gpu.GpuDevice, "generate", generate)
    for case in small_cases():
        trace(case)
    for name in KERNELS:
        assert asked[name] <= {tuple(sorted(values.items())) for values in VALUES.get(name, [{}])}, name


def test_names_tell_texts_apart():
    """One name must never stand for two texts: target, values and forms all change it."""
    names = {specialised("metal", "poseidon2", {"WIDTH": width}).name for width in (16, 24, 32)}
    names |= {
        specialised("cuda", "poseidon2", {"WIDTH": 16}).name,
        specialised("metal", "poseidon2", {"WIDTH": 16}, "cd").name,
    }
    assert len(names) == 5
    assert all(re.fullmatch(r"poseidon2_[0-9a-f]{16}", name) for name in names)


def test_macros_come_before_the_headers_that_use_them():
    header = specialised("metal", "hash_rows", {"WIDTH": 24}).header
    assert (
        header.index("#define KERNEL_FUNCTION")
        < header.index("#define WIDTH 24")
        < header.index("void poseidon2_permute")
    )
    assert "#include" not in header


def test_cuda_dialect_leaves_cudas_words_alone():
    """CUDA's __constant__ expands to a text with the word `constant`; were that a macro, arrays would be plain ones."""
    header = specialised("cuda", "poseidon2", {"WIDTH": 16}).header
    assert not re.search(r"#define (device|constant|shared|global|host|managed)\b", header)


def test_input_forms():
    """MLX's limit: arrays of fewer than 8 elements, empty ones included, are `constant`."""
    assert input_forms([0, 1, 7, 8, 1 << 20]) == "cccdd"


@pytest.mark.parametrize("name", KERNELS)
def test_every_body_uses_a_thread_position(name):
    """MLX generates a broken signature for a body without one."""
    text = load(name)
    assert text.attributes and all(attribute in text.body for _, attribute in text.attributes)


@pytest.mark.parametrize("name", KERNELS)
def test_no_buffer_name_asks_mlx_for_shapes(name):
    """`<input>_shape`, `_strides` or `_ndim` in a body adds a buffer."""
    text = load(name)
    assert not re.search(r"\w+_(shape|strides|ndim)\b", text.body)
    assert len(set(text.inputs + text.outputs)) == len(text.inputs + text.outputs) and text.inputs[0] == "size"


@pytest.mark.parametrize(
    ("grid", "group"),
    [
        ((1, 1, 1), (1, 1, 1)),
        ((1000, 1, 1), (256, 1, 1)),  # x may be rounded up
        ((100, 7, 1), (100, 1, 1)),  # 7 is odd, and y must not be rounded up
        ((16, 12, 1), (16, 4, 1)),
        ((1, 1 << 20, 1), (1, 256, 1)),
        ((4, 8, 64), (4, 8, 8)),
        ((200, 1 << 10, 4), (200, 1, 1)),
    ],
)
def test_choose_group(grid, group):
    assert gpu.choose_group(grid, tuning_for("metal")) == group


@pytest.mark.parametrize(
    ("threads", "group"),
    [(1, 1), (33, 32), (1 << 12, 32), (1 << 13, 64), (1 << 14, 128), (1 << 15, 256), (1 << 20, 256)],
)
def test_few_threads_spread_over_the_cores(threads, group):
    """CUDA's 128 groups, one a core, before a group grows past a SIMD group."""
    for grid in ((threads, 1, 1), (1, threads, 1)):
        chosen = gpu.choose_group(grid, tuning_for("cuda"))
        assert chosen == ((group, 1, 1) if grid[0] > 1 else (1, group if threads != 33 else 1, 1))


def test_groups_fit_for_all_small_grids():
    """256 threads at most; y and z divided without rest."""
    for x in (1, 2, 3, 31, 64, 85, 127, 128, 255, 256, 257):
        for y in range(1, 40):
            for z in (1, 2, 3, 8):
                across, down, deep = gpu.choose_group((x, y, z), tuning_for("metal"))
                assert across * down * deep <= 256 and y % down == 0 and z % deep == 0 and across <= x


@pytest.mark.parametrize(("name", "word"), [("metal", "Apple GPU"), ("cuda", "NVIDIA GPU")])
def test_missing_gpu_is_refused_in_one_sentence(no_gpu, name, word):
    with pytest.raises(DeviceError, match=word) as caught:
        get_device(name)
    assert "\n" not in str(caught.value) and f"'{name}'" in str(caught.value)
    assert gpu.usable_gpu() is None


def test_only_metal_can_be_traced(no_gpu):
    with pytest.raises(DeviceError, match="NVIDIA GPU"):
        gpu.GpuDevice("cuda", trace=True)


def test_too_large_an_output_is_refused():
    """MLX itself would end the process (std::terminate) at an axis of 2^31."""
    device = gpu.GpuDevice("metal", trace=True)
    with pytest.raises(ValueError, match=r"fewer than 2\^31 words"):
        device.launch("montgomery", (1,), [], [(1 << 29, 4)], grid=(1, 1, 1), values={"TO_MONTGOMERY": 1})


def test_arrays_in_and_out():
    device = gpu.GpuDevice("metal", trace=True)
    x = np.array([1, 2**32 - 1], np.uint32)
    y = device.asarray(x)
    assert isinstance(y, mx.array) and y.dtype == mx.uint32 and device.asarray(y) is y
    back = device.numpy(y)
    back[0] = 7
    assert y.tolist() == x.tolist() == [1, 2**32 - 1], "numpy() must not share memory with the MLX array"


def parse(text: str) -> str:
    """clang's complaints about a CUDA text, none where it is well-formed."""
    # The stub stands for the two includes of MLX's own.
    text = text.replace('#include "mlx/backend/cuda/device/utils.cuh"\n', "").replace(
        "#include <cooperative_groups.h>\n", ""
    )
    command = [
        CLANG,
        "-x",
        "cuda",
        "--cuda-device-only",
        "-nocudainc",
        "-nocudalib",
        "--cuda-gpu-arch=sm_80",
        "-std=c++17",
    ]
    command += ["-fsyntax-only", "-Wall", "-Werror", "-Wno-unknown-cuda-version", "-Wno-unused-variable"]
    done = subprocess.run([*command, "-include", str(STUB), "-"], input=text, capture_output=True, text=True)
    return done.stderr or ("" if done.returncode == 0 else f"exit code {done.returncode}")


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
def test_cuda_texts_parse():
    """Every specialisation, in the frame that MLX puts around it."""
    sources = [specialised("cuda", name, values) for name in KERNELS for values in VALUES.get(name, [{}])]
    with ThreadPoolExecutor(cpu_count()) as pool:
        complaints = list(pool.map(lambda source: parse(cuda_text(source)), sources))
    for source, complaint in zip(sources, complaints):
        assert not complaint, f"{source.name}:\n{complaint[:3000]}"


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
def test_cuda_parse_finds_an_undefined_name():
    source = specialised("cuda", "field_arithmetic", {"OPERATION": 0})
    text = cuda_text(source).replace("field_add(left, right)", "field_plus(left, right)")
    assert "undeclared identifier 'field_plus'" in parse(text)


def test_launch_bounds():
    """What NVRTC is told of a kernel's groups holds for the largest that a launch on CUDA may take."""
    tuning = Device("cuda").tuning
    most = {"challenge": 32, "replay": 32, "grind_sixteen": tuning.tree_threads, "tree_layers": tuning.tree_threads}
    most |= {"sumcheck_rest": tuning.rest_threads, "sumcheck_draw_fold": tuning.draw_threads}
    most |= {"hash_rows_four": tuning.group_threads, "climb": tuning.group_threads}
    assert set(LONE_GROUPS) == set(most) <= set(KERNELS)
    for name, threads in most.items():
        assert threads <= LONE_GROUPS[name] <= 1024
        text = precompiled_text(specialised("cuda", name, {}))
        assert text.count(f'extern "C" __global__ __launch_bounds__({LONE_GROUPS[name]}, 1) void {name}_') == 1
    assert "__launch_bounds__" not in precompiled_text(specialised("cuda", "compress", {"WIDTH": 16}))


def test_sums_over_many_rows_stay_in_cuda_grids():
    """2^24 rows of 256 columns (a polynomial of 2^32 cells is past every limit, its shape is not) in chunks of at
    most 2^15."""
    for log_rows in (0, 8, 23, 24):
        mode, across, down, each, _ = _geometry(Device("cuda"), 1 << log_rows, 256, 0)
        assert (mode, across, down * each) == (0, 256, 1 << log_rows)
        assert down <= 1 << 15
        # Along the other axis a row is one thread's, or the rows fit the grid.
        mode, across, down, each, _ = _geometry(Device("cuda"), 1 << log_rows, 256, 1)
        assert (across, down, each) == (1 << log_rows, 1, 256) if mode == 1 else down < 1 << 15
