"""`whir-mlx prove`: inputs of every kind, refusals before the work, and what is reported."""

import json
import os
import struct
import subprocess
import sys

import mlx.core as mx
import numpy as np
import pytest
from safetensors.numpy import save_file

import whir_mlx
from tests.cli.cli_runner import ROOT, SMALL, run, run_json, start
from whir_mlx.kernels.device import get_device
from whir_mlx.parameters_file import from_dict

VALUES = whir_mlx.splitmix(3, 128)


def prove(source, output, *options, **keywords):
    return run_json("prove", source, "-o", output, *SMALL, *options, **keywords)


def refused(source, output, *options, code=1):
    """The message of a refusal that leaves no file."""
    error = prove(source, output, *options, code=code)["error"]["message"]
    assert not os.path.exists(output)
    assert os.listdir(output.parent) == [] or output.parent.name != "out"
    return error


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "proof.whir"


def test_random_is_splitmix_of_its_seed(out):
    made = prove("random:7:3", out)
    commitment, _ = whir_mlx.Whir(7, folding_factor=2, security_level=30, pow_bits=4).commit(VALUES)
    assert made["commitment"] == commitment.hex()
    assert prove("random:2^7:3", out)["commitment"] == commitment.hex()
    assert prove("random:7", out)["commitment"] == prove("random:7:0", out)["commitment"] != commitment.hex()


def test_files_of_each_kind_hold_the_same_statement(tmp_path, out):
    array = VALUES.astype(np.int64)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", w=array)
    save_file({"w": array}, tmp_path / "a.safetensors")
    expected = prove("random:7:3", out)["commitment"]
    for name, names in (("a.npy", None), ("a.npz", ["w"]), ("a.safetensors", ["w"])):
        made = prove(tmp_path / name, out)
        assert (made["commitment"], made["parameters"]["names"]) == (expected, names)
        run("verify", out, "--commitment", expected)


def test_named_arrays_become_tables(tmp_path, out):
    np.savez(tmp_path / "a.npz", w=VALUES.reshape(2, 64), b=VALUES[:30])
    assert "power of two" in refused(tmp_path / "a.npz", out)
    made = prove(tmp_path / "a.npz", out, "--pad", "--next", "--points", "2")
    assert made["parameters"]["tables"] == [[6, 2], [5, 1]]
    opened = run_json("verify", out)["opened"]
    assert [(entry["name"], len(entry["next_values"])) for entry in opened] == [("w", 2), ("w", 2), ("b", 1), ("b", 1)]


def test_floats_are_refused_and_encoded_when_asked(tmp_path, out):
    weights = np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8)
    save_file({"w": weights}, tmp_path / "w.safetensors")
    assert "--encode bits" in refused(tmp_path / "w.safetensors", out)
    made = prove(tmp_path / "w.safetensors", out, "--encode", "bits")
    limbs = whir_mlx.encode_bits(weights)
    pcs = whir_mlx.Whir(tables={"w": (7, 1)}, folding_factor=2, security_level=30, pow_bits=4)
    assert made["commitment"] == pcs.commit({"w": limbs}, pad=True)[0].hex()
    assert run_json("verify", out)["from_file"]["encoding"] == "bits"


def test_bfloat16(tmp_path, out):
    weights = mx.array([1.0, -2.5, float("nan"), 0.0], dtype=mx.bfloat16)
    mx.save_safetensors(str(tmp_path / "w.safetensors"), {"w": weights})
    assert "bfloat16" in refused(tmp_path / "w.safetensors", out)
    made = prove(tmp_path / "w.safetensors", out, "--encode", "bits")
    pcs = whir_mlx.Whir(2, folding_factor=2, security_level=30, pow_bits=4)
    assert made["commitment"] == pcs.commit(whir_mlx.encode_bits(weights))[0].hex()


