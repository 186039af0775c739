"""The proof file: all 13 vector proofs both ways, and one encoding: what is read writes the same bytes again."""

import dataclasses
import gzip
import json
import os
import random
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whir_mlx.errors import ProofFormatError
from whir_mlx.field.constants import P
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json
from whir_mlx.protocol.proof import (
    BatchEvaluations,
    Commitment,
    MerkleOpening,
    Proof,
    RoundProof,
    SumcheckProof,
    WhirProof,
    num_words,
    validate,
)
from whir_mlx.protocol.proof_file import (
    MAGIC,
    PROTOCOL,
    decode_proof_file,
    encode_proof_file,
    read_proof_file,
    write_proof_file,
)
from whir_mlx.protocol.strict_json import encode_canonical

VECTORS = sorted((Path(__file__).parents[1] / "vectors" / "proofs").glob("*.json.gz"))
HEADER = 36


def load(path: Path) -> tuple[dict, Commitment, Proof]:
    vector = json.loads(gzip.decompress(path.read_bytes()))
    document = {"format": FORMAT, "commitment": vector["commitment"], "proof": vector["proof"]}
    return vector["args"], *from_plonky3_json(json.dumps(document))


def words(*shape: int, start: int = 1) -> np.ndarray:
    return np.arange(start, start + int(np.prod(shape)), dtype=np.uint32).reshape(shape)


def tiny() -> tuple[dict, Commitment, Proof]:
    """Every field that there is, one or two of each: small enough to change every byte."""
    sumcheck = SumcheckProof(words(2, 2, 4), words(2))
    base, extension = (
        MerkleOpening("base", words(2, 3), words(1, 8)),
        MerkleOpening("extension", words(2, 8), words(2, 8)),
    )
    rounds = (
        RoundProof(words(2, 8), words(1, 4), P - 1, base, sumcheck),
        RoundProof(None, words(0, 4), 0, extension, SumcheckProof(words(0, 2, 4), words(0))),
    )
    empty = MerkleOpening("extension", words(0, 12), words(0, 8))
    whir = WhirProof(words(2, 4), sumcheck, rounds, words(2, 4), 9, empty, sumcheck)
    evaluations = (BatchEvaluations(words(1, 4), words(0, 4)), BatchEvaluations(words(0, 4), words(2, 4)))
    return {"n": 5, "layout": "suffix"}, Commitment(words(1, 8)), Proof(whir, evaluations)


TINY = encode_proof_file(*tiny())
BODY = HEADER + struct.unpack_from("<I", TINY, 28)[0] + -struct.unpack_from("<I", TINY, 28)[0] % 4


