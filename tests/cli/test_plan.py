"""`whir-mlx plan` and the estimates behind it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cli_runner import ROOT, run, run_json
from whir_mlx.kernels.targets.cpu import available


def test_plan():
    answer = run_json("plan", "--n", "20")
    assert 90_000 < answer["proof_bytes"] < 130_000 and 10**8 < answer["peak_bytes"] < 10**9
    assert answer["security"]["min_bits"] == min(term["bits"] for term in answer["security"]["terms"])
    text = run("plan", "--n", "24", "--soundness", "unique", "--max-memory", "100")[0]
    assert "memory" in text and "bytes" in text and "union" in text


def test_what_cannot_fit_is_refused():
    error = run_json("plan", "--n", "20", "--max-memory", "0.1", code=1)["error"]
    assert error["type"] == "MemoryError" and "0.1" not in error["message"].split("allowed")[1]
    sizes = ("--n", "28", "--log-inv-rate", "3", "--fold", "6", "--security", "60", "--soundness", "unique")
    assert "2^31 words" in run_json("plan", *sizes, "--pow-bits", "30", code=1)["error"]["message"]


def test_a_target_that_cannot_be_reached():
    error = run_json("plan", "--n", "23", code=1)["error"]
    assert error["kind"] == "PowBitsExceedBudget"
    assert "1 more than the budget" in error["message"] and "security_level=99" in error["message"]
    run("plan", "--n", "23", "--security", "99", "--max-memory", "100")
    assert run_json("plan", "--n", "20", "--pow-bits", "10", code=1)["error"]["kind"] == "PowBitsExceedBudget"


def test_capacity_is_said_to_be_a_conjecture():
    stdout, stderr = run("plan", "--n", "16", "--soundness", "capacity", "--security", "80")
    assert "CONJECTURED" in stdout and "refuted" in stderr
    assert run_json("plan", "--n", "16", "--soundness", "capacity", "--security", "80")["security"]["conjectured"]


def test_usage():
    for options in ((), ("--n", "8", "--table", "8:1"), ("--columns", "2"), ("--table", "8:x"), ("--n", "x")):
        run("plan", *options, code=2)


CASES = [
    {"num_variables": 18},
    {"num_variables": 17, "folding_factor": 2, "security_level": 60},
    {"tables": [(15, 3), (13, 5)], "layout": "prefix", "tree": "ary4", "security_level": 80},
]

PROVE = """
import sys, json, numpy, whir_mlx
from whir_mlx.estimate import estimate
from whir_mlx.protocol.proof import size_bytes
pcs = whir_mlx.Whir(**json.loads(sys.argv[1]), device="cpu")
shapes = [(shape.columns, 1 << shape.log_rows) for shape in pcs.layout.tables]
commitment, data = pcs.commit([whir_mlx.splitmix(0, c * r).reshape(c, r) for c, r in shapes])
proof = pcs.open(data)
peak = [int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
expected = estimate(pcs.choices)
print(json.dumps([peak, expected.peak_bytes, size_bytes(proof) + commitment.cap.nbytes, expected.proof_bytes]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
@pytest.mark.skipif(not available(), reason="needs a C++ compiler")
@pytest.mark.parametrize("keywords", CASES)
def test_estimates_hold_against_what_happens(keywords):
    # Sizes at which arrays outweigh the interpreter; a process of its own, since its peak is what is looked at.
    done = subprocess.run(
        [sys.executable, "-c", PROVE, json.dumps(keywords)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    peak, expected_peak, size, expected_size = json.loads(done.stdout)
    # Never less than what is taken, and not so much more that what fits is refused.
    assert peak <= expected_peak <= 1.8 * peak
    assert expected_size == pytest.approx(size, rel=0.05)
