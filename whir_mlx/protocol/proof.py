"""Proof objects: dataclasses over canonical ``uint32`` NumPy arrays, and the check of their form.

Letters: s out-of-domain samples, q STIR queries, d sibling digests, c cap digests, m closing sumcheck rounds. Words are
canonical (below p); an extension element is a last axis of 4 words, a digest a last axis of 8.

The constructors take anything. `validate` (called first by the verifier) and `find_fault` (called first by the writers)
look at the form; counts that follow from the parameters are the verifier's business, not theirs.

Source: p3-whir 0.8.0 `pcs/proof.rs`; p3-sumcheck 0.8.0 `data.rs`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from whir_mlx.errors import ProofFormatError, VerificationError
from whir_mlx.field.constants import EXT_DEGREE, P

__all__ = [
    "BatchEvaluations",
    "Commitment",
    "MerkleOpening",
    "Proof",
    "RoundProof",
    "SumcheckProof",
    "WhirProof",
    "commitment_fault",
    "find_fault",
    "num_words",
    "size_bytes",
    "validate",
]

DIGEST_WORDS = 8


def _same(a: object, b: object) -> bool:
    """Equality that goes into arrays, tuples and proof objects; arrays without rows are equal whatever their width."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        no_rows = a.ndim == b.ndim and a.shape[:1] == b.shape[:1] == (0,)
        return a.dtype == b.dtype and (no_rows or np.array_equal(a, b))
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and not isinstance(a, np.ndarray) and a == b


class _Record:
    """Equality by value over the fields. Unhashable, since arrays are."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))


@dataclass(frozen=True, eq=False)
class Commitment:
    """A Merkle cap: `cap` is (c, 8) canonical words, c a power of two."""

    cap: np.ndarray

    def __eq__(self, other: object) -> bool:
        return _same(self.cap, other.cap) if isinstance(other, Commitment) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.cap.tobytes())

    def hex(self) -> str:
        """The cap as 64 hexadecimal digits a digest: canonical words in order, each little-endian."""
        return np.ascontiguousarray(self.cap, dtype="<u4").tobytes().hex()

    @classmethod
    def from_hex(cls, text: str) -> "Commitment":
        """Inverse of `hex`. Upper or lower case; raises ProofFormatError (a ValueError) for anything else."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        if not re.fullmatch("(?:[0-9a-fA-F]{64})+", text):
            raise ProofFormatError(f"a commitment is 64 hexadecimal digits a digest, got {len(text)}: {text[:80]!r}")
        words = np.frombuffer(bytes.fromhex(text), dtype="<u4").astype(np.uint32)
        commitment = cls(words.reshape(-1, DIGEST_WORDS))
        if fault := commitment_fault(commitment):
            raise ProofFormatError(str(fault))
        return commitment


@dataclass(frozen=True, eq=False)
class SumcheckProof(_Record):
    """`round_polynomials` (rounds, 2, 4): constant and leading coefficients; `pow_witnesses` (rounds or 0,)."""

    round_polynomials: np.ndarray
    pow_witnesses: np.ndarray


@dataclass(frozen=True, eq=False)
class MerkleOpening(_Record):
    """Rows of one codeword, in query order, and the pruned sibling digests that lead them to its cap.

    `kind` is "base" (the committed codeword) or "extension" (a later one); `rows` is (q, width), extension rows
    flattened to 4 words an element; `siblings` is (d, 8), level by level from the leaves.
    """

    kind: str
    rows: np.ndarray
    siblings: np.ndarray


@dataclass(frozen=True, eq=False)
class RoundProof(_Record):
    """One WHIR round: `commitment` (c, 8) or None, `ood_answers` (s, 4), `pow_witness`, `opening`, `sumcheck`."""

    commitment: np.ndarray | None
    ood_answers: np.ndarray
    pow_witness: int
    opening: MerkleOpening
    sumcheck: SumcheckProof


@dataclass(frozen=True, eq=False)
class WhirProof(_Record):
    """The WHIR run; `final_poly` is (2^m, 4) or None; `final_sumcheck` is None when there is no closing round."""

    initial_ood_answers: np.ndarray
    initial_sumcheck: SumcheckProof
    rounds: tuple[RoundProof, ...]
    final_poly: np.ndarray | None
    final_pow_witness: int
    final_opening: MerkleOpening
    final_sumcheck: SumcheckProof | None


