"""The known answers: a digest of every case's results and of every proof file, made with NumPy and with the CPU target.

`answers.json` is written by tests/selftest_answers.py; the tests hold it against both.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

import numpy as np

__all__ = ["digest", "known_answers"]

PATH = Path(__file__).with_name("answers.json")


def digest(results: list[np.ndarray] | bytes) -> str:
    """The first 16 hex digits of the SHA-256 of a proof file, or of arrays: their shapes, and little-endian words."""
    hashed = hashlib.sha256()
    if isinstance(results, bytes):
        hashed.update(results)
    else:
        for x in results:
            hashed.update(repr(tuple(x.shape)).encode())
            hashed.update(np.ascontiguousarray(x, dtype="<u4").tobytes())
    return hashed.hexdigest()[:16]


@lru_cache(maxsize=1)
def known_answers() -> dict[str, str]:
    """Digest by label."""
    return json.loads(PATH.read_text(encoding="utf-8"))
