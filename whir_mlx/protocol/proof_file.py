"""The proof file: one binary encoding of parameters, commitment and proof, in 32-bit little-endian words.

    magic (8 bytes)    89 57 48 49 52 0D 0A 1A, after PNG's: a transfer as text changes it
    version            1
    protocol (16)      the name "p3-whir 0.8.0", zero-padded: the transcript that the proof is for
    parameters length  in bytes
    body length        in words
    parameters         canonical JSON (ASCII, sorted keys, no white space), zero-padded to whole words
    body               commitment, WHIR run, evaluations (see `_Reader`): counts, and canonical field words
    checksum           CRC-32 of all bytes before it; against accidents, not against anyone

A reader accepts exactly what the writer writes: every byte is consumed, every word is below p, and every choice
(padding, presence words, the width of no rows) has one form, so that writing what was read gives the same bytes.
"""

import math
import os
import struct
import zlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from whir_mlx.atomic import write_atomic
from whir_mlx.errors import ProofFormatError
from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.protocol.proof import (
    DIGEST_WORDS,
    BatchEvaluations,
    Commitment,
    MerkleOpening,
    Proof,
    RoundProof,
    SumcheckProof,
    WhirProof,
    commitment_fault,
    find_fault,
)
from whir_mlx.protocol.strict_json import MAX_CANONICAL_BYTES, decode_canonical, encode_canonical

__all__ = ["PROTOCOL", "decode_proof_file", "encode_proof_file", "read_proof_file", "write_proof_file"]

MAGIC = b"\x89WHIR\r\n\x1a"
VERSION = 1
PROTOCOL = "p3-whir 0.8.0"

_HEADER = struct.Struct("<8sI16sII")
_WORD = struct.Struct("<I")
_KINDS = ("base", "extension")
_READ_SIZE = 2**20

T = TypeVar("T")


def _fail(offset: int, rule: str, got: object) -> ProofFormatError:
    return ProofFormatError(f"proof file, byte {offset}: expected {rule}, got {got}")


# ---- body: writer and reader in the same order -----------------------------------------------------------------------