def sealed(data: bytes) -> bytes:
    """`data` with the checksum that belongs to it, so that the checks behind it are reached."""
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def resized(body: bytes) -> bytes:
    """A file with TINY's parameters and another body, header and checksum made to fit."""
    data = bytearray(TINY[:BODY] + body + b"\0\0\0\0")
    struct.pack_into("<I", data, 32, len(body) // 4)
    return sealed(bytes(data))


def refused_or_identical(data: bytes) -> bool:
    """Whether `data` is read; if it is, it is what the writer makes of it."""
    try:
        contents = decode_proof_file(data)
    except ProofFormatError:
        return False
    validate(*contents[1:])
    assert encode_proof_file(*contents) == data
    return True


# ---- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VECTORS, ids=lambda p: p.name.split(".")[0])
def test_vectors_both_ways(path, tmp_path):
    parameters, commitment, proof = load(path)
    data = encode_proof_file(parameters, commitment, proof)
    assert decode_proof_file(data) == (parameters, commitment, proof)
    assert encode_proof_file(*decode_proof_file(data)) == data
    # The words themselves, and little else.
    assert 0 < len(data) - 4 * num_words(proof) - commitment.cap.nbytes < 600
    write_proof_file(tmp_path / "proof", parameters, commitment, proof)
    assert (tmp_path / "proof").read_bytes() == data and os.listdir(tmp_path) == ["proof"]
    assert read_proof_file(tmp_path / "proof") == (parameters, commitment, proof)


def test_tiny_both_ways():
    contents = decode_proof_file(TINY)
    assert contents == tiny() and encode_proof_file(*contents) == TINY
    for kind in (bytearray, memoryview):
        assert decode_proof_file(kind(TINY)) == contents
    # A view of more axes is taken by its bytes, not by the length of its first axis.
    assert decode_proof_file(memoryview(TINY).cast("B", (len(TINY) // 4, 4))) == contents


def test_known_bytes():
    # The layout is a promise to files on disk: header, first words and checksum of TINY, written out.
    assert TINY[:28] == b"\x89WHIR\r\n\x1a" + b"\1\0\0\0" + b"p3-whir 0.8.0\0\0\0"
    text = b'{"layout":"suffix","n":5}'
    assert TINY[28:36] == struct.pack("<II", len(text), (len(TINY) - BODY - 4) // 4)
    assert TINY[36:BODY] == text + b"\0\0\0"
    assert TINY[BODY : BODY + 12] == struct.pack("<III", 1, 1, 2)  # one digest: 1, 2, ...
    assert struct.unpack("<I", TINY[-4:])[0] == zlib.crc32(TINY[:-4])


def test_arrays_do_not_alias_the_input():
    data = bytearray(TINY)
    _, commitment, _ = decode_proof_file(data)
    data[BODY + 4] ^= 1
    assert commitment == tiny()[1] and commitment.cap.flags.writeable and commitment.cap.dtype == np.uint32


def test_strided_and_fortran_arrays_are_written_in_order():
    parameters, commitment, proof = tiny()
    strided = Commitment(np.asfortranarray(words(2, 8)))
    plain = Commitment(words(2, 8))
    assert encode_proof_file(parameters, strided, proof) == encode_proof_file(parameters, plain, proof)
    rows = words(4, 3)[::-2]
    opening = MerkleOpening("base", rows, words(2, 8))
    whir = dataclasses.replace(proof.whir, final_opening=opening)
    again = decode_proof_file(encode_proof_file(parameters, commitment, Proof(whir, ())))[2]
    assert again.whir.final_opening.rows.tolist() == rows.tolist()


# ---- changed bytes ---------------------------------------------------------------------------------------------------


def test_any_changed_byte_is_refused():
    for offset in range(len(TINY)):
        for flip in (1, 0x80, 0xFF):
            data = bytearray(TINY)
            data[offset] ^= flip
            with pytest.raises(ProofFormatError, match=r"byte \d+: "):
                decode_proof_file(bytes(data))


def test_any_changed_byte_under_a_right_checksum():
    read = sum(
        refused_or_identical(sealed(TINY[:i] + bytes([TINY[i] ^ flip]) + TINY[i + 1 :]))
        for i in range(len(TINY) - 4)
        for flip in (1, 0x80)
    )
    assert read > 100  # changed field words are still words


def test_header_under_a_right_checksum_is_refused():
    for offset in range(HEADER):
        for flip in (1, 2, 4, 0x10, 0x80, 0xFF):
            data = bytearray(TINY)
            data[offset] ^= flip
            with pytest.raises(ProofFormatError):
                decode_proof_file(sealed(bytes(data)))


def test_every_truncation_and_extension():
    for length in range(len(TINY)):
        with pytest.raises(ProofFormatError):
            decode_proof_file(TINY[:length])
        if length > HEADER:
            with pytest.raises(ProofFormatError):
                decode_proof_file(sealed(TINY[:length]))
    for extra in (b"\0", b"\n", b"garbage", TINY, bytes(4)):
        for data in (TINY + extra, sealed(TINY + extra)):
            with pytest.raises(ProofFormatError, match=f"a file of {len(TINY)} bytes, got {len(data)} bytes"):
                decode_proof_file(data)


def test_every_truncation_and_extension_of_the_body():
    body = TINY[BODY:-4]
    assert refused_or_identical(resized(body))
    for length in range(0, len(body), 4):
        assert not refused_or_identical(resized(body[:length]))
    for extra in (bytes(4), bytes(8), body):
        with pytest.raises(ProofFormatError, match="the end of the body"):
            decode_proof_file(resized(body + extra))


def test_every_body_word_in_turn():
    # Whatever a word means (count, kind, presence, width, field word), no value of it crashes or is read ambiguously.
    for offset in range(BODY, len(TINY) - 4, 4):
        for value in (0, 1, 2, 3, 4, 2**16, P - 1, P, 2**31, 2**32 - 1):
            data = sealed(TINY[:offset] + struct.pack("<I", value) + TINY[offset + 4 :])
            if refused_or_identical(data):
                assert value < P


def test_words_of_p_and_more_are_refused_at_their_place():
    offset = BODY + 4 + 4 * 5  # word 5 of the commitment's digest
    for value in (P, P + 1, 2**32 - 1):
        data = sealed(TINY[:offset] + struct.pack("<I", value) + TINY[offset + 4 :])
        with pytest.raises(ProofFormatError, match=f"byte {offset}: expected a field word below {P}, got {value}"):
            decode_proof_file(data)


@pytest.mark.parametrize("count", [0, 3, 5])
def test_caps_are_powers_of_two(count):
    body = struct.pack("<I", count) + bytes(32 * count) + TINY[BODY + 36 : -4]
    with pytest.raises(ProofFormatError, match=f"power of two of digests, got {count}"):
        decode_proof_file(resized(body))


def test_counts_do_not_allocate():
    # A count of 2^32 - 1 anywhere: refused without taking memory for it.
    decode_proof_file(TINY)
    for offset in range(BODY, len(TINY) - 4, 4):
        data = sealed(TINY[:offset] + b"\xff\xff\xff\xff" + TINY[offset + 4 :])
        tracemalloc.start()
        refused_or_identical(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**18


def test_lying_header_does_not_allocate(tmp_path):
    for at, value in ((28, 2**24), (28, 2**32 - 1), (32, 2**32 - 1)):
        data = bytearray(TINY)
        struct.pack_into("<I", data, at, value)
        (tmp_path / "proof").write_bytes(data)
        tracemalloc.start()
        with pytest.raises(ProofFormatError):
            read_proof_file(tmp_path / "proof")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**22


def test_foreign_files(tmp_path):
    for data in (b"", b"\x89WHI", b"\x89PNG\r\n\x1a\n" + bytes(100), b'{"format":"p3-whir 0.8.0"}', bytes(1000)):
        (tmp_path / "proof").write_bytes(data)
        with pytest.raises(ProofFormatError, match=f"byte 0: expected the magic bytes.*{MAGIC.hex(' ')}"):
            read_proof_file(tmp_path / "proof")
    # A file sent as text: the line end of the magic bytes changed.
    with pytest.raises(ProofFormatError, match="magic"):
        decode_proof_file(TINY.replace(b"\r\n", b"\n", 1))


def test_versions_and_names_are_named_first():
    for at, new, match in (
        (8, struct.pack("<I", 2), "format version 1, got 2"),
        (12, b"p3-whir 0.9.0", f'the protocol name "{PROTOCOL}", got .*0.9.0'),
        (12, bytes(16), "the protocol name"),
        (27, b"x", "the protocol name"),
    ):
        # Neither the rest of the file nor the checksum is looked at.
        data = TINY[:at] + new + TINY[at + len(new) :]
        for rest in (data, data[:HEADER], data + b"more"):
            with pytest.raises(ProofFormatError, match=match):
                decode_proof_file(rest)


def test_read_errors_are_the_systems(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_proof_file(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        read_proof_file(tmp_path)
    with pytest.raises(TypeError):
        decode_proof_file("text")


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    contents = tiny()
    write_proof_file(tmp_path / "proof", *contents)

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_proof_file(tmp_path / "proof", {}, *contents[1:])
    monkeypatch.undo()
    with pytest.raises(ProofFormatError):
        write_proof_file(tmp_path / "proof", {}, contents[1], None)
    assert (tmp_path / "proof").read_bytes() == TINY and os.listdir(tmp_path) == ["proof"]


# ---- parameters ------------------------------------------------------------------------------------------------------


def with_parameters(text: bytes) -> bytes:
    data = bytearray(
        TINY[:28] + struct.pack("<I", len(text)) + TINY[32:36] + text + bytes(-len(text) % 4) + TINY[BODY:]
    )
    return sealed(bytes(data))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"a": [1, True, False, None, "x", {"b": [[]]}], "": 9999999999},
        {"name": "é\n\0\U0001f600[[{\ud800"},
        {"b": 1, "a": 2},
    ],
)
def test_parameters_come_back(parameters):
    data = encode_proof_file(parameters, *tiny()[1:])
    assert decode_proof_file(data)[0] == parameters
    assert data == with_parameters(encode_canonical(parameters))


@pytest.mark.parametrize("text", [b'{"n":5, "m":1}', b'{"m":1,"m":1}', b'{"n":1.0}', b"[]", b"", b"{}\n", b"\xff"])
def test_parameters_have_one_form(text):
    with pytest.raises(ProofFormatError, match=f"byte {HEADER}: parameters refused"):
        decode_proof_file(with_parameters(text))


def test_padding_is_zero():
    text = b'{"layout":"suffix","n":5}'
    data = bytearray(with_parameters(text))
    assert bytes(data) == TINY
    data[BODY - 1] = ord(" ")
    with pytest.raises(ProofFormatError, match=f"byte {HEADER + len(text)}: expected zero padding"):
        decode_proof_file(sealed(bytes(data)))


# ---- fuzz ------------------------------------------------------------------------------------------------------------

FUZZ = settings(max_examples=150, deadline=None, derandomize=True)


@FUZZ
@given(st.binary(max_size=200))
def test_fuzz_bytes(data):
    assert not refused_or_identical(data)
    refused_or_identical(MAGIC + data)
    refused_or_identical(with_parameters(data))


@FUZZ
@given(st.lists(st.integers(0, 9) | st.integers(0, 2**32 - 1), max_size=60))
def test_fuzz_bodies(body):
    refused_or_identical(resized(struct.pack(f"<{len(body)}I", *body)))


@FUZZ
@given(st.data())
def test_fuzz_edits(data):
    body = TINY[BODY:-4]
    start = data.draw(st.integers(0, len(body) // 4)) * 4
    end = start + 4 * data.draw(st.integers(0, 3))
    edit = data.draw(st.lists(st.integers(0, 9) | st.integers(0, 2**32 - 1), max_size=4))
    refused_or_identical(resized(body[:start] + struct.pack(f"<{len(edit)}I", *edit) + body[end:]))


def test_random_flips_of_a_real_proof():
    data = encode_proof_file(*load(next(p for p in VECTORS if p.name.startswith("suffix_n8_k2_unique"))))
    rng = random.Random(7)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if bytes(changed) != data:
            with pytest.raises(ProofFormatError):
                decode_proof_file(bytes(changed))
            refused_or_identical(sealed(bytes(changed)))
