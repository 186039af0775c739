"""Writing a file whole or not at all."""

import os
import secrets
import stat
from contextlib import suppress

__all__ = ["write_atomic"]


def write_atomic(path: str | os.PathLike, data: bytes) -> None:
    """Make `path` hold exactly `data`: after any failure the old file is whole, and nothing half-written is left.

    The bytes go to a temporary file in the same folder, reach the disk (fsync), and take the name by `os.replace`. A
    symbolic link keeps pointing where it did, and an existing file keeps its mode. A pipe or a character device
    (`/dev/stdout`) has no old content to keep and is written directly. Raises OSError as the system gives it.
    """
    view = memoryview(data).cast("B")
    path = os.fspath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with open(path, "wb") as stream:
            stream.write(view)
        return

    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    # A name of our own length, since the target's may already be as long as the file system allows.
    temporary = os.path.join(folder, f".whir-mlx-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(view)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:  # KeyboardInterrupt too: no temporary file may stay behind
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the new name durable where the system can; the file itself is already whole either way."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