class _Writer:
    """Collects the body's parts; every method mirrors the one of `_Reader` with the same name."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def number(self, value: int) -> None:
        self.parts.append(_WORD.pack(value))

    def block(self, words: np.ndarray) -> None:
        self.parts.append(np.ascontiguousarray(words, dtype="<u4").tobytes())

    def rows(self, words: np.ndarray) -> None:
        self.number(len(words))
        self.block(words)

    def optional(self, write: Callable[[T], None], value: T | None) -> None:
        self.number(int(value is not None))
        if value is not None:
            write(value)

    def sequence(self, write: Callable[[T], None], values: tuple[T, ...]) -> None:
        self.number(len(values))
        for value in values:
            write(value)

    def sumcheck(self, sumcheck: SumcheckProof) -> None:
        self.rows(sumcheck.round_polynomials)
        self.rows(sumcheck.pow_witnesses)

    def opening(self, opening: MerkleOpening) -> None:
        self.number(_KINDS.index(opening.kind))
        self.number(len(opening.rows))
        self.number(opening.rows.shape[1] if len(opening.rows) else 0)
        self.block(opening.rows)
        self.rows(opening.siblings)

    def round(self, round_proof: RoundProof) -> None:
        self.optional(self.rows, round_proof.commitment)
        self.rows(round_proof.ood_answers)
        self.number(round_proof.pow_witness)
        self.opening(round_proof.opening)
        self.sumcheck(round_proof.sumcheck)

    def whir(self, whir: WhirProof) -> None:
        self.rows(whir.initial_ood_answers)
        self.sumcheck(whir.initial_sumcheck)
        self.sequence(self.round, whir.rounds)
        self.optional(self.rows, whir.final_poly)
        self.number(whir.final_pow_witness)
        self.opening(whir.final_opening)
        self.optional(self.sumcheck, whir.final_sumcheck)

    def batch(self, batch: BatchEvaluations) -> None:
        self.rows(batch.current)
        self.rows(batch.next)


class _Reader:
    """Walks the body's words. A count never allocates more than the words that are left."""

    def __init__(self, words: np.ndarray, offset: int):
        self.words = words
        self.offset = offset
        self.position = 0

    def here(self) -> int:
        return self.offset + 4 * self.position

    def number(self, name: str, limit: int = 2**32) -> int:
        if self.position == len(self.words):
            raise _fail(self.here(), name, "the end of the body")
        value = int(self.words[self.position])
        if value >= limit:
            raise _fail(self.here(), f"{name} below {limit}", value)
        self.position += 1
        return value

    def block(self, count: int, *tail: int) -> np.ndarray:
        """(count, *tail) field words, copied."""
        size = count * math.prod(tail)
        if size > len(self.words) - self.position:
            raise _fail(self.here(), f"{size} field words", f"{len(self.words) - self.position} to the end of the body")
        words = self.words[self.position : self.position + size].astype(np.uint32)
        wrong = np.flatnonzero(words >= P)
        if len(wrong):
            first = int(wrong[0])
            raise _fail(self.here() + 4 * first, f"a field word below {P}", int(words[first]))
        self.position += size
        return words.reshape(count, *tail)

    def rows(self, *tail: int) -> np.ndarray:
        return self.block(self.number("a count"), *tail)

    def cap(self) -> np.ndarray:
        at = self.here()
        cap = self.rows(DIGEST_WORDS)
        if len(cap) == 0 or len(cap) & (len(cap) - 1):
            raise _fail(at, "a power of two of digests", len(cap))
        return cap

    def elements(self) -> np.ndarray:
        return self.rows(EXT_DEGREE)

    def optional(self, read: Callable[[], T]) -> T | None:
        return read() if self.number("a presence word", 2) else None

    def sequence(self, read: Callable[[], T]) -> tuple[T, ...]:
        return tuple(read() for _ in range(self.number("a count")))

    def sumcheck(self) -> SumcheckProof:
        return SumcheckProof(self.rows(2, EXT_DEGREE), self.rows())

    def opening(self) -> MerkleOpening:
        kind = _KINDS[self.number("an opening kind", len(_KINDS))]
        count = self.number("a count of rows")
        at = self.here()
        width = self.number("a row width")
        unit = EXT_DEGREE if kind == "extension" else 1
        if (count == 0) != (width == 0) or width % unit:
            raise _fail(at, f"a row width that is a multiple of {unit}, and 0 just where there are no rows", width)
        return MerkleOpening(kind, self.block(count, width), self.rows(DIGEST_WORDS))

    def round(self) -> RoundProof:
        return RoundProof(
            commitment=self.optional(self.cap),
            ood_answers=self.elements(),
            pow_witness=self.number("a witness", P),
            opening=self.opening(),
            sumcheck=self.sumcheck(),
        )

    def whir(self) -> WhirProof:
        return WhirProof(
            initial_ood_answers=self.elements(),
            initial_sumcheck=self.sumcheck(),
            rounds=self.sequence(self.round),
            final_poly=self.optional(self.elements),
            final_pow_witness=self.number("a witness", P),
            final_opening=self.opening(),
            final_sumcheck=self.optional(self.sumcheck),
        )

    def batch(self) -> BatchEvaluations:
        return BatchEvaluations(self.elements(), self.elements())


# ---- whole files -----------------------------------------------------------------------------------------------------


