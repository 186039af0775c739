"""The crate's JSON: all 13 vector proofs both ways, and a reader that takes nothing else.

Known values: p3-monty-31 0.8.0 `monty_31.rs` (words), and the proofs of `vectors/README_proofs.md`.
"""

import contextlib
import copy
import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whir_mlx.errors import ProofFormatError
from whir_mlx.field.constants import P
from whir_mlx.protocol import plonky3_json
from whir_mlx.protocol.plonky3_json import FORMAT, from_plonky3_json, to_plonky3_json
from whir_mlx.protocol.proof import find_fault, num_words, validate

VECTORS = sorted((Path(__file__).parents[1] / "vectors" / "proofs").glob("*.json.gz"))


def load(name: str) -> dict:
    path = next(p for p in VECTORS if p.name.startswith(f"{name}.json"))
    vector = json.loads(gzip.decompress(path.read_bytes()))
    return {"format": FORMAT, "commitment": vector["commitment"], "proof": vector["proof"]}


SMALL = load("suffix_n8_k2_unique")  # no round


def shortened(value: object) -> object:
    """`value` with every long array cut to 4 items, so that each place has few alike (and caps stay powers of two)."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in (value if len(value) <= 8 else value[:4])]
    return value


def two_rounds() -> dict:
    """A small well-formed document (the reader does not verify) with every field there is: its last round repeated,
    with the extension rows of the final opening and with witnesses."""
    document = shortened(load("suffix_n14_folds"))
    whir = document["proof"]["whir"]
    whir["rounds"] = [whir["rounds"][-1], copy.deepcopy(whir["rounds"][-1])]
    whir["rounds"][0]["openings"] = {"Base": {"rows": [[1, 2, 3]] * 3, "proof": {"sibling_hashes": [[5] * 8] * 3}}}
    whir["rounds"][1]["openings"] = copy.deepcopy(whir["final_openings"])
    whir["initial_sumcheck"]["pow_witnesses"] = [7, 8]
    whir["rounds"][0]["ood_answers"] = copy.deepcopy(document["proof"]["evals"][0]["current"])
    return json.loads(json.dumps(document))


ROUNDS = two_rounds()


def refused(document: object, match: str | None = None) -> str:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ProofFormatError, match=match) as caught:
        from_plonky3_json(text)
    return str(caught.value)


# ---- the vectors -----------------------------------------------------------------------------------------------------


def count_numbers(value: object) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(count_numbers, items)) + isinstance(value, int)


@pytest.mark.parametrize("path", VECTORS, ids=lambda p: p.name.split(".")[0])
def test_vectors_both_ways(path):
    document = load(path.name.split(".")[0])
    commitment, proof = from_plonky3_json(json.dumps(document))
    validate(commitment, proof)
    assert num_words(proof) == count_numbers(document["proof"])
    text = to_plonky3_json(commitment, proof)
    assert json.loads(text) == document
    assert from_plonky3_json(text) == (commitment, proof)
    assert from_plonky3_json(text.encode() + b"\n") == (commitment, proof)
    assert from_plonky3_json(json.dumps(document, indent=1)) == (commitment, proof)


def test_there_are_13_vectors():
    assert len(VECTORS) == 13


def test_words_are_montgomery():
    # 1, 2, p - 1 and 0 in the field are written so; the words 1 and p - 1 read as 943718400 and 1069547521.
    document = copy.deepcopy(SMALL)
    document["commitment"]["cap"][0][:6] = [268435454, 536870908, 1744830467, 0, 1, 2013265920]
    commitment, proof = from_plonky3_json(json.dumps(document))
    assert commitment.cap[0, :6].tolist() == [1, 2, P - 1, 0, 943718400, 1069547521]
    assert json.loads(to_plonky3_json(commitment, proof)) == document
    document["proof"]["whir"]["final_pow_witness"] = 536870908
    assert from_plonky3_json(json.dumps(document))[1].whir.final_pow_witness == 2


def test_text_is_in_struct_order():
    text = to_plonky3_json(*from_plonky3_json(json.dumps(ROUNDS)))
    assert text.startswith('{"format":"p3-whir 0.8.0","commitment":{"cap":[[') and "\n" not in text and " 0.8.0" in text
    document = json.loads(text)
    assert list(document["proof"]) == ["whir", "evals"]
    assert list(document["commitment"]) == ["cap", "_marker"]
    whir = document["proof"]["whir"]
    order = "initial_ood_answers initial_sumcheck rounds final_poly final_pow_witness final_openings final_sumcheck"
    assert list(whir) == order.split()
    assert list(whir["rounds"][1]) == ["commitment", "ood_answers", "pow_witness", "openings", "sumcheck"]
    assert list(whir["rounds"][1]["openings"]) == ["Extension"]
    assert list(whir["rounds"][1]["openings"]["Extension"]) == ["rows", "proof"]
    assert list(whir["initial_sumcheck"]) == ["polynomial_evaluations", "pow_witnesses"]
    assert list(whir["final_poly"][0][0]) == ["value", "_phantom"] and whir["final_poly"][1] is None
    assert list(document["proof"]["evals"][0]) == ["current", "next"]


def test_nulls_and_empty_openings_are_read():
    document = copy.deepcopy(ROUNDS)
    whir = document["proof"]["whir"]
    whir["rounds"][0]["commitment"] = whir["final_poly"] = whir["final_sumcheck"] = None
    for kind, opening in (("Base", whir["rounds"][0]["openings"]), ("Extension", whir["final_openings"])):
        opening[kind] = {"rows": [], "proof": {"sibling_hashes": []}}
    commitment, proof = from_plonky3_json(json.dumps(document))
    assert find_fault(proof) is None
    assert (
        proof.whir.rounds[0].commitment is None and proof.whir.final_poly is None and proof.whir.final_sumcheck is None
    )
    assert proof.whir.final_opening.rows.shape == (0, 0) and proof.whir.final_opening.kind == "extension"
    assert json.loads(to_plonky3_json(commitment, proof)) == document


# ---- the format's name -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p3-whir 0.8.1", "p3-whir", "", None, 1, ["p3-whir 0.8.0"], "P3-WHIR 0.8.0"])
def test_unknown_format_is_named_first(name):
    refused({"format": name, "commitment": "not read"}, r"\$\.format: expected \"p3-whir 0\.8\.0\"")


def test_missing_format():
    refused({k: SMALL[k] for k in ("commitment", "proof")}, "p3-whir 0.8.0")
    refused([], "p3-whir 0.8.0")


# ---- field slots -----------------------------------------------------------------------------------------------------

FIELD_SLOTS = [
    ("commitment", "cap", 0, 3),
    ("proof", "evals", 0, "current", 0, "value", 2),
    ("proof", "whir", "initial_sumcheck", "polynomial_evaluations", 0, 1, "value", 0),
    ("proof", "whir", "initial_sumcheck", "pow_witnesses", 0),
    ("proof", "whir", "rounds", 0, "commitment", "cap", 0, 7),
    ("proof", "whir", "rounds", 0, "ood_answers", 0, "value", 3),
    ("proof", "whir", "rounds", 0, "pow_witness"),
    ("proof", "whir", "rounds", 0, "openings", "Base", "rows", 2, 1),
    ("proof", "whir", "rounds", 1, "openings", "Extension", "rows", 1, 0, "value", 1),
    ("proof", "whir", "rounds", 1, "openings", "Extension", "proof", "sibling_hashes", 0, 0),
    ("proof", "whir", "final_poly", 0, 1, "value", 0),
    ("proof", "whir", "final_pow_witness"),
]


def put(document: object, path: tuple, value: object) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


def json_path(path: tuple) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def with_text(path: tuple, text: str) -> str:
    """ROUNDS as text, with `text` verbatim at `path`."""
    document = copy.deepcopy(ROUNDS)
    put(document, path, "MARK")
    return json.dumps(document).replace('"MARK"', text)


NOT_WORDS = [
    str(P),
    str(P + 1),
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "-1",
    "-0",
    "1.0",
    "1e3",
    "1E0",
    "0.5",
]
NOT_WORDS += ["true", "false", "null", '"1"', '""', "NaN", "Infinity", "-Infinity", "[]", "[1]", "{}", "9" * 5000]
NOT_JSON = ["01", "+1", "0x1", "1_0", ".5", "1.", "'1'", "", "1 2", "1,", "\u0661", "undefined", "nan"]


@pytest.mark.parametrize("path", FIELD_SLOTS, ids=json_path)
def test_field_slots_take_words_only(path):
    for text in NOT_WORDS:
        assert json_path(path) + ":" in refused(with_text(path, text)), text
    for text in NOT_JSON:
        refused(with_text(path, text))
    for text in ("0", "1", str(P - 1)):
        from_plonky3_json(with_text(path, text))


# ---- structure -------------------------------------------------------------------------------------------------------


def nodes(value: object, path: tuple = ()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def variants(value: object):
    """`value` with one thing wrong."""
    yield from (None, 0, "", True, [], {}, [None], 1.5)
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            yield {k + "x" * (k == key): v for k, v in value.items()}
        yield {**value, "extra": None}
        yield list(value.values())
    if isinstance(value, list):
        yield from (value[:-1], value[1:], value + value[:1], [*value, None], [value], value[::-1], {"0": value})


def test_every_structural_change_is_refused_or_kept():
    # What is still read must be written again as it stood: nothing is dropped, guessed or repaired.
    # The first two of each array stand for the rest.
    kept = 0
    for path in [path for path in nodes(ROUNDS) if path and all(type(step) is str or step < 2 for step in path)]:
        value = ROUNDS
        for step in path:
            value = value[step]
        for variant in variants(value):
            document = changed(ROUNDS, path, variant)
            text = json.dumps(document)
            try:
                commitment, proof = from_plonky3_json(text)
            except ProofFormatError:
                continue
            kept += 1
            assert find_fault(proof) is None
            assert typed(json.loads(to_plonky3_json(commitment, proof))) == typed(document), json_path(path)
    assert kept > 100  # shortened and extended lists are the verifier's to refuse


def typed(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def changed(node: object, path: tuple, value: object) -> object:
    """`node` with `value` at `path`; what lies off the path is shared."""
    if not path:
        return value
    copied = copy.copy(node)
    copied[path[0]] = changed(node[path[0]], path[1:], value)
    return copied


@pytest.mark.parametrize("limbs", [0, 3, 5])
def test_extension_elements_have_four_limbs(limbs):
    document = copy.deepcopy(SMALL)
    document["proof"]["evals"][0]["current"][0]["value"] = [1] * limbs
    refused(document, rf"\$\.proof\.evals\[0\]\.current\[0\]\.value: expected an array of 4, got an array of {limbs}")


@pytest.mark.parametrize("count", [0, 3, 5, 6])
def test_caps_are_powers_of_two(count):
    document = copy.deepcopy(ROUNDS)
    document["commitment"]["cap"] = [[1] * 8] * count
    refused(document, rf"\$\.commitment\.cap: expected a power of two of digests, got {count}")
    document = copy.deepcopy(ROUNDS)
    document["proof"]["whir"]["rounds"][1]["commitment"]["cap"] = [[1] * 8] * count
    refused(document, r"rounds\[1\]\.commitment\.cap")


def test_ragged_and_empty_rows():
    for kind, path in (("Base", ("rounds", 0, "openings")), ("Extension", ("rounds", 1, "openings"))):
        for change in (
            lambda rows: rows[1].pop(),
            lambda rows: rows[2].append(rows[2][0]),
            lambda rows: rows[1].clear(),
        ):
            document = copy.deepcopy(ROUNDS)
            opening = document["proof"]["whir"][path[0]][path[1]][path[2]]
            change(opening[kind]["rows"])
            refused(document, rf"{kind}\.rows\[[12]\]: expected an array of")
        opening[kind]["rows"] = [[], []]
        refused(document, rf"{kind}\.rows\[0\]")


@pytest.mark.parametrize("value", [{}, [], None, {"Base": {}, "Extension": {}}, {"base": {}}, {"Other": {}}, "Base"])
def test_opening_variants(value):
    document = copy.deepcopy(SMALL)
    document["proof"]["whir"]["final_openings"] = value
    refused(document, r'final_openings: expected an object with the one key "Base" or "Extension"')


def test_repeated_keys():
    text = json.dumps(SMALL)
    for key in ("format", "commitment", "proof", "whir", "evals", "rows", "sibling_hashes", "value", "_phantom", "cap"):
        start = text.index(f'"{key}":')
        refused(text[:start] + f'"{key}": null, ' + text[start:], f"'{key}' twice")
    # A key that an escape hides is the same key.
    refused(text.replace('"value":', '"val\\u0075e": null, "value":', 1), "'value' twice")


# ---- documents -------------------------------------------------------------------------------------------------------


def test_nothing_may_follow_or_lead():
    text = json.dumps(SMALL)
    for wrong in (
        text + "garbage",
        text + text,
        text + "\n" + text,
        text + ",",
        text + "\0",
        "\ufeff" + text,
        "x" + text,
    ):
        refused(wrong, "not JSON")
    from_plonky3_json(" \r\n\t" + text + "\n\n")


def test_every_truncation():
    text = to_plonky3_json(*from_plonky3_json(json.dumps(SMALL)))
    for length in random.Random(1).sample(range(len(text)), 200):
        refused(text[:length])


def test_bytes_and_other_types():
    with pytest.raises(ProofFormatError, match="UTF-8"):
        from_plonky3_json(json.dumps(SMALL).encode("utf-16"))
    with pytest.raises(ProofFormatError):
        from_plonky3_json("\ud800")
    for wrong in (None, 1, {}, ["{}"]):
        with pytest.raises(TypeError):
            from_plonky3_json(wrong)


def test_depth_and_size_are_bounded(monkeypatch):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for depth in (17, 1000, 200_000):
            refused(opening * depth + "1" + closing * depth, "deep")
            refused(opening * depth, "deep")
    monkeypatch.setattr(plonky3_json, "MAX_CHARACTERS", 1000)
    refused(SMALL, "more than the 1000")


def test_short_stack_is_a_format_error():
    def descend(left: int) -> None:
        if left:
            return descend(left - 1)
        with contextlib.suppress(ProofFormatError):
            from_plonky3_json(json.dumps([[[[[[[[[[[[1]]]]]]]]]]]]))

    frame, used = sys._getframe(), 0
    while frame:
        frame, used = frame.f_back, used + 1
    descend(sys.getrecursionlimit() - used - 60)


def test_many_distinct_keys_are_refused_quickly():
    # One repeated key among 2^17: a quadratic search for it would take minutes.
    keys = ",".join(f'"{i}":0' for i in range(2**17))
    refused(f'{{"format":{{{keys},"131071":1}}}}', "'131071' twice")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FUZZ = settings(max_examples=150, deadline=None, derandomize=True)


def read_or_refuse(text: str | bytes) -> None:
    try:
        commitment, proof = from_plonky3_json(text)
    except ProofFormatError:
        return
    assert json.loads(to_plonky3_json(commitment, proof)) == json.loads(text)


@FUZZ
@given(JSON)
def test_fuzz_json(value):
    read_or_refuse(json.dumps(value))
    read_or_refuse(json.dumps({"format": FORMAT, "commitment": SMALL["commitment"], "proof": value}))


@FUZZ
@given(st.text() | st.binary())
def test_fuzz_text(text):
    with pytest.raises(ProofFormatError):
        from_plonky3_json(text)


NODES = [path for path in nodes(ROUNDS) if path]


@FUZZ
@given(st.sampled_from(NODES), JSON)
def test_fuzz_graft(path, value):
    read_or_refuse(json.dumps(changed(ROUNDS, path, value)))


@FUZZ
@given(st.data())
def test_fuzz_edit(data):
    text = json.dumps(ROUNDS)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    edit = data.draw(st.text('{}[]",:0123456789-.eE\\ntrufalsN ', max_size=6))
    read_or_refuse(text[:start] + edit + text[end:])


def test_arrays_are_canonical_and_owned():
    commitment, proof = from_plonky3_json(json.dumps(ROUNDS))
    assert commitment.cap.dtype == np.uint32 and commitment.cap.flags.writeable
    assert proof.whir.rounds[1].opening.rows.flags.c_contiguous
