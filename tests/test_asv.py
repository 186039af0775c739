"""The benchmark suite for asv: it imports without a GPU, its configuration is sound, and every benchmark runs once."""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from whir_mlx.kernels.targets.compiler import find_compiler

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "asv_benchmarks"
MODULES = ("kernels", "proofs", "import_time")
KINDS = re.compile("(time|timeraw|track|peakmem)_")
SLOW = {"track_cold", "track_warm"}
"""They compile every kernel anew; the cold one alone takes as long as all other tests of this file."""


def load(name: str):
    """A module of the suite, as asv imports it: from the folder that holds the package `benchmarks`."""
    sys.path.insert(0, str(SUITE))
    try:
        return importlib.import_module(f"benchmarks.{name}")
    finally:
        sys.path.remove(str(SUITE))


def bodies():
    """(class, benchmark's name, its parameters), each benchmark at its smallest parameters on the CPU."""
    for module in map(load, MODULES):
        for _, group in inspect.getmembers(module, inspect.isclass):
            if group.__module__ != module.__name__:
                continue
            params = getattr(group, "params", ())
            nested = bool(params) and all(isinstance(values, tuple) for values in params)
            axes = params if nested else (params,) if params else ()
            for name in filter(KINDS.match, dir(group)):
                yield pytest.param(group, name, next(product(*axes)), id=f"{group.__name__}.{name}")


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler is installed")
@pytest.mark.parametrize(("group", "name", "values"), list(bodies()))
def test_each_benchmark_runs(group, name, values):
    if name in SLOW:
        pytest.skip("compiles every kernel anew")
    bench = group()
    if hasattr(bench, "setup"):
        bench.setup(*values)
    result = getattr(bench, name)(*values)
    if name.startswith("track_"):
        assert result > 0
    if name.startswith("timeraw_"):
        compile(result, name, "exec")


def test_first_parameter_is_the_device():
    """So that one history has the devices side by side."""
    for case in bodies():
        group = case.values[0]
        if hasattr(group, "params"):
            assert group.param_names[0] == "device", group


def test_a_missing_device_is_left_out():
    """asv shows a benchmark whose setup raises NotImplementedError as n/a."""
    from whir_mlx.kernels.targets.gpu import usable_gpu

    common = load("common")
    for name in {"cuda", "metal"} - {usable_gpu()}:
        with pytest.raises(NotImplementedError, match=name):
            common.usable(name)


def test_configuration():
    conf = json.loads((SUITE / "asv.conf.json").read_text())
    assert conf["project"] == "whir-mlx" and conf["version"] == 1
    assert (SUITE / conf["repo"]).resolve() == ROOT and (SUITE / conf["benchmark_dir"] / "__init__.py").is_file()


def test_asv_finds_no_fault():
    """`asv check` imports the suite in a process of its own and looks at every signature."""
    pytest.importorskip("asv")
    if not (ROOT / ".git").exists():
        pytest.skip("asv needs a git checkout")
    done = subprocess.run(
        [sys.executable, "-m", "asv", "check", "--python=same"],
        cwd=SUITE,
        env={**os.environ, "ASV_PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No problems found" in done.stdout