def test_chosen_points(tmp_path, out):
    np.save(tmp_path / "one.npy", np.ones(7, np.uint32))
    (tmp_path / "two.json").write_text(json.dumps([[0, 0, 0, 0]] * 6 + [[1, 0, 0, 0]]))
    prove("random:7:3", out, "--point", tmp_path / "one.npy", "--point", tmp_path / "two.json")
    opened = run_json("verify", out)["opened"]
    assert [entry["values"][0] for entry in opened] == [[int(VALUES[127]), 0, 0, 0], [int(VALUES[1]), 0, 0, 0]]


@pytest.mark.parametrize("text", ["random:", "random:x", "random:7:", "random:-1", "random:7:2:3", "random:31"])
def test_malformed_random_is_wrong_usage(out, text):
    assert "INPUT" in run("prove", text, "-o", out, code=2)[1]


@pytest.mark.parametrize(
    "options",
    [("--fold", "x"), ("--fold", "2", "--fold-schedule", "2,2"), ("--soundness", "maybe"), ("--device", "tpu")],
)
def test_wrong_usage(out, options):
    run("prove", "random:7", "-o", out, *options, code=2)
    run("prove", "random:7", code=2)


def npy(array):
    return lambda path: np.save(path, array)


def text(content):
    return lambda path: path.write_bytes(content)


