"""Exported kernels: they are what the package launches, complete and legal, and a folder holds all of them or none."""

import json
import re

import pytest

from tests.cli.cli_runner import run, run_json
from tests.kernels.metal_clang import CLANG, complaints, on_all_cores
from tests.kernels.metal_launches import collected
from whir_mlx.kernels import export
from whir_mlx.kernels.export import SPECIALISATIONS, TABLE, export_kernels, standalone_text
from whir_mlx.kernels.text import FOLDER, load

KERNELS = {path.stem for path in FOLDER.glob("*.metal")}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports") / "kernels"
    export_kernels(folder)
    return folder


def table_of(folder) -> dict:
    return json.loads((folder / TABLE).read_text())


def test_specialisations_are_those_that_are_launched():
    launched: dict[str, set] = {}
    for launch in collected()[0]:
        launched.setdefault(launch.name, set()).add(launch.values)
    expected = {name: {tuple(sorted(v.items())) for v in SPECIALISATIONS.get(name, ({},))} for name in KERNELS}
    assert launched == expected


def test_table_names_every_file(exported):
    table = table_of(exported)
    assert {path.name for path in exported.iterdir()} == {TABLE, *(entry["file"] for entry in table["kernels"])}
    assert {entry["kernel"] for entry in table["kernels"]} == KERNELS
    assert len(table["cooperative_tables"]) == 398


def test_table_tells_the_arguments(exported):
    for entry in table_of(exported)["kernels"]:
        text = load(entry["kernel"])
        buffers = entry["buffers"]
        assert [b["name"] for b in buffers] == [*text.inputs, *text.outputs] and buffers[0]["space"] == "constant"
        assert [b["index"] for b in buffers] == list(range(len(buffers)))
        assert {b["name"] for b in buffers if b["access"] == "read"} == set(text.inputs)
        source = (exported / entry["file"]).read_text()
        assert re.findall(r"kernel void (\w+)\(", source) == [entry["function"]]
        assert "size:" in entry["contract"] or entry["kernel"] == "poseidon2"
        assert "Grid" in entry["contract"], entry["kernel"]
    tiles = {e["kernel"]: e["threadgroup_bytes"] for e in table_of(exported)["kernels"]}
    assert tiles["ntt"] == 16384 and tiles["dot"] == 0


def test_sources_are_complete(exported):
    for path in exported.glob("*.metal"):
        text = path.read_text()
        assert re.findall(r"#include.*", text) == ["#include <metal_stdlib>"]


@pytest.mark.skipif(CLANG is None, reason="no clang that knows AMD GPUs is installed")
@pytest.mark.parametrize("mode", ["c++14", "spaces"])
def test_sources_parse(exported, mode):
    """As an app would compile them: without MLX's preamble, which the parse may know all the same."""
    texts = {}
    for path in exported.glob("*.metal"):
        text = path.read_text().replace("#include <metal_stdlib>\nusing namespace metal;\n", "")
        texts[path.name] = re.sub(r"^kernel void", "[[kernel]] void", text, flags=re.MULTILINE)
    for name, complaint in zip(texts, on_all_cores(lambda text: complaints(text, mode), texts.values())):
        assert not complaint, f"{name}: {complaint[:2000]}"


def test_an_earlier_export_is_replaced(tmp_path):
    folder = tmp_path / "kernels"
    names = export_kernels(folder)
    (folder / "dot.metal").write_text("stale")
    assert export_kernels(folder) == names and (folder / "dot.metal").read_text() == standalone_text("dot", {})
    assert [path.name for path in tmp_path.iterdir()] == ["kernels"]


def test_other_folders_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not an earlier export"):
        export_kernels(tmp_path)
    with pytest.raises(NotADirectoryError):
        export_kernels(tmp_path / "mine.txt")
    with pytest.raises(FileNotFoundError):
        export_kernels(tmp_path / "no" / "kernels")
    export_kernels(tmp_path / "kernels")
    (tmp_path / "kernels" / "mine.metal").write_text("mine")
    with pytest.raises(FileExistsError):
        export_kernels(tmp_path / "kernels")
    assert (tmp_path / "kernels" / "mine.metal").read_text() == "mine"


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    export_kernels(folder)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    write = export.Path.write_text

    def failing(self, text, **keywords):
        if self.name == "ntt_direct1_tile_words4096_wide1.metal":
            raise OSError("no space left")
        return write(self, text, **keywords)

    monkeypatch.setattr(export.Path, "write_text", failing)
    with pytest.raises(OSError, match="no space"):
        export_kernels(folder)
    with pytest.raises(OSError, match="no space"):
        export_kernels(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["kernels"]
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_command(tmp_path):
    folder = tmp_path / "kernels"
    assert "files in" in run("export-kernels", folder)[0]
    assert run_json("export-kernels", folder)["files"] == sorted(path.name for path in folder.iterdir())
    (folder / "mine").write_text("")
    assert "not an earlier export" in run("export-kernels", folder, code=1)[1]
