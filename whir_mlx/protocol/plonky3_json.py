"""Conversion to and from the serde JSON of p3-whir 0.8.0.

The document is ``{"format": "p3-whir 0.8.0", "commitment": ..., "proof": ...}``; the two values are what serde_json
writes for the crate's `MerkleCap` and `PcsProof`. Every field element there is its Montgomery word.

Source: p3-whir 0.8.0 `pcs/proof.rs`; p3-symmetric 0.8.0 `hash.rs` (caps); p3-monty-31 0.8.0 `monty_31.rs` (words);
p3-multilinear-util 0.8.0 `poly/mod.rs` (a polynomial is the pair of its values and null).
"""

import json
from collections.abc import Callable
from itertools import chain

import numpy as np

from whir_mlx.errors import ProofFormatError
from whir_mlx.field.constants import EXT_DEGREE, MONTY_ONE, P
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
from whir_mlx.protocol.strict_json import parse

__all__ = ["FORMAT", "from_plonky3_json", "to_plonky3_json"]

FORMAT = "p3-whir 0.8.0"

# A proof nests 11 deep (a limb of a row of a round).
MAX_DEPTH = 16
# A 100-bit proof of 2^20 values is about 1 MB of JSON; parsing takes some 10 times the text in memory.
MAX_CHARACTERS = 64 * 2**20

_MONTY_INVERSE = pow(MONTY_ONE, -1, P)


def _to_montgomery(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint64) << np.uint64(32)) % np.uint64(P)


def _from_montgomery(words: np.ndarray) -> np.ndarray:
    return (words * np.uint64(_MONTY_INVERSE) % np.uint64(P)).astype(np.uint32)


# ---- writing ---------------------------------------------------------------------------------------------------------


def _word_json(word: int) -> int:
    return (word << 32) % P


def _words_json(words: np.ndarray) -> list:
    return _to_montgomery(words).tolist()


def _elements_json(words: np.ndarray) -> list[dict]:
    return [{"value": limbs, "_phantom": None} for limbs in _words_json(words.reshape(-1, EXT_DEGREE))]


def _cap_json(cap: np.ndarray) -> dict:
    return {"cap": _words_json(cap), "_marker": None}


def _sumcheck_json(sumcheck: SumcheckProof) -> dict:
    elements = _elements_json(sumcheck.round_polynomials)
    return {
        "polynomial_evaluations": [elements[i : i + 2] for i in range(0, len(elements), 2)],
        "pow_witnesses": _words_json(sumcheck.pow_witnesses),
    }


def _opening_json(opening: MerkleOpening) -> dict:
    shared_proof = {"sibling_hashes": _words_json(opening.siblings)}
    if opening.kind == "base":
        return {"Base": {"rows": _words_json(opening.rows), "proof": shared_proof}}
    return {"Extension": {"rows": [_elements_json(row) for row in opening.rows], "proof": shared_proof}}


def _round_json(round_proof: RoundProof) -> dict:
    return {
        "commitment": None if round_proof.commitment is None else _cap_json(round_proof.commitment),
        "ood_answers": _elements_json(round_proof.ood_answers),
        "pow_witness": _word_json(round_proof.pow_witness),
        "openings": _opening_json(round_proof.opening),
        "sumcheck": _sumcheck_json(round_proof.sumcheck),
    }


def _whir_json(whir: WhirProof) -> dict:
    return {
        "initial_ood_answers": _elements_json(whir.initial_ood_answers),
        "initial_sumcheck": _sumcheck_json(whir.initial_sumcheck),
        "rounds": [_round_json(r) for r in whir.rounds],
        "final_poly": None if whir.final_poly is None else [_elements_json(whir.final_poly), None],
        "final_pow_witness": _word_json(whir.final_pow_witness),
        "final_openings": _opening_json(whir.final_opening),
        "final_sumcheck": None if whir.final_sumcheck is None else _sumcheck_json(whir.final_sumcheck),
    }


def to_plonky3_json(commitment: Commitment, proof: Proof) -> str:
    """The document of a commitment and a proof: one line, keys in the crate's struct order, Montgomery words.

    Raises ProofFormatError where an object is malformed.
    """
    if fault := commitment_fault(commitment) or find_fault(proof):
        raise ProofFormatError(str(fault))
    evaluations = [{"current": _elements_json(b.current), "next": _elements_json(b.next)} for b in proof.evaluations]
    document = {
        "format": FORMAT,
        "commitment": _cap_json(commitment.cap),
        "proof": {"whir": _whir_json(proof.whir), "evals": evaluations},
    }
    return json.dumps(document, separators=(",", ":"))


# ---- reading: every slot names its path ------------------------------------------------------------------------------


