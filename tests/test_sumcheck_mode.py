"""Openings on the GPU, on the CPU over what the GPU committed, and whichever is faster: the same proofs.

GPUs are emulated (tests/emulated.py): "cuda" copies its arrays to the host, "metal" lets the host read them in place.
"""

import json

import numpy as np
import pytest

from tests.cli.cli_runner import run, run_json
from tests.emulated import EmulatedGpu
from tests.helpers import load_proof
from tests.proving import commit, tail_of
from whir_mlx import DeviceError, Whir, splitmix, sumcheck_mode
from whir_mlx.kernels.device import get_device, host_target
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.protocol.prover import open_proof
from whir_mlx.sumcheck_mode import choose_mode, on_host, opening_data, opening_device

SMALL = {"folding_factor": 2, "security_level": 30, "pow_bits": 4}
VALUES = splitmix(7, 256)
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty place for choices, and none remembered (compiled kernels stay where they are)."""
    monkeypatch.setattr(sumcheck_mode, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(sumcheck_mode, "_REMEMBERED", {})
    return tmp_path / "cache"


def clock(monkeypatch, device: float, host: float):
    """Let openings seem to take so many seconds: a warm-up and a run on the device, then the same on the host."""
    times = iter(np.cumsum([0, 9, 0, device, 0, 9, 0, host]).tolist())

    class Clock:
        perf_counter = staticmethod(lambda: next(times))

    monkeypatch.setattr(sumcheck_mode, "time", Clock)


# ---- the same proofs -------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("target", ["cuda", "metal"])
@pytest.mark.parametrize("name", ["suffix_n10_k4_johnson", "prefix_tables", "suffix_tables_next", "suffix_n11_ary4"])
def test_a_host_opening_is_the_crates_number_for_number(name, target):
    case, device = load_proof(name), EmulatedGpu(target)
    data = commit(case.args, case.arguments, device)
    device.launched.clear()
    moved = opening_data("host", data, case.arguments["schedule"], None)
    assert moved.device is get_device(host_target())
    assert open_proof(moved, case.arguments["schedule"]) == case.proof
    # Committing absorbed the commitment: the GPU does nothing more.
    assert device.launched == []
    assert open_proof(data, case.arguments["schedule"]) == case.proof


@needs_compiler
@pytest.mark.parametrize(("target", "shared"), [("metal", True), ("cuda", False)])
def test_unified_memory_is_read_in_place(target, shared):
    case = load_proof("suffix_tables_next")
    data = commit(case.args, case.arguments, EmulatedGpu(target))
    moved = on_host(data)
    pairs = [(data.tree.rows, moved.tree.rows), (data.f, moved.f), *zip(data.tables, moved.tables)]
    for mine, theirs in [*pairs, *zip(data.tree.layers, moved.tree.layers)]:
        assert isinstance(theirs, np.ndarray) and np.array_equal(theirs, np.array(mine))
        assert np.shares_memory(theirs, np.array(mine, copy=False)) == shared
        assert not (shared and theirs.flags.writeable)
    assert tail_of(moved.transcript) == tail_of(data.transcript.fork())


@needs_compiler
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_modes_on_the_host_itself(device, folder):
    made = []
    for mode in sumcheck_mode.SUMCHECK_MODES:
        pcs = Whir(8, **SMALL, device=device, sumcheck=mode)
        commitment, data = pcs.commit(VALUES)
        made.append((commitment, pcs.open(data)))
        assert pcs.opening_device(data).name == ("cpu" if mode == "host" else device)
    assert made[0] == made[1] == made[2]
    assert not folder.exists()  # there is nothing to choose


def test_without_a_compiler_the_host_is_numpy(monkeypatch):
    monkeypatch.setattr(sumcheck_mode, "host_target", lambda: "numpy")
    proofs = []
    for mode in ("device", "host"):
        pcs = Whir(8, **SMALL, device="numpy", sumcheck=mode)
        proofs.append(pcs.open(pcs.commit(VALUES)[1]))
    assert proofs[0] == proofs[1]


def test_other_modes_are_refused():
    with pytest.raises(ValueError, match="sumcheck must be one of device, host, auto, got 'gpu'"):
        Whir(8, **SMALL, sumcheck="gpu", device="numpy")


# ---- auto ------------------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(("device_seconds", "host_seconds", "choice"), [(1, 2, "device"), (2, 1, "host")])
def test_auto_takes_the_faster_and_remembers_it(folder, monkeypatch, device_seconds, host_seconds, choice):
    clock(monkeypatch, device_seconds, host_seconds)
    gpu = EmulatedGpu(device_name="Emulated 9")
    pcs = Whir(8, **SMALL, device=gpu, sumcheck="auto")
    commitment, data = pcs.commit(VALUES)
    assert pcs.opening_device(data) is gpu and not folder.exists()
    proof = pcs.open(data)
    assert proof == Whir(8, **SMALL, device="numpy").open(Whir(8, **SMALL, device="numpy").commit(VALUES)[1])
    assert pcs.opening_device(data).name == ("cuda" if choice == "device" else "cpu")
    (path,) = folder.iterdir()
    record = json.loads(path.read_text())
    assert record["choice"] == choice and record["ms"] == {"device": 1e3 * device_seconds, "host": 1e3 * host_seconds}
    for part in ("Emulated 9", "cuda", 8):
        assert part in record["key"].values()
    # Another process has nothing in memory, reads the file, and times nothing.
    monkeypatch.setattr(sumcheck_mode, "_REMEMBERED", {})
    monkeypatch.setattr(sumcheck_mode, "_measure", None)
    assert pcs.open(data) == proof
    assert choose_mode(data, None, None) == choice
    pcs.verify(commitment, proof)


@needs_compiler
def test_every_size_device_and_target_has_its_own_choice(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(sumcheck_mode, "_measure", lambda key, *_: asked.append(key) or "device")
    for gpu in (EmulatedGpu(), EmulatedGpu(device_name="other"), EmulatedGpu("metal")):
        for keywords in ({**SMALL}, {**SMALL, "pow_bits": 6, "security_level": 36}):
            for n in (5, 6):
                _, data = Whir(n, **keywords, device=gpu).commit(splitmix(1, 1 << n))
                assert choose_mode(data, None, None) == "device"
    assert len(asked) == len(set(asked)) == 12
    assert all(json.loads(key)["whir-mlx"] and "num_variables" in json.loads(key) for key in asked)


@needs_compiler
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"choice": "host"}', b"\xff\xfe", b'{"key": {}, "choice": "host"}']
)
def test_a_file_that_cannot_be_trusted_is_measured_again(folder, monkeypatch, content):
    gpu = EmulatedGpu()
    pcs = Whir(6, **SMALL, device=gpu, sumcheck="auto")
    _, data = pcs.commit(VALUES[:64])
    key = sumcheck_mode._key(data)
    folder.mkdir()
    sumcheck_mode._path(key).write_bytes(content)
    clock(monkeypatch, 1, 2)
    pcs.open(data)
    assert json.loads(sumcheck_mode._path(key).read_text())["choice"] == "device"


@needs_compiler
def test_a_cache_that_cannot_be_written_costs_only_the_memory(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sumcheck_mode, "cache_folder", lambda: tmp_path / "file" / "below")
    monkeypatch.setattr(sumcheck_mode, "_REMEMBERED", {})
    clock(monkeypatch, 2, 1)
    pcs = Whir(6, **SMALL, device=EmulatedGpu(), sumcheck="auto")
    _, data = pcs.commit(VALUES[:64])
    assert pcs.open(data) == pcs.open(data)
    assert pcs.opening_device(data).name == "cpu"


@needs_compiler
def test_proofs_that_differ_are_an_error(folder, monkeypatch):
    pcs = Whir(6, **SMALL, device=EmulatedGpu(), sumcheck="auto")
    _, data = pcs.commit(VALUES[:64])
    _, other = pcs.commit(VALUES[64:128])
    moved = sumcheck_mode.on_host
    monkeypatch.setattr(sumcheck_mode, "on_host", lambda data: moved(other))
    with pytest.raises(DeviceError, match="different proofs"):
        pcs.open(data)
    assert opening_device("auto", data) is data.device  # and nothing is remembered


# ---- the command line ------------------------------------------------------------------------------------------------


@needs_compiler
def test_the_command_line_makes_one_file_in_every_mode(tmp_path):
    options = ("random:10:3", "--security", "60", "--pow-bits", "8", "--device", "numpy")
    files = []
    for mode in ("device", "host", "auto"):
        path = tmp_path / mode
        answer = run_json("prove", *options, "-o", str(path), "--sumcheck", mode)
        files.append(path.read_bytes())
        where = {phase["name"]: phase.get("backend") for phase in answer["phases"]}
        assert (where["commit"], where["open"]) == ("numpy", "cpu" if mode == "host" else "numpy")
    assert files[0] == files[1] == files[2]
    run("prove", *options, "-o", str(tmp_path / "x"), "--sumcheck", "gpu", code=2)