HEADER = json.dumps({"w": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
BAD_FILES = {
    "a.npy": (text(b"not numpy"), "not a whole .npy"),
    "b.npy": (npy(np.array([{}], dtype=object)), "not a whole .npy"),
    "c.npy": (npy(np.array([-1, 2])), "got -1 at index [0]"),
    "d.npy": (npy(np.array([1, whir_mlx.P], np.uint32)), f"got {whir_mlx.P} at index [1]"),
    "e.npy": (npy(np.array([1.0, np.nan])), "holds float64"),
    "f.npy": (npy(np.zeros((2, 2, 2), np.uint32)), "(rows,) or (columns, rows)"),
    "g.npy": (npy(np.zeros(0, np.uint32)), "empty"),
    "h.npy": (npy(np.uint32(3)), "(rows,) or (columns, rows)"),
    "a.npz": (text(b"PK\x03\x04 and then nothing"), "not a whole .npz"),
    "b.npz": (lambda path: np.savez(path), "no array"),
    "a.safetensors": (text(struct.pack("<Q", 2**40)), "not a whole .safetensors"),
    "b.safetensors": (text(struct.pack("<Q", len(HEADER)) + HEADER + b"ab"), "F8_E4M3"),
    "a.txt": (text(b"1 2 3 4"), "must be a .npy"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, out, name):
    write, message = BAD_FILES[name]
    write(tmp_path / name)
    assert message in refused(tmp_path / name, out)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.safetensors"])
def test_truncated_and_missing_files(tmp_path, out, name):
    assert "No such file" in refused(tmp_path / name, out)
    {"a.npy": np.save, "a.npz": lambda p, x: np.savez(p, w=x), "a.safetensors": lambda p, x: save_file({"w": x}, p)}[
        name
    ](tmp_path / name, VALUES)
    whole = (tmp_path / name).read_bytes()
    for length in (0, 5, len(whole) // 2, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:length])
        assert "not a whole" in refused(tmp_path / name, out)


def test_outputs_that_cannot_be_written_are_refused_first(tmp_path, monkeypatch):
    monkeypatch.setattr(whir_mlx.Whir, "commit", lambda *a, **k: pytest.fail("the work was begun"))
    for output in (tmp_path, tmp_path / "no" / "folder" / "a.whir", "/proc/a.whir"):
        answer = run_json("prove", "random:7", "-o", output, *SMALL, code=1)
        assert not answer["ok"] and answer["error"]["message"]
    np.save(tmp_path / "a.npy", VALUES)
    error = run_json("prove", tmp_path / "a.npy", "-o", tmp_path / "a.npy", *SMALL, code=1)["error"]
    assert "is the input" in error["message"]


def test_a_failure_leaves_the_old_file(out, monkeypatch):
    prove("random:7", out)
    before = out.read_bytes()
    monkeypatch.setattr(whir_mlx.Whir, "open", lambda *a, **k: (_ for _ in ()).throw(RuntimeError("gone")))
    assert prove("random:7:1", out, code=1)["error"]["message"] == "gone"
    assert out.read_bytes() == before and os.listdir(out.parent) == [out.name]


def test_a_stopped_gpu_is_explained(out, monkeypatch):
    words = "[METAL] Command buffer execution failed: Impacting Interactivity (0000000e)"
    monkeypatch.setattr(whir_mlx.Whir, "commit", lambda *a, **k: (_ for _ in ()).throw(RuntimeError(words)))
    message = refused("random:7", out)
    assert "display" in message and "--device cpu" in message and words in message


def test_refused_parameters_and_memory(out):
    error = run_json("prove", "random:7", "-o", out, "--log-inv-rate", "0", code=1)["error"]
    assert error["kind"] == "NonRedundantStartingRate"
    assert "allowed by --max-memory" in refused("random:7", out, "--max-memory", "0.01")


def test_a_missing_device_is_an_error_and_not_another_device(out):
    if mx.metal.is_available():
        pytest.skip("this machine has Metal")
    for option in ("--device", "--backend"):
        error = prove("random:7", out, option, "metal", code=1)["error"]
        assert error["type"] == "DeviceError" and "Mac" in error["message"]
    assert not out.exists()


def test_the_report_says_where_each_phase_ran(out):
    made = prove("random:7", out)
    where = {phase["name"]: phase.get("backend") for phase in made["phases"]}
    assert where == {"read": None, "commit": get_device().name, "open": get_device().name, "write": None}
    assert all(phase["seconds"] >= 0 for phase in made["phases"])
    numpy = prove("random:7", out, "--device", "numpy")
    assert {phase.get("backend") for phase in numpy["phases"]} == {None, "numpy"}
    assert numpy["commitment"] == made["commitment"]
    assert made["file_bytes"] == out.stat().st_size > made["proof_bytes"] > 0
    assert made["security"]["union_bits"] <= made["security"]["min_bits"]


def test_the_file_holds_the_statement(out):
    options = ("--fold-schedule", "2,3", "--layout", "prefix", "--tree", "ary4", "--cap-height", "1")
    made = run_json(
        "prove", "random:9", "-o", out, *options, "--security", "30", "--pow-bits", "6", "--round-log-inv-rates", "2"
    )
    parameters, commitment, _ = whir_mlx.read_proof_file(out)
    choices = from_dict(parameters).choices
    assert choices.folding.factors == (2, 3) and choices.order == "prefix" and choices.tree.arity == 4
    assert choices.config.round_log_inv_rates == (2,)
    assert {key: made["parameters"][key] for key in parameters} == parameters
    assert len(commitment.cap) > 1


def test_capacity_warns(out):
    stdout, stderr = run("prove", "random:7", "-o", out, *SMALL, "--soundness", "capacity")
    assert "warning" in stderr and "refuted" in stderr and "CONJECTURED" in stdout


def test_no_progress_where_there_is_no_terminal(out):
    stdout, stderr = run("prove", "random:7", "-o", out, *SMALL)
    assert stderr == "" and "\x1b" not in stdout and "commitment" in stdout


def test_four_processes_make_one_proof(tmp_path):
    processes = [start("prove", "random:7", *SMALL, "--json", "-o", tmp_path / f"{i}.whir") for i in range(4)]
    answers = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, answers
    assert len({json.loads(stdout)["commitment"] for stdout, _ in answers}) == 1
    assert len({(tmp_path / f"{i}.whir").read_bytes() for i in range(4)}) == 1


def test_four_processes_share_an_empty_kernel_cache(tmp_path):
    # One small kernel (and the thread pool) that all four build at the same moment.
    code = (
        "import numpy as np; from whir_mlx import field\n"
        "print(int(field.sum(field.mul(np.arange(99, dtype=np.uint32), np.arange(99, dtype=np.uint32)))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WHIR_MLX_CACHE": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, answers
    assert len({stdout for stdout, _ in answers}) == 1
    assert not list((tmp_path / "cache").glob("build-*"))