def _fail(path: str, rule: str, got: object) -> ProofFormatError:
    shown = json.dumps(got) if got is None or isinstance(got, bool) else repr(got)
    if isinstance(got, (list, dict)):
        shown = f"{'an array' if isinstance(got, list) else 'an object'} of {len(got)}"
    return ProofFormatError(f"proof JSON, {path}: expected {rule}, got {shown[:80]}")


def _array(path: str, value: object, length: int | None = None) -> list:
    if type(value) is not list or length not in (None, len(value)):
        raise _fail(path, "an array" if length is None else f"an array of {length}", value)
    return value


def _struct(path: str, value: object, *keys: str) -> list:
    """The values of an object that has exactly `keys`, in the order of `keys`."""
    if type(value) is not dict:
        raise _fail(path, f"an object with the keys {', '.join(keys)}", value)
    for key in keys:
        if key not in value:
            raise ProofFormatError(f"proof JSON, {path}.{key}: missing")
    for key in value:
        if key not in keys:
            raise ProofFormatError(f"proof JSON, {path}: unknown key {key[:80]!r}")
    return [value[key] for key in keys]


def _null(path: str, value: object) -> None:
    if value is not None:
        raise _fail(path, "null", value)


def _words(words: list, path_of: Callable[[int], str]) -> np.ndarray:
    """Canonical words of a flat list of Montgomery words; `path_of` names position i when it is refused."""
    # `parse` gives no negative integers.
    if words and (set(map(type, words)) != {int} or max(words) >= P):
        for i, word in enumerate(words):
            if type(word) is not int or word >= P:
                raise _fail(path_of(i), f"an integer in 0..{P - 1}", word)
    return _from_montgomery(np.array(words, dtype=np.uint64))


def _word(path: str, value: object) -> int:
    return int(_words([value], lambda i: path)[0])


def _word_rows(path: str, value: object, width: int) -> np.ndarray:
    if not _are_lists(_array(path, value), width):
        for i, row in enumerate(value):
            _array(f"{path}[{i}]", row, width)
    flat = list(chain.from_iterable(value))
    return _words(flat, lambda i: f"{path}[{i // width}][{i % width}]").reshape(len(value), width)


def _elements(path: str, value: object, length: int | None = None) -> np.ndarray:
    if not _are_elements(_array(path, value, length)):
        for i, element in enumerate(value):
            value_of_element, phantom = _struct(f"{path}[{i}]", element, "value", "_phantom")
            _null(f"{path}[{i}]._phantom", phantom)
            _array(f"{path}[{i}].value", value_of_element, EXT_DEGREE)
    limbs = [limb for element in value for limb in element["value"]]
    words = _words(limbs, lambda i: f"{path}[{i // EXT_DEGREE}].value[{i % EXT_DEGREE}]")
    return words.reshape(-1, EXT_DEGREE)


# A document has thousands of digests and elements, nearly always all sound; only where one is not are they looked at
# one by one for its path.


def _are_lists(values: list, length: int) -> bool:
    return all(type(value) is list and len(value) == length for value in values)


def _are_elements(values: list) -> bool:
    return all(
        type(value) is dict
        and len(value) == 2
        and value.get("_phantom", 0) is None
        and type(limbs := value.get("value")) is list
        and len(limbs) == EXT_DEGREE
        for value in values
    )


def _element_rows(path: str, rows: list, width: int) -> np.ndarray:
    if _are_lists(rows, width) and _are_elements(joined := list(chain.from_iterable(rows))):
        limbs = [limb for element in joined for limb in element["value"]]
        per_row = width * EXT_DEGREE

        def path_of(i: int) -> str:
            return f"{path}[{i // per_row}][{i % per_row // EXT_DEGREE}].value[{i % EXT_DEGREE}]"

        return _words(limbs, path_of).reshape(len(rows), per_row)
    return _stack([_elements(f"{path}[{i}]", row, width) for i, row in enumerate(rows)], width * EXT_DEGREE)


def _stack(parts: list[np.ndarray], *shape: int) -> np.ndarray:
    return np.stack(parts).reshape(len(parts), *shape) if parts else np.zeros((0, *shape), dtype=np.uint32)


def _cap(path: str, value: object) -> np.ndarray:
    cap, marker = _struct(path, value, "cap", "_marker")
    _null(f"{path}._marker", marker)
    count = len(_array(f"{path}.cap", cap))
    if count == 0 or count & (count - 1):
        raise ProofFormatError(f"proof JSON, {path}.cap: expected a power of two of digests, got {count}")
    return _word_rows(f"{path}.cap", cap, DIGEST_WORDS)


def _sumcheck(path: str, value: object) -> SumcheckProof:
    polynomials, witnesses = _struct(path, value, "polynomial_evaluations", "pow_witnesses")
    polynomials_path, witnesses_path = f"{path}.polynomial_evaluations", f"{path}.pow_witnesses"
    _array(polynomials_path, polynomials)
    pairs = [_elements(f"{polynomials_path}[{i}]", pair, 2) for i, pair in enumerate(polynomials)]
    words = _words(_array(witnesses_path, witnesses), lambda i: f"{witnesses_path}[{i}]")
    return SumcheckProof(_stack(pairs, 2, EXT_DEGREE), words)