def encode_proof_file(parameters: dict, commitment: Commitment, proof: Proof) -> bytes:
    """The proof file of a statement's parameters, its commitment and its proof.

    `parameters` is a plain dict as `encode_canonical` takes it; raises TypeError or ValueError for another,
    ProofFormatError for a malformed commitment or proof.
    """
    if fault := commitment_fault(commitment) or find_fault(proof):
        raise ProofFormatError(str(fault))
    text = encode_canonical(parameters)
    writer = _Writer()
    writer.rows(commitment.cap)
    writer.whir(proof.whir)
    writer.sequence(writer.batch, proof.evaluations)
    body = b"".join(writer.parts)
    header = _HEADER.pack(MAGIC, VERSION, PROTOCOL.encode(), len(text), len(body) // 4)
    data = header + text + bytes(-len(text) % 4) + body
    return data + _WORD.pack(zlib.crc32(data))


def _check_header(header: bytes) -> tuple[int, int, int]:
    """(parameters length, where the body begins, length of the whole file), all in bytes."""
    if header[: len(MAGIC)] != MAGIC:
        got = header[: len(MAGIC)].hex(" ") or "nothing"
        raise _fail(0, f"the magic bytes of a whir-mlx proof file, {MAGIC.hex(' ')}", got)
    if len(header) < _HEADER.size:
        raise _fail(len(header), f"a header of {_HEADER.size} bytes", "the end of the file")
    _, version, protocol, parameters_length, body_words = _HEADER.unpack(header)
    if version != VERSION:
        raise _fail(8, f"format version {VERSION}", version)
    if protocol != PROTOCOL.encode().ljust(16, b"\0"):
        raise _fail(12, f'the protocol name "{PROTOCOL}"', protocol)
    if parameters_length > MAX_CANONICAL_BYTES:
        raise _fail(28, f"at most {MAX_CANONICAL_BYTES} bytes of parameters", parameters_length)
    body_offset = _HEADER.size + parameters_length + -parameters_length % 4
    return parameters_length, body_offset, body_offset + 4 * body_words + 4


def decode_proof_file(data: bytes) -> tuple[dict, Commitment, Proof]:
    """Read a proof file's bytes: parameters, commitment and proof (canonical words, arrays of their own).

    Raises ProofFormatError with the byte offset and the rule for anything that `encode_proof_file` would not write.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data must be bytes, got {type(data).__name__}")
    data = bytes(data)
    parameters_length, body_offset, size = _check_header(data[: _HEADER.size])
    if len(data) != size:
        raise _fail(min(len(data), size), f"a file of {size} bytes", f"{len(data)} bytes")
    checksum = _WORD.unpack_from(data, size - 4)[0]
    if zlib.crc32(data[: size - 4]) != checksum:
        raise _fail(size - 4, f"the checksum {zlib.crc32(data[: size - 4]):#010x}", f"{checksum:#010x}")
    end = _HEADER.size + parameters_length
    try:
        parameters = decode_canonical(data[_HEADER.size : end])
    except ProofFormatError as error:
        raise ProofFormatError(f"proof file, byte {_HEADER.size}: parameters refused: {error}") from error
    if any(data[end:body_offset]):
        raise _fail(end, "zero padding", data[end:body_offset].hex(" "))

    words = np.frombuffer(data, dtype="<u4", count=(size - 4 - body_offset) // 4, offset=body_offset)
    reader = _Reader(words, body_offset)
    commitment = Commitment(reader.cap())
    proof = Proof(reader.whir(), reader.sequence(reader.batch))
    if reader.position != len(words):
        raise _fail(reader.here(), "the end of the body", f"{len(words) - reader.position} more words")
    return parameters, commitment, proof


def write_proof_file(path: str | os.PathLike, parameters: dict, commitment: Commitment, proof: Proof) -> None:
    """Write a proof file whole or not at all (`write_atomic`). Raises as `encode_proof_file`, and OSError."""
    write_atomic(path, encode_proof_file(parameters, commitment, proof))


def read_proof_file(path: str | os.PathLike) -> tuple[dict, Commitment, Proof]:
    """Read a proof file: parameters, commitment and proof. Raises as `decode_proof_file`, and OSError."""
    with open(path, "rb") as stream:
        data = stream.read(_HEADER.size)
        size = _check_header(data)[2]
        # In pieces, and one byte past the end: neither a lying header nor a huge file decides how much memory is taken.
        chunks, left = [data], size + 1 - len(data)
        while left > 0 and (chunk := stream.read(min(left, _READ_SIZE))):
            chunks.append(chunk)
            left -= len(chunk)
    return decode_proof_file(b"".join(chunks))
