"""Two strict uses of JSON: a reader without the kindness of `json.loads`, and one canonical form for plain dicts.

Whatever the standard reader accepts and a proof format does not (floats, NaN, repeated keys, integers of any size)
becomes an object of one of two types that no slot accepts, so that the caller, who knows the path, refuses it there.
"""

import json

import numpy as np

from whir_mlx.errors import ProofFormatError

__all__ = ["MAX_CANONICAL_BYTES", "Literal", "RepeatedKey", "decode_canonical", "encode_canonical", "parse"]

MAX_DIGITS = 10
MAX_CANONICAL_BYTES = 2**24
MAX_CANONICAL_DEPTH = 16


class Literal:
    """A number that is not a plain non-negative integer of at most 10 digits; `repr` is its text."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


class RepeatedKey:
    """An object that has `key` more than once."""

    def __init__(self, key: str):
        self.key = key

    def __repr__(self) -> str:
        return f"an object with the key {self.key[:40]!r} twice"


def _read_integer(text: str) -> int | Literal:
    return int(text) if len(text) <= MAX_DIGITS and text[0] != "-" else Literal(text)


def _read_object(pairs: list[tuple[str, object]]) -> dict | RepeatedKey:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return RepeatedKey(key)


def _codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _depth(codes: np.ndarray) -> int:
    """How deep brackets nest, those inside strings included (the formats read here have none there)."""
    step = np.zeros(256, dtype=np.int8)
    step[[ord("["), ord("{")]] = 1
    step[[ord("]"), ord("}")]] = -1
    return int(np.cumsum(step[codes], dtype=np.int32).max(initial=0))


def _only_plain_integers(codes: np.ndarray) -> bool:
    """Whether no digit follows a minus and no more than MAX_DIGITS of them follow each other, in strings or elsewhere:
    then `_read_integer` would change nothing, which saves a call for every number."""
    digits = (codes >= ord("0")) & (codes <= ord("9"))
    if (digits[1:] & (codes[:-1] == ord("-"))).any():
        return False
    # Runs of 2, 4 and 8 digits, then of 8 that begin 3 apart.
    for length in (1, 2, 4, MAX_DIGITS + 1 - 8):
        digits = digits[length:] & digits[:-length]
    return not digits.any()


def parse(text: str, *, max_depth: int, max_characters: int) -> object:
    """The value of one JSON document: dict, list, str, int (0 to 10 digits), bool, None, `Literal` or `RepeatedKey`.

    Raises ProofFormatError for anything that is not one JSON document, or is larger or deeper than the limits.
    """
    if len(text) > max_characters:
        raise ProofFormatError(f"JSON of {len(text)} characters, more than the {max_characters} that are read")
    # Counted first: the recursion of the standard reader ends in RecursionError only when the stack is large enough.
    codes = _codes(text)
    if (depth := _depth(codes)) > max_depth:
        raise ProofFormatError(f"JSON nested {depth} deep, more than {max_depth}")
    hooks = {"parse_float": Literal, "parse_constant": Literal}
    if not _only_plain_integers(codes):
        hooks["parse_int"] = _read_integer
    try:
        return json.loads(text, object_pairs_hook=_read_object, **hooks)
    except (ValueError, RecursionError) as error:
        raise ProofFormatError(f"not JSON: {error}") from error


def _check_plain(value: object, path: str, depth: int) -> None:
    if depth > MAX_CANONICAL_DEPTH:
        raise ValueError(f"{path}: nested more than {MAX_CANONICAL_DEPTH} deep")
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{path}: a key must be a str, got {key!r}")
            _check_plain(item, f"{path}[{key!r}]", depth + 1)
    elif type(value) in (list, tuple):
        for i, item in enumerate(value):
            _check_plain(item, f"{path}[{i}]", depth + 1)
    elif type(value) is int:
        if not 0 <= value < 10**MAX_DIGITS:
            raise ValueError(f"{path}: an integer must be in 0..{10**MAX_DIGITS - 1}, got {value}")
    elif value is not None and type(value) not in (str, bool):
        raise TypeError(f"{path} must be a dict, list, str, int, bool or None, got {type(value).__name__}")


def encode_canonical(parameters: dict) -> bytes:
    """Canonical JSON of a plain dict: ASCII, keys sorted, no white space.

    Inside are dict (str keys), list or tuple (read back as list), str, bool, None and int in 0..9999999999; anything
    else raises TypeError or ValueError naming where it stands.
    """
    if type(parameters) is not dict:
        raise TypeError(f"parameters must be a dict, got {type(parameters).__name__}")
    _check_plain(parameters, "parameters", 1)
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    if len(text) > MAX_CANONICAL_BYTES:
        raise ValueError(f"parameters take {len(text)} bytes of JSON, more than {MAX_CANONICAL_BYTES}")
    if _depth(_codes(text)) > MAX_CANONICAL_DEPTH:
        raise ValueError(f"parameters hold strings with more than {MAX_CANONICAL_DEPTH} open brackets")
    return text.encode("ascii")


def decode_canonical(data: bytes) -> dict:
    """The dict of which `encode_canonical` makes exactly `data`. Raises ProofFormatError where there is none."""
    try:
        text = data.decode("ascii")
        parameters = parse(text, max_depth=MAX_CANONICAL_DEPTH, max_characters=MAX_CANONICAL_BYTES)
        canonical = encode_canonical(parameters)
    except (TypeError, ValueError) as error:  # UnicodeDecodeError and ProofFormatError are ValueErrors
        raise ProofFormatError(str(error)) from error
    if canonical != data:
        raise ProofFormatError("not in canonical JSON (ASCII, keys sorted, no white space, the shortest escapes)")
    return parameters