def _opening(path: str, value: object) -> MerkleOpening:
    if type(value) is not dict or len(value) != 1 or next(iter(value)) not in ("Base", "Extension"):
        raise _fail(path, 'an object with the one key "Base" or "Extension"', value)
    ((variant, opening),) = value.items()
    path = f"{path}.{variant}"
    rows, shared_proof = _struct(path, opening, "rows", "proof")
    width = len(_array(f"{path}.rows[0]", rows[0])) if _array(f"{path}.rows", rows) else 0
    if rows and width == 0:
        raise ProofFormatError(f"proof JSON, {path}.rows[0]: expected a row that is not empty")
    if variant == "Base":
        words = _word_rows(f"{path}.rows", rows, width) if rows else _stack([], 0)
    else:
        words = _element_rows(f"{path}.rows", rows, width)
    (siblings,) = _struct(f"{path}.proof", shared_proof, "sibling_hashes")
    siblings_words = _word_rows(f"{path}.proof.sibling_hashes", siblings, DIGEST_WORDS)
    return MerkleOpening(variant.lower(), words, siblings_words)


def _round(path: str, value: object) -> RoundProof:
    keys = ("commitment", "ood_answers", "pow_witness", "openings", "sumcheck")
    commitment, ood_answers, pow_witness, openings, sumcheck = _struct(path, value, *keys)
    return RoundProof(
        commitment=None if commitment is None else _cap(f"{path}.commitment", commitment),
        ood_answers=_elements(f"{path}.ood_answers", ood_answers),
        pow_witness=_word(f"{path}.pow_witness", pow_witness),
        opening=_opening(f"{path}.openings", openings),
        sumcheck=_sumcheck(f"{path}.sumcheck", sumcheck),
    )


def _whir(path: str, value: object) -> WhirProof:
    keys = ("initial_ood_answers", "initial_sumcheck", "rounds", "final_poly")
    keys += ("final_pow_witness", "final_openings", "final_sumcheck")
    ood_answers, sumcheck, rounds, final_poly, final_pow, final_openings, final_sumcheck = _struct(path, value, *keys)
    if final_poly is not None:
        values, phantom = _array(f"{path}.final_poly", final_poly, 2)
        _null(f"{path}.final_poly[1]", phantom)
        final_poly = _elements(f"{path}.final_poly[0]", values)
    return WhirProof(
        initial_ood_answers=_elements(f"{path}.initial_ood_answers", ood_answers),
        initial_sumcheck=_sumcheck(f"{path}.initial_sumcheck", sumcheck),
        rounds=tuple(_round(f"{path}.rounds[{i}]", r) for i, r in enumerate(_array(f"{path}.rounds", rounds))),
        final_poly=final_poly,
        final_pow_witness=_word(f"{path}.final_pow_witness", final_pow),
        final_opening=_opening(f"{path}.final_openings", final_openings),
        final_sumcheck=None if final_sumcheck is None else _sumcheck(f"{path}.final_sumcheck", final_sumcheck),
    )


def _batch(path: str, value: object) -> BatchEvaluations:
    current, following = _struct(path, value, "current", "next")
    return BatchEvaluations(_elements(f"{path}.current", current), _elements(f"{path}.next", following))


def from_plonky3_json(text: str | bytes) -> tuple[Commitment, Proof]:
    """Read a document that `to_plonky3_json` or the crate's serde wrote: the commitment and the proof, canonical words.

    Keys may come in any order and white space is free, as in JSON; nothing else is: exactly the known keys, once each;
    words that are plain integers below p; rows of one width; a power of two of digests in a cap; nothing behind it.
    Bytes are read as UTF-8. Raises ProofFormatError naming the JSON path, first of all for another or no format name.
    """
    if isinstance(text, (bytes, bytearray)):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise ProofFormatError(f"proof JSON is not UTF-8: {error}") from error
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    document = parse(text, max_depth=MAX_DEPTH, max_characters=MAX_CHARACTERS)
    if type(document) is not dict or "format" not in document:
        raise _fail("$", f'an object whose "format" is "{FORMAT}"', document)
    if document["format"] != FORMAT:
        raise _fail("$.format", f'"{FORMAT}"', document["format"])
    _, commitment, proof = _struct("$", document, "format", "commitment", "proof")
    cap = _cap("$.commitment", commitment)
    whir, evaluations = _struct("$.proof", proof, "whir", "evals")
    batches = [_batch(f"$.proof.evals[{i}]", b) for i, b in enumerate(_array("$.proof.evals", evaluations))]
    return Commitment(cap), Proof(_whir("$.proof.whir", whir), tuple(batches))
