"""The crate's JSON of proofs: one schema, walked both ways. Plain form: the same shape, canonical ints, 4-tuples."""

from .field import P, from_monty, monty

F, E, ANY = "F", "E", "ANY"


class Malformed(Exception):
    pass


class Maybe:
    """A value or null."""

    def __init__(self, shape):
        self.shape = shape


DIGEST = (F,) * 8
COMMITMENT = {"_marker": None, "cap": [DIGEST]}
SUMCHECK = {"polynomial_evaluations": [(E, E)], "pow_witnesses": [F]}
ROUND = {
    "commitment": Maybe(COMMITMENT),
    "ood_answers": [E],
    "pow_witness": F,
    "openings": ANY,
    "sumcheck": SUMCHECK,
}
PROOF = {
    "whir": {
        "initial_ood_answers": [E],
        "initial_sumcheck": SUMCHECK,
        "rounds": [ROUND],
        "final_poly": Maybe(([E], None)),
        "final_pow_witness": F,
        "final_openings": ANY,
        "final_sumcheck": Maybe(SUMCHECK),
    },
    "evals": [{"current": [E], "next": [E]}],
}


def openings_shape(value) -> dict:
    """`ANY` above: the variant's name decides what a row holds."""
    if type(value) is not dict or list(value) not in (["Base"], ["Extension"]):
        raise Malformed("openings are {'Base': ...} or {'Extension': ...}")
    name = next(iter(value))
    return {name: {"rows": [[F if name == "Base" else E]], "proof": {"sibling_hashes": [DIGEST]}}}


def require(condition: bool, what: str) -> None:
    if not condition:
        raise Malformed(what)


def convert(shape, value, leaf, ext_leaf):
    """`value` with every field and extension element sent through `leaf` and `ext_leaf`; refuses any other shape."""
    if shape is ANY:
        shape = openings_shape(value)
    if isinstance(shape, Maybe):
        return None if value is None else convert(shape.shape, value, leaf, ext_leaf)
    if shape == F:
        return leaf(value)
    if shape == E:
        return ext_leaf(value)
    if shape is None:
        require(value is None, "null expected")
        return None
    if isinstance(shape, dict):
        require(type(value) is dict and set(value) == set(shape), f"keys {sorted(shape)} expected")
        return {key: convert(shape[key], value[key], leaf, ext_leaf) for key in shape}
    require(type(value) in (list, tuple), "list expected")
    if isinstance(shape, tuple):
        require(len(value) == len(shape), f"{len(shape)} items expected")
        return [convert(s, v, leaf, ext_leaf) for s, v in zip(shape, value, strict=True)]
    return [convert(shape[0], v, leaf, ext_leaf) for v in value]


def write(shape, value):
    """Plain form to JSON objects (Montgomery words)."""
    return convert(shape, value, monty, lambda e: {"_phantom": None, "value": [monty(c) for c in e]})


def _read_word(word) -> int:
    require(type(word) is int and 0 <= word < P, f"field word below p expected, got {word!r}")
    return from_monty(word)


def _read_ext(value) -> tuple:
    require(type(value) is dict and set(value) == {"_phantom", "value"}, "extension element expected")
    require(value["_phantom"] is None and type(value["value"]) is list and len(value["value"]) == 4, "4 words expected")
    return tuple(_read_word(word) for word in value["value"])


def read(shape, value):
    """JSON objects to plain form; raises Malformed."""
    plain = convert(shape, value, _read_word, _read_ext)
    caps = [plain["cap"]] if shape is COMMITMENT else []
    if shape is PROOF:
        caps = [r["commitment"]["cap"] for r in plain["whir"]["rounds"] if r["commitment"]]
    for cap in caps:
        require(len(cap).bit_count() == 1, "cap of a power of two of digests expected")
    return plain
