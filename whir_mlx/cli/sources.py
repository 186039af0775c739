"""Reading what commands are given: INPUT, points, commitments."""

from __future__ import annotations

import json
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from whir_mlx.encoding import encode_bits
from whir_mlx.errors import ProofFormatError
from whir_mlx.protocol.proof import Commitment
from whir_mlx.splitmix import splitmix
from whir_mlx.tables import shape_of

__all__ = ["Source", "is_random", "read_commitment_argument", "read_points", "read_source"]

MAX_RANDOM_VARIABLES = 30

# safetensors' names; bfloat16 has none in NumPy, so it keeps its name as the one field of a record.
_DTYPES = {
    "BOOL": "?", "U8": "<u1", "I8": "<i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": [("bfloat16", "<u2")],
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """INPUT as tables: an array by itself (names None) or arrays by name; and the encoding that made them, or None."""

    arrays: list[np.ndarray]
    names: tuple[str, ...] | None
    encoding: str | None
    pad: bool

    @property
    def tables(self):
        """(log_rows, columns) of each, by name where there are names. Raises ValueError as `shape_of`."""
        names = self.names or ("the array",) * len(self.arrays)
        shapes = [shape_of(name, array.shape, pad=self.pad) for name, array in zip(names, self.arrays)]
        return dict(zip(self.names, shapes)) if self.names else shapes

    @property
    def evals(self):
        """What `Whir.commit` takes."""
        return dict(zip(self.names, self.arrays)) if self.names else self.arrays[0]


def is_random(text: str) -> bool:
    """Whether INPUT is random:N[:seed] rather than a file."""
    return text.startswith("random:")


def read_source(text: str, *, encode: str | None, pad: bool) -> Source:
    """INPUT: a .npy, .npz or .safetensors file, or random:N[:seed].

    encode: "bits" to commit to `encode_bits` of every array (padded). Raises a usage error for a malformed random:...,
    OSError for a file that cannot be read, ValueError or TypeError for one that holds something else.
    """
    if is_random(text):
        arrays, names = [_random(text)], None
    else:
        suffix = Path(text).suffix.lower()
        if suffix not in _READERS:
            raise ValueError(f"{text}: INPUT must be a .npy, .npz or .safetensors file, or random:N[:seed]")
        try:
            arrays, names = _READERS[suffix](text)
        except (OSError, MemoryError):
            raise
        except Exception as error:  # each reader has errors of its own for a damaged file
            raise ValueError(f"{text} is not a whole {suffix} file: {error}") from error
        if not arrays:
            raise ValueError(f"{text} holds no array")
    if encode == "bits":
        return Source([encode_bits(array) for array in arrays], names, encode, True)
    for name, array in zip(names or (text,), arrays):
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} holds {_dtype_name(array)}; --encode bits commits to its bits, exactly")
    return Source(arrays, names, None, pad)


def _dtype_name(array: np.ndarray) -> str:
    return array.dtype.names[0] if array.dtype.names else str(array.dtype)


def _random(text: str) -> np.ndarray:
    match = re.fullmatch(r"random:(2\^)?(\d+)(?::(\d+))?", text)
    if not match or int(match[3] or 0) >= 2**64:
        raise click.BadParameter(f"{text!r} is not random:N[:seed]", param_hint="INPUT")
    if int(match[2]) > MAX_RANDOM_VARIABLES:
        raise click.BadParameter(
            f"{text!r}: N is the number of variables (2^N elements), at most {MAX_RANDOM_VARIABLES}", param_hint="INPUT"
        )
    return splitmix(int(match[3] or 0), 1 << int(match[2]))


def _read_npy(path: str):
    with open(path, "rb") as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):
            raise ValueError("more bytes behind the array")
    return [array], None


def _read_npz(path: str):
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
        if len(set(members)) != len(members):
            raise ValueError("it names an array twice")
        arrays = []
        for member in members:
            with archive.open(member) as stream:
                arrays.append(np.lib.format.read_array(stream, allow_pickle=False))
    return arrays, tuple(member.removesuffix(".npy") for member in members)


def _read_safetensors(path: str):
    from safetensors import deserialize

    with open(path, "rb") as stream:
        data = stream.read()
    arrays, names = [], []
    for name, tensor in sorted(deserialize(data), key=lambda entry: entry[0]):
        if tensor["dtype"] not in _DTYPES:
            raise ValueError(f"{name} has the dtype {tensor['dtype']}, which is not read")
        names.append(name)
        arrays.append(np.frombuffer(tensor["data"], dtype=_DTYPES[tensor["dtype"]]).reshape(tensor["shape"]))
    return arrays, tuple(names)


_READERS = {".npy": _read_npy, ".npz": _read_npz, ".safetensors": _read_safetensors}


def read_points(paths: tuple[str, ...]) -> list:
    """One point a file: .npy, (variables, 4) or (variables,); or .json, a list of integers or of lists of 4."""
    points = []
    for path in paths:
        if Path(path).suffix.lower() == ".npy":
            points.append(read_source(path, encode=None, pad=False).arrays[0])
            continue
        text = Path(path).read_text(encoding="utf-8")
        try:
            points.append(json.loads(text))
        except ValueError as error:
            raise ValueError(f"{path} is not a point in JSON: {error}") from error
        if not isinstance(points[-1], list):
            raise ValueError(f"{path} must hold a list of coordinates")
    return points


def read_commitment_argument(text: str) -> Commitment:
    """FILE|HEX: hexadecimal digits (64 a digest), or a text file of them. Raises ProofFormatError or OSError."""
    if re.fullmatch("[0-9a-fA-F]{64,}", text) and not os.path.exists(text):
        return Commitment.from_hex(text)
    if not os.path.exists(text) and re.fullmatch("[0-9a-fA-F]+", text):
        raise ProofFormatError(f"a commitment is 64 hexadecimal digits a digest, got {len(text)}: {text}")
    with open(text, "rb") as stream:
        content = stream.read(1 << 20)
    try:
        return Commitment.from_hex(content.decode("ascii").strip())
    except UnicodeDecodeError:
        raise ProofFormatError(f"{text} must hold a commitment in hexadecimal digits") from None
