"""`whir-mlx bench`: what its results hold. No test looks at a time; 2^9 is the smallest size that has a round."""

import json
import stat
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.cli.cli_runner import run, run_json
from tests.helpers import host_device
from whir_mlx.bench import throughput
from whir_mlx.bench.crate import CrateProcess, CrateRefused, CrateTimeout, crate_binary
from whir_mlx.bench.cuda_trace import _short
from whir_mlx.bench.grid import bench_grid
from whir_mlx.bench.machine import with_threads
from whir_mlx.bench.proofs import Prover
from whir_mlx.bench.shapes import SHAPES, Shape, article_grid
from whir_mlx.bench.stages import GLUE, WATCHING, profile_proof
from whir_mlx.bench.throughput import bench_kernels, cases
from whir_mlx.bench.work import STAGES, products_of_permutation, stage_of
from whir_mlx.errors import ParameterError
from whir_mlx.kernels.targets.compiler import find_compiler
from whir_mlx.kernels.text import FOLDER

TINY = Shape("tiny", "johnson", 20, 3, fold=2)
"""At 2^9: one round, grinding of a few tries."""


def quiet(text):
    """No progress lines."""


# ---- statements ------------------------------------------------------------------------------------------------------


def test_first_domain_reduction():
    """S shrinks its first round's domain by 8, later ones by 2; J and U have the default rates."""
    assert SHAPES["S"].rates(22) == (2, 5, 8)
    assert SHAPES["J"].statement(18).choices.config.round_log_inv_rates == (4, 7)
    # A fold of 1 cannot shrink the domain by more than 2.
    assert Shape("", "capacity", 80, 16, fold=1, reduction=3).rates(9)[:2] == (1, 1)


def test_crate_args_name_every_parameter():
    args = SHAPES["S"].crate_args(18, 3)
    assert args == {
        "tables": [[18, 1]], "seed": 3, "fold": 4, "rate": 1, "rates": [2, 5], "security": 80, "pow": 16,
        "soundness": "CapacityBound",
    }  # fmt: skip


def test_article_grid_has_every_configuration():
    cells = [(n, shape.fold, shape.rate) for n, shape in article_grid((18, 20, 22, 24))]
    assert len(cells) == len(set(cells)) == 4 * 6 * 3 + 2
    assert {(22, 1, 6), (22, 6, 5), (24, 8, 3), (18, 1, 1)} <= set(cells)
    for n, shape in article_grid((18, 20, 22, 24)):
        try:
            shape.statement(n)
        except ParameterError as error:
            assert error.kind == "PowBitsExceedBudget"


def test_every_kernel_has_a_stage():
    """But for those that no proof launches."""
    others = {path.stem for path in FOLDER.glob("*.metal") if stage_of(path.stem) == "other"}
    assert others <= {"field_arithmetic", "poseidon2", "simd_width"}


# ---- whole proofs ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    output = tmp_path_factory.mktemp("bench") / "results"
    return run_json("bench", "--shapes", "J", "--logs", "9,24", "--runs", 3, "--seeds", 2, "-o", output), output


def test_numbers_of_a_proof(proofs):
    values = proofs[0]
    assert values["kind"] == "proofs" and values["machine"]["versions"]["numpy"] == np.__version__
    row, _ = values["rows"]
    assert 0 < row["min_ms"] <= row["total_ms"] <= row["max_ms"]
    assert row["verify_ms"] > 0 and row["proof_bytes"] > 1000 and len(row["total_by_seed_ms"]) == 2
    assert row["peak_bytes"] > 10 * 2**20


def test_a_refused_shape_says_why(proofs):
    """J at 2^24 needs more grinding than its budget."""
    refused = proofs[0]["rows"][1]
    assert refused["n"] == 24 and "grinding" in refused["refused"] and "total_ms" not in refused


def test_results_files(proofs):
    values, output = proofs
    kept = json.loads(output.with_suffix(".json").read_text())
    assert kept == {key: values[key] for key in kept}
    page = output.with_suffix(".md").read_text()
    assert values["machine"]["date"] in page and "| J     |  9 |" in page


def test_threads():
    device = host_device()
    assert with_threads(device, None) is device
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        with_threads(device, 0)
    if hasattr(device, "threads"):
        assert with_threads(device, 3).threads == 3 and with_threads(device, 3) is not device


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--kernels", "--stages"), 2, "give one of"),
        (("--profile",), 2, "--profile needs -o"),
        (("--profile", "-o", "x.pdf"), 1, "must end in .html or .png"),
        (("-o", "x.txt"), 1, "must end in .json or .md"),
        (("--shapes", "S,X"), 2, "'X' is none of the shapes"),
        (("--against-crate", "--crate-binary", "missing"), 1, "no program of the crate at missing"),
        (("--against-crate", "--crate", "missing"), 1, "no crate.py in missing"),
    ],
)
def test_refused_before_any_work(arguments, code, message):
    assert message in run("bench", *arguments, code=code)[1]