@dataclass(frozen=True, eq=False)
class BatchEvaluations(_Record):
    """The values of one opening batch: `current` (columns, 4) and `next` (successor columns, 4)."""

    current: np.ndarray
    next: np.ndarray


@dataclass(frozen=True, eq=False)
class Proof(_Record):
    """A whole opening proof: the WHIR run, and the evaluations batch by batch in schedule order."""

    whir: WhirProof
    evaluations: tuple[BatchEvaluations, ...]


class Fault(NamedTuple):
    """What is malformed: the field's path, the rule it breaks, what was found."""

    path: str
    rule: str
    got: object

    def __str__(self) -> str:
        return f"{self.path}: expected {self.rule}, got {self.got}"


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{type(value).__name__} {value!r}"[:80]


class _Walk:
    """A walk over a commitment or proof, which yields its faults in order.

    With `arrays`, a list, the arrays of the right form are collected there, and the range of their words is left to the
    caller, who can look at them all at once.
    """

    def __init__(self, arrays: list[np.ndarray] | None = None):
        self._arrays = arrays

    def array(self, path: str, value: object, *tail: int | None) -> Iterator[Fault]:
        """Faults of an array of shape (any, *tail), where None in `tail` is any length."""
        if not isinstance(value, np.ndarray) or value.dtype != np.uint32:
            yield Fault(path, f"a uint32 array of shape {_shape(tail)}", _describe(value))
        elif value.ndim != 1 + len(tail) or any(t not in (None, got) for t, got in zip(tail, value.shape[1:])):
            yield Fault(path, f"shape {_shape(tail)}", value.shape)
        elif self._arrays is not None:
            self._arrays.append(value)
        elif value.size and (top := int(value.max())) >= P:
            yield Fault(path, f"words below {P}", top)

    def cap(self, path: str, cap: object) -> Iterator[Fault]:
        yield from (faults := list(self.array(path, cap, DIGEST_WORDS)))
        if not faults and (len(cap) == 0 or len(cap) & (len(cap) - 1)):
            yield Fault(path, "a power of two of digests", len(cap))

    def word(self, path: str, value: object) -> Iterator[Fault]:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < P:
            yield Fault(path, f"an int in 0..{P - 1}", _describe(value))

    def sumcheck(self, path: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, SumcheckProof):
            yield Fault(path, "a SumcheckProof", _describe(value))
            return
        yield from self.array(f"{path}.round_polynomials", value.round_polynomials, 2, EXT_DEGREE)
        yield from self.array(f"{path}.pow_witnesses", value.pow_witnesses)

    def opening(self, path: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, MerkleOpening):
            yield Fault(path, "a MerkleOpening", _describe(value))
            return
        if not isinstance(value.kind, str) or value.kind not in ("base", "extension"):
            yield Fault(f"{path}.kind", '"base" or "extension"', _describe(value.kind))
            return
        yield from (faults := list(self.array(f"{path}.rows", value.rows, None)))
        if not faults and len(value.rows):
            width = value.rows.shape[1]
            unit = EXT_DEGREE if value.kind == "extension" else 1
            if width == 0 or width % unit:
                yield Fault(f"{path}.rows", f"a row width that is a positive multiple of {unit}", width)
        yield from self.array(f"{path}.siblings", value.siblings, DIGEST_WORDS)

    def round(self, path: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, RoundProof):
            yield Fault(path, "a RoundProof", _describe(value))
            return
        if value.commitment is not None:
            yield from self.cap(f"{path}.commitment", value.commitment)
        yield from self.array(f"{path}.ood_answers", value.ood_answers, EXT_DEGREE)
        yield from self.word(f"{path}.pow_witness", value.pow_witness)
        yield from self.opening(f"{path}.opening", value.opening)
        yield from self.sumcheck(f"{path}.sumcheck", value.sumcheck)

    def whir(self, path: str, value: object) -> Iterator[Fault]:
        if not isinstance(value, WhirProof):
            yield Fault(path, "a WhirProof", _describe(value))
            return
        yield from self.array(f"{path}.initial_ood_answers", value.initial_ood_answers, EXT_DEGREE)
        yield from self.sumcheck(f"{path}.initial_sumcheck", value.initial_sumcheck)
        if not isinstance(value.rounds, tuple):
            yield Fault(f"{path}.rounds", "a tuple of RoundProof", _describe(value.rounds))
            return
        for i, round_proof in enumerate(value.rounds):
            yield from self.round(f"{path}.rounds[{i}]", round_proof)
        if value.final_poly is not None:
            yield from self.array(f"{path}.final_poly", value.final_poly, EXT_DEGREE)
        yield from self.word(f"{path}.final_pow_witness", value.final_pow_witness)
        yield from self.opening(f"{path}.final_opening", value.final_opening)
        if value.final_sumcheck is not None:
            yield from self.sumcheck(f"{path}.final_sumcheck", value.final_sumcheck)

    def proof(self, proof: object) -> Iterator[Fault]:
        if not isinstance(proof, Proof):
            yield Fault("proof", "a Proof", _describe(proof))
            return
        yield from self.whir("whir", proof.whir)
        if not isinstance(proof.evaluations, tuple):
            yield Fault("evaluations", "a tuple of BatchEvaluations", _describe(proof.evaluations))
            return
        for i, batch in enumerate(proof.evaluations):
            if not isinstance(batch, BatchEvaluations):
                yield Fault(f"evaluations[{i}]", "a BatchEvaluations", _describe(batch))
                continue
            yield from self.array(f"evaluations[{i}].current", batch.current, EXT_DEGREE)
            yield from self.array(f"evaluations[{i}].next", batch.next, EXT_DEGREE)


