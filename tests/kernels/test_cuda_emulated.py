"""The CUDA target's texts, grids and lazy paths run by the host compiler: every operation against its NumPy twin, and
whole proofs against the crates'."""

import pytest

from tests.helpers import PROOF_NAMES, load_proof
from tests.kernels.cuda_emulator import EmulatedCuda
from tests.kernels.operation_cases import small_cases
from tests.proving import commit
from whir_mlx.kernels.device import get_device
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.protocol.prover import open_proof, read_commitment

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")

CASES = {case.label: case for case in small_cases()}


@pytest.fixture(scope="module")
def device():
    return EmulatedCuda()


@pytest.mark.parametrize("label", CASES)
def test_operation(device, label):
    case = CASES[label]
    expected = case.run(get_device("numpy"))
    got = [device.numpy(x) for x in case.run(device)]
    assert [x.shape for x in got] == [x.shape for x in expected]
    for have, want in zip(got, expected):
        assert (have == want).all()


@pytest.mark.parametrize("name", PROOF_NAMES)
def test_vectors_number_for_number(device, name):
    case = load_proof(name)
    data = commit(case.args, case.arguments, device)
    assert read_commitment(data) == case.commitment
    assert open_proof(data, case.arguments["schedule"], points=case.arguments.get("points")) == case.proof