# ---- stages ----------------------------------------------------------------------------------------------------------


def check_profile(profile):
    """The parts are those of the whole."""
    stages = profile.stages()
    assert set(stages) <= {*STAGES, WATCHING, GLUE}
    assert {"NTT", "sumcheck", "evaluation", "transcript"} <= set(stages)
    assert {"leaf hash", "few rows"} & set(stages)
    assert sum(row["launches"] for row in stages.values()) == len(profile.launches)
    assert sum(row["ms"] for row in stages.values()) == pytest.approx(profile.instrumented_ms)
    assert sum(row["ms"] for row in profile.kernels().values()) <= profile.instrumented_ms
    assert profile.plain_ms > 0


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
def test_profile_counts_work():
    """S at 2^9: the one codeword has 2^6 rows of 16 words, which take two permutations each; then 63 nodes."""
    device = host_device()
    profile = profile_proof(device, SHAPES["S"].statement(9), runs=1)
    check_profile(profile)
    stages = profile.stages()
    # The leaf kernel makes the two layers above the leaves as well.
    assert stages["leaf hash"]["permutations"] == 2 * 64 + 32 + 16
    assert stages["compression"]["permutations"] == 15
    assert stages["compression"]["products"] == 15 * products_of_permutation(16)
    witness = Prover(device, SHAPES["S"].statement(9)).prove()[1].whir.final_pow_witness
    assert stages["grind"]["permutations"] >= witness > 0


def test_products_of_a_permutation():
    """8 full rounds of 16 S-boxes and 13 partial ones, four products each."""
    assert products_of_permutation(16) == 4 * (8 * 16 + 13)


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
def test_profile_of_a_lazy_device():
    """Launches are watched one by one although the device compiles commit and open to one graph each."""
    from tests.kernels.cuda_emulator import EmulatedCuda

    device = EmulatedCuda()
    device.compile = lambda function: function  # it reads values, which a graph under construction does not have
    profile = profile_proof(device, replace(TINY, pow_bits=0).statement(9), runs=1)
    check_profile(profile)
    assert profile.method == "watched" and profile.sync_ms > 0
    assert "launch" not in vars(device)


def test_names_of_traced_kernels():
    ours = "mlx::core::cu::custom_kernel_hash_leaves_0123456789abcdef(unsigned int const*, unsigned int*)"
    assert _short(ours) == "hash_leaves"
    assert _short("void mlx::core::cu::copy_gg<unsigned int, long, 3>(unsigned int const*)") == "mlx copy_gg"
    assert _short("Memcpy DtoH (Device -> Pageable)") == "Memcpy DtoH"


def test_stages_command_and_picture(tmp_path):
    values = run_json("bench", "--stages", "--shapes", "J", "--logs", "9,24", "--runs", 1)
    row, refused = values["rows"]
    assert "grinding" in refused["refused"]
    assert row["stages"]["glue"]["launches"] == 0 and values["limits"]["copy_bytes_per_s"] > 1e8
    picture = tmp_path / "profile.html"
    run("bench", "--profile", "--shapes", "S", "--logs", 9, "--runs", 1, "-o", picture)
    page = picture.read_text()
    assert page.count("<svg") == 1 and "hash_leaves: " in page and "shape S, 2^9" in page


