"""Folders whose files end up as running code: nobody else may have written them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ...atomic import write_atomic

__all__ = ["open_private_folder", "read_private_file", "write_private_file"]

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_private_folder(path: Path) -> Path:
    """`path`, made (mode 700) where it is missing.

    Raises `PermissionError` where it is a link, belongs to another user, or others may write in it, and `OSError` as
    the system gives it. Systems without owners (Windows) give each user a cache folder that others cannot write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    fault = _fault(os.lstat(path), stat.S_ISDIR, "a folder")
    if fault:
        raise PermissionError(f"{path} {fault}")
    return path


def read_private_file(path: Path) -> bytes | None:
    """The bytes of `path`, or None where it is missing, cannot be read, or others could have written it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        try:
            return None if _fault(os.fstat(file.fileno()), stat.S_ISREG, "a file") else file.read()
        except OSError:
            return None


def write_private_file(path: Path, data: bytes) -> None:
    """Put `data` under the name `path`, whole or not at all, in place of whatever has that name."""
    found = None
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        pass
    # An atomic write follows a link, and keeps the mode of the file that it replaces.
    if found is not None and _fault(found, stat.S_ISREG, "a file"):
        os.unlink(path)
    write_atomic(path, data)
    if hasattr(os, "geteuid"):
        os.chmod(path, 0o600)


def _fault(found: os.stat_result, is_kind, kind: str) -> str | None:
    if not is_kind(found.st_mode):
        return f"is not {kind}"
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be written by others" if found.st_mode & _OTHERS_WRITE else None