def _shape(tail: tuple) -> str:
    return str(("n", *tail)).replace("'", "").replace("None", "width")


def commitment_fault(commitment: object) -> Fault | None:
    """The first way in which `commitment` is not a Commitment of a (c, 8) canonical cap, c a power of two; or None."""
    if not isinstance(commitment, Commitment):
        return Fault("commitment", "a Commitment", _describe(commitment))
    return next(_Walk().cap("commitment.cap", commitment.cap), None)


def find_fault(proof: object) -> Fault | None:
    """The first way in which `proof` is malformed (types, dtypes, ranks, word range), or None. Never raises.

    None passes where the proof format has it (round commitment, final_poly, final_sumcheck), and so does any count of
    rows, rounds, answers or digests, except that a cap holds a power of two of digests and that a row is not empty.
    """
    return next(_Walk().proof(proof), None)


def validate(commitment: object, proof: object) -> tuple[list[np.ndarray], np.ndarray]:
    """Refuse a commitment or proof object of the wrong form. A verifier calls this first.

    Returns all their arrays, and the words of these one after the other. Raises VerificationError with check
    "MalformedProof", naming the field, the rule and what was found.
    """
    arrays: list[np.ndarray] = []
    joined = _sound_words(commitment, proof, arrays)
    if joined is not None:
        return arrays, joined
    fault = commitment_fault(commitment) or find_fault(proof)
    raise VerificationError("MalformedProof", where=fault.path, expected=fault.rule, got=fault.got)


def _sound_words(commitment: object, proof: object, arrays: list[np.ndarray]) -> np.ndarray | None:
    """The words of all arrays, which it collects, or None where one or the other is not well-formed."""
    walk = _Walk(arrays)
    if not isinstance(commitment, Commitment) or any(walk.cap("", commitment.cap)) or any(walk.proof(proof)):
        return None
    joined = np.concatenate([array.reshape(-1) for array in arrays])
    return joined if int(joined.max(initial=0)) < P else None


def _count_words(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, _Record):
        value = tuple(getattr(value, f.name) for f in fields(value))
    return sum(map(_count_words, value)) if isinstance(value, tuple) else int(isinstance(value, int))


def num_words(proof: Proof) -> int:
    """Field words in a well-formed proof (an extension element is 4, a digest 8), the commitment not included."""
    return _count_words(proof)


def size_bytes(proof: Proof) -> int:
    """Four bytes a field word: the proof's size apart from what a file format adds."""
    return 4 * num_words(proof)