def test_picture_as_png(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "profile.png"
    run("bench", "--profile", "--shapes", "S", "--logs", 9, "--runs", 1, "-o", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


# ---- kernels ---------------------------------------------------------------------------------------------------------


def test_kernels_have_rates_and_limits():
    measured = bench_kernels(host_device(), cases((6,), (6,), (6,), (4,)), runs=1, say=quiet)
    rows = measured.values["rows"]
    assert len({row["kernel"] for row in rows}) == len(rows) == 14
    for row in rows:
        assert row["ms"] > 0 and row["per_s"] > 0, row
    rates = {row["kernel"]: row["copies_allow_per_s"] for row in rows}
    # A transform reads and writes 8 bytes an element.
    assert rates["ntt, 1 column"] == pytest.approx(measured.values["limits"]["copy_bytes_per_s"] / 8)
    assert any("poseidon2 width 16" in line for line in measured.as_lines())


def test_kernels_show_what_the_gpu_took(monkeypatch):
    # A record of 2 ms for the first case, and none for the others.
    taken = iter((2e-3,))
    monkeypatch.setattr(throughput, "_gpu_seconds", lambda device, call: next(taken, None))
    measured = bench_kernels(host_device(), cases((), (6,), (), ()), runs=1, say=quiet)
    first, second, *_ = measured.values["rows"]
    assert first["gpu_ms"] == 2 and first["gpu_per_s"] == pytest.approx(64 / 2e-3) and "gpu_ms" not in second
    assert first["gpu_share"] == pytest.approx(first["share"] * first["gpu_per_s"] / first["per_s"], abs=2e-4)
    table = [line for line in measured.as_lines() if line.startswith("| ")]
    assert len({line.count("|") for line in table}) == 1 and "GPU ms" in table[0]


def test_kernels_that_do_not_fit_are_named(monkeypatch):
    monkeypatch.setattr(throughput, "available_memory", lambda: 1 << 20)
    rows = bench_kernels(host_device(), cases((), (18,), (), ()), runs=1, say=quiet).values["rows"]
    assert "needs 0.0 GB" in rows[0]["refused"]


# ---- the grid --------------------------------------------------------------------------------------------------------


def test_grid_gives_a_result_or_a_reason():
    kept = []
    measured = bench_grid(
        host_device(), (8,), runs=1, binary=None, threads=None, budget_s=None, say=quiet, keep=kept.append
    )
    rows = measured.values["rows"]
    assert len(rows) == 18 == len(kept)
    assert len(kept[0].values["rows"]) == 1  # what was there after the first configuration
    assert all("ms" in row or "refused" in row for row in rows)
    assert any("ms" in row and row["fold"] == 1 for row in rows)


def test_grid_out_of_time():
    rows = bench_grid(host_device(), (24,), runs=1, binary=None, threads=None, budget_s=-1, say=quiet).values["rows"]
    assert all("not run" in row["refused"] for row in rows)


# ---- the crate -------------------------------------------------------------------------------------------------------

_FAKE = """#!{python}
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    seed, runs = request["args"]["seed"], request["runs"]
    if seed == 7:
        answer = {{"ok": False, "error": "FoldingFactor(ZeroFactor)"}}
    elif seed == 8:
        time.sleep(60)
    elif seed == 9:
        sys.exit(1)
    else:
        times = [1000.0] * runs
        answer = {{"ok": True, "commit_ms": times, "open_ms": times, "verify_ms": times, "lanes": 8, "peak_rss_kib": 2}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def fake(tmp_path):
    """A stand-in for the crate's driver, whose answer the seed decides."""
    program = tmp_path / "fake-crate"
    program.write_text(_FAKE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_crate_process(fake, monkeypatch):
    monkeypatch.setattr("whir_mlx.bench.crate._STARTING_S", 3)
    statement = TINY.statement(9)
    with CrateProcess(crate_binary(binary=str(fake))) as crate:
        with pytest.raises(CrateRefused, match="ZeroFactor"):
            crate.bench(statement, 7, runs=1, threads=1)
        with pytest.raises(CrateTimeout, match="no answer within"):
            crate.bench(statement, 8, runs=1, threads=1, run_limit_s=0.1)
        with pytest.raises(CrateRefused, match="ended without an answer"):
            crate.bench(statement, 9, runs=1, threads=1)
        # After an end another process answers.
        assert crate.bench(statement, 0, runs=2, threads=1)["total"] == [2000.0, 2000.0]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_against_crate_pairs(fake):
    values = run_json(
        "bench", "--against-crate", "--crate-binary", fake, "--shapes", "S", "--logs", 9, "--runs", 1, "--seeds", 3
    )
    (row,) = values["rows"]
    assert [pair["seed"] for pair in row["pairs"]] == [0, 1, 2]
    assert {pair["crate_ms"] for pair in row["pairs"]} == {2000.0} and row["crate_peak_bytes"] == 2048
    ratios = sorted(pair["ratio"] for pair in row["pairs"])
    assert row["ratio"] == ratios[1] == pytest.approx(row["ours_ms"] / 2000, abs=1e-3)


@pytest.mark.interop
def test_against_the_crate_itself():
    """The two sides prove the same statement: S at 2^9 with the crate's own times beside."""
    from tests.interop.crate import CrateUnavailable, build

    try:
        binary = build(native=True)
    except CrateUnavailable as error:
        pytest.skip(str(error))
    values = run_json("bench", "--against-crate", "--crate-binary", binary, "--shapes", "S", "--logs", 9, "--runs", 1)
    assert all(pair["crate_ms"] > 0 and pair["ours_ms"] > 0 for pair in values["rows"][0]["pairs"])
