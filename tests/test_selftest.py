"""The self-test: its known answers, wrong devices that it finds, the check before a GPU's first use, the command."""

import json
import warnings

import numpy as np
import pytest

from tests.cli.cli_runner import run, run_json
from tests.helpers import host_device
from whir_mlx.errors import DeviceError
from whir_mlx.kernels import device as devices
from whir_mlx.kernels.device import Device, get_device
from whir_mlx.kernels.targets import gpu
from whir_mlx.kernels.text import FOLDER
from whir_mlx.selftest import checks, machine_facts
from whir_mlx.selftest import run as run_checks
from whir_mlx.selftest.answers import digest, known_answers
from whir_mlx.selftest.cases import kernel_cases
from whir_mlx.selftest.proofs import LARGE, PROOFS, make_pcs, prove, tables_of

CASES = {case.label: case for case in kernel_cases()}


class WrongDevice(Device):
    """NumPy, under a GPU's name where asked, with one bit of every result of `operation` flipped."""

    def __init__(self, name: str = "numpy"):
        super().__init__("numpy")
        self.called = name

    def numpy(self, x):
        wrong = np.array(x)
        wrong.reshape(-1)[-1:] ^= 1
        return wrong


def test_every_kernel_has_a_case():
    """Some kernels run under another operation's name: query_tables in query_weights, ext_sum_group in
    ext_sum."""
    covered = {label.split(":")[0] for label in CASES} | {"query_tables", "ext_sum_group"}
    assert {path.stem for path in FOLDER.glob("*.metal")} <= covered


def test_answers_are_those_of_the_cases():
    assert set(known_answers()) == {*CASES, *PROOFS}


@pytest.mark.parametrize("label", CASES)
def test_answers_are_numpys(label):
    assert digest(CASES[label].run(get_device("numpy"))) == known_answers()[label]


@pytest.mark.parametrize("label", [label for label in PROOFS if label != LARGE])
def test_proofs_are_known(label):
    pcs = make_pcs(label, host_device())
    assert digest(prove(pcs, tables_of(pcs))) == known_answers()[label]


def test_all_checks_pass_here():
    """On the CPU target where there is a compiler, else NumPy, which leaves the proof of 2^18 out and says so."""
    found = list(run_checks(host_device()))
    assert [check for check in found if check.ok is False] == []
    assert len(found) == len(known_answers()) + 1 and all(check.first_seconds > 0 for check in found if check.ok)
    assert all(check.ok or check.label == LARGE for check in found)


def test_a_wrong_device_is_found_by_every_check():
    found = {check.label: check for check in run_checks(WrongDevice(), large=False)}
    assert [label for label, check in found.items() if check.ok is not False] == []
    assert "not [" in found["quick check"].fault
    assert "1 of 4 words of result 0 are wrong, the first at 3" in found["dot"].fault


def test_facts():
    facts = machine_facts(get_device("numpy"))
    assert facts["device"] == "numpy" and {"system", "machine", "python", "mlx", "numpy", "whir_mlx"} <= set(facts)


# The check before a GPU's first use, with NumPy in place of the GPU.


@pytest.fixture
def stand_in(monkeypatch):
    """A function that makes `metal` exist, right or wrong, as long as the test runs."""

    def make(device: Device):
        original = devices._make.__wrapped__
        monkeypatch.setattr(devices, "_make", lambda name: device if name == "metal" else original(name))
        monkeypatch.setattr(gpu, "usable_gpu", lambda: "metal")
        monkeypatch.delenv("WHIR_MLX_DEVICE", raising=False)
        clear()

    def clear():
        for cached in (devices._fault, devices._best, devices._warn_of_fault):
            cached.cache_clear()

    yield make
    monkeypatch.undo()
    clear()


def test_a_right_gpu_is_used(stand_in):
    right = Device("numpy")
    stand_in(right)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_device("auto") is right and get_device("metal") is right


def test_a_wrong_gpu_is_replaced_with_a_warning(stand_in):
    stand_in(WrongDevice())
    with pytest.warns(RuntimeWarning, match=r"fails its self-test and is not used .*whir-mlx selftest.* came out as"):
        assert get_device("auto").name in ("cpu", "numpy")
    with warnings.catch_warnings():  # once a process
        warnings.simplefilter("error")
        assert get_device("auto").name in ("cpu", "numpy")


def test_a_wrong_gpu_by_name_is_refused(stand_in, monkeypatch):
    stand_in(WrongDevice())
    with pytest.raises(DeviceError, match="device 'metal' fails its self-test"):
        get_device("metal")
    assert isinstance(get_device("metal", check=False), WrongDevice)
    monkeypatch.setenv("WHIR_MLX_DEVICE", "metal")
    with pytest.raises(DeviceError, match="device 'metal' fails its self-test"):
        get_device("auto")


def test_the_check_can_be_turned_off(stand_in, monkeypatch):
    stand_in(WrongDevice())
    monkeypatch.setenv("WHIR_MLX_SELFTEST", "0")
    assert isinstance(get_device("metal"), WrongDevice) and isinstance(get_device("auto"), WrongDevice)


def test_an_error_of_the_back_end_is_a_fault(stand_in):
    class Broken(WrongDevice):
        def asarray(self, x):
            raise RuntimeError("[metal::Device] Unable to build metal library from source")

    stand_in(Broken())
    with pytest.raises(DeviceError, match=r"RuntimeError: .*Unable to build metal library"):
        get_device("metal")


# The command


def test_command_tells_all():
    text, errors = run("selftest", "--quick", "--device", host_device().name)
    assert errors.startswith("1. quick check: ") and errors.count(" s again") == len(known_answers())
    assert f"{len(known_answers())} of {len(known_answers())} checks right" in text
    assert "tree_layers" in text and "python" in text


def test_kernels_to_compile_are_all_there_are():
    """A GPU that compiles beforehand compiles each kernel file, and each specialisation once."""
    lazy = Device("metal")
    listed = checks._kernels(lazy)
    assert {name for name, _, _ in listed} == {path.stem for path in FOLDER.glob("*.metal")}
    assert len(set(listed)) == len(listed) and checks._kernels(Device("numpy")) == ()


def test_command_as_json():
    values = run_json("selftest", "--quick", "--device", host_device().name)
    assert values["ok"] and values["machine"]["device"] == host_device().name
    assert {check["label"] for check in values["checks"]} == {"quick check", *known_answers()} - {LARGE}


def test_command_fails_where_a_check_does(stand_in):
    stand_in(WrongDevice())
    text, errors = run("selftest", "--quick", "--device", "metal", code=1)
    assert "WRONG" in text and "error: quick check:" in errors
    assert json.loads(run("selftest", "--quick", "--device", "metal", "--json", code=1)[0])["ok"] is False


def test_a_missing_device_is_an_error():
    if gpu.usable_gpu() == "cuda":
        pytest.skip("this machine has CUDA")
    assert "needs an NVIDIA GPU" in run("selftest", "--device", "cuda", code=1)[1]
