"""write_atomic under injected failures: the old file is whole and the folder holds nothing else."""

import os
import stat
import threading

import pytest

from whir_mlx.atomic import write_atomic


def test_writes_and_overwrites(tmp_path):
    path = tmp_path / "proof"
    for data in (b"first", b"", memoryview(b"abcdef")[::1], bytearray(b"last")):
        write_atomic(path, data)
        assert path.read_bytes() == bytes(data) and os.listdir(tmp_path) == ["proof"]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["OSError", "interrupt"]
)
@pytest.mark.parametrize(
    ("call", "old"), [("fsync", b"old"), ("fsync", None), ("replace", b"old"), ("replace", None), ("chmod", b"old")]
)
def test_failure_keeps_the_old_file(tmp_path, monkeypatch, call, error, old):
    path = tmp_path / "proof"
    if old is not None:
        path.write_bytes(old)

    def fail(*args):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        write_atomic(path, b"new" * 1000)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ([] if old is None else ["proof"])
    assert old is None or path.read_bytes() == old


def test_failure_to_flush_the_folder_is_not_a_failure(tmp_path, monkeypatch):
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_atomic(tmp_path / "proof", b"data")
    assert (tmp_path / "proof").read_bytes() == b"data"


def test_unusable_targets(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "proof", b"data")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_atomic(tmp_path / "folder", b"data")
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []
    with pytest.raises(TypeError):
        write_atomic(tmp_path / "proof", "text")
    assert os.listdir(tmp_path) == ["folder"]


def test_name_of_the_longest_length(tmp_path):
    path = tmp_path / ("n" * 255)
    write_atomic(path, b"data")
    assert path.read_bytes() == b"data"


def test_link_and_mode_are_kept(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_new_file_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "proof", b"data")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "proof").stat().st_mode) == 0o640


def test_pipe_is_written_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    write_atomic(path, b"data")
    reader.join(10)
    assert got == [b"data"] and stat.S_ISFIFO(path.stat().st_mode)
