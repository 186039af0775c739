"""The form check of proof objects: any value in any field is refused with the right error, never with another one."""

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from whir_mlx.errors import ProofFormatError, VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json, to_plonky3_json
from whir_mlx.protocol.proof import Commitment, Proof, find_fault, num_words, size_bytes, validate

VECTORS = Path(__file__).parents[1] / "vectors" / "proofs"


def load(name: str) -> tuple[Commitment, Proof]:
    vector = json.loads(gzip.decompress((VECTORS / f"{name}.json.gz").read_bytes()))
    return from_plonky3_json(json.dumps({"format": FORMAT, **{k: vector[k] for k in ("commitment", "proof")}}))


# One round, both opening kinds, a closing sumcheck: every field of every class is present.
COMMITMENT, PROOF = load("suffix_n14_folds")


def slots(value: object, path: tuple = ()):
    """The path of every field and tuple item below a proof object."""
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield (*path, f.name)
            yield from slots(getattr(value, f.name), (*path, f.name))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield (*path, i)
            yield from slots(item, (*path, i))


def at(value: object, path: tuple) -> object:
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def replaced(value: object, path: tuple, new: object) -> object:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*value[:step], replaced(value[step], rest, new), *value[step + 1 :])
    return dataclasses.replace(value, **{step: replaced(getattr(value, step), rest, new)})


SLOTS = list(slots(PROOF))
OPTIONAL = ("commitment", "final_poly", "final_sumcheck")
JUNK = [
    None,
    1.5,
    "x",
    True,
    -1,
    P,
    [],
    [1],
    (),
    {},
    object(),
    np.uint32(1),
    np.zeros(3),
    np.zeros((1, 2, 3, 5), np.uint32),
]
JUNK += [np.zeros((), np.uint32), np.array(["a"]), np.array([None]), b"", float("nan"), COMMITMENT, PROOF, 2**80]


@pytest.mark.parametrize("path", SLOTS, ids=lambda path: ".".join(map(str, path)))
def test_junk_in_any_field_is_refused(path):
    for junk in JUNK:
        broken = replaced(PROOF, path, junk)
        if (junk is None and path[-1] in OPTIONAL) or (
            isinstance(junk, tuple) and path[-1] in ("rounds", "evaluations")
        ):
            assert find_fault(broken) is None  # a matter of counts: the verifier names it
            continue
        with pytest.raises(VerificationError, match="MalformedProof"):
            validate(COMMITMENT, broken)
        with pytest.raises(ProofFormatError):
            to_plonky3_json(COMMITMENT, broken)


@pytest.mark.parametrize(
    "path", [p for p in SLOTS if isinstance(at(PROOF, p), np.ndarray)], ids=lambda p: ".".join(map(str, p))
)
def test_wrong_arrays_are_refused(path):
    good = at(PROOF, path)
    wrong = [
        good.astype(np.int64),
        good.astype(">u4"),
        good.astype(np.float64),
        good[None],
        good.tolist(),
        good.view(np.int32),
    ]
    if good.ndim > 1:
        wrong += [
            good.reshape(-1),
            np.ones((2, *good.shape[1:-1], 5), np.uint32),
            np.ones((2, *good.shape[1:-1], 0), np.uint32),
        ]
    if path[-1] == "rows" and at(PROOF, path[:-1]).kind == "base":
        del wrong[-2]  # base rows of 5 words are well formed
    if good.size:
        for word in (P, 2**32 - 1):
            wrong.append(good.copy())
            wrong[-1].flat[good.size // 2] = word
    for value in wrong:
        fault = find_fault(replaced(PROOF, path, value))
        assert fault is not None and fault.path.endswith(str(path[-1]))
    largest = good.copy()
    if good.size:
        largest.flat[-1] = P - 1
    assert find_fault(replaced(PROOF, path, largest)) is None


@pytest.mark.parametrize(
    "cap", [np.zeros((0, 8), np.uint32), np.zeros((3, 8), np.uint32), None, np.full((1, 8), P, np.uint32)]
)
def test_wrong_commitments_are_refused(cap):
    with pytest.raises(VerificationError, match=r"commitment\.cap"):
        validate(Commitment(cap), PROOF)
    with pytest.raises(ProofFormatError):
        to_plonky3_json(Commitment(cap), PROOF)
    with pytest.raises(VerificationError, match="a Commitment"):
        validate(cap, PROOF)


def test_a_good_proof_passes():
    validate(COMMITMENT, PROOF)


def test_equality_is_by_value():
    commitment, proof = load("suffix_n14_folds")
    assert commitment == COMMITMENT and hash(commitment) == hash(COMMITMENT) and proof == PROOF
    assert commitment != commitment.cap.tolist() and proof != load("suffix_n8_k2_unique")[1]
    for path in SLOTS:
        old = at(PROOF, path)
        changed = old.copy() if isinstance(old, np.ndarray) else old + 1 if isinstance(old, int) else None
        if isinstance(old, np.ndarray) and old.size:
            changed.flat[-1] ^= 1
        if changed is not None and np.size(old):
            assert replaced(PROOF, path, changed) != PROOF


def test_commitment_hex():
    commitment = Commitment(np.arange(1, 17, dtype=np.uint32).reshape(2, 8))
    assert commitment.hex().startswith("0100000002000000") and len(commitment.hex()) == 128
    assert Commitment.from_hex(commitment.hex().upper()) == commitment
    top = "".join((P - 1).to_bytes(4, "little").hex() for _ in range(8))
    assert Commitment.from_hex(top).cap.tolist() == [[P - 1] * 8]


@pytest.mark.parametrize(
    "text", ["", "00" * 31, "00" * 33, "0x" + "00" * 31, "00" * 96, "zz" * 32, " " + "00" * 32, "00" * 32 + "\n"]
)
def test_wrong_hex_is_refused(text):
    with pytest.raises(ProofFormatError):
        Commitment.from_hex(text)


def test_hex_words_below_p():
    with pytest.raises(ProofFormatError, match=str(P)):
        Commitment.from_hex(P.to_bytes(4, "little").hex() + "00" * 28)
    with pytest.raises(TypeError):
        Commitment.from_hex(b"00" * 32)


def test_num_words_counts_every_word():
    # suffix_n8_k2_unique: no round, 2 + 6 sumcheck rounds of 2 elements, 64 final values, 1 evaluation, final witness.
    _, proof = load("suffix_n8_k2_unique")
    opening = proof.whir.final_opening
    expected = (2 + 6) * 8 + 64 * 4 + 4 + 1 + opening.rows.size + opening.siblings.size
    assert num_words(proof) == expected and size_bytes(proof) == 4 * expected
