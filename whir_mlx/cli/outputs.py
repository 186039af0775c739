"""Looking at an output before the work: a proof that cannot be kept is not begun."""

from __future__ import annotations

import os
import stat
import tempfile

__all__ = ["check_writable"]


def check_writable(path: str, *, inputs: tuple[str, ...] = ()) -> None:
    """Raises OSError where `path` cannot be written (no such folder, a folder itself, no permission, read-only), and
    ValueError where it is one of the `inputs`. Writes nothing that stays."""
    for given in inputs:
        if os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise ValueError(f"the output {path} is the input")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"the output {path} is a folder")
    if mode is not None and not stat.S_ISREG(mode):
        if not os.access(path, os.W_OK):
            raise PermissionError(f"the output {path} is not writable")
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"the output's folder {folder} does not exist")
    try:
        # Permission bits do not tell about read-only and special file systems, so a file is made (and gone at once).
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise type(error)(error.errno, f"cannot write to the output's folder: {error.strerror}", folder) from error
