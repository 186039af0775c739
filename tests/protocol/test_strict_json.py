"""Strict JSON: what the reader turns into sentinels, and the one canonical form of plain dicts.

That every slot of a proof refuses the sentinels is tested in test_plonky3_json.py.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whir_mlx.errors import ProofFormatError
from whir_mlx.protocol.strict_json import Literal, RepeatedKey, decode_canonical, encode_canonical, parse

FUZZ = settings(max_examples=150, deadline=None, derandomize=True)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(0, 10**10 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def read(text: str) -> object:
    return parse(text, max_depth=4, max_characters=1000)


@pytest.mark.parametrize("text", ["1.0", "1e3", "-1", "-0", "NaN", "Infinity", "-Infinity", "12345678901", "9" * 900])
def test_other_numbers_are_literals(text):
    (value,) = read(f"[{text}]")
    assert isinstance(value, Literal) and repr(value) == text


def test_values():
    assert read('{"a":[0,9999999999,true,null,"x"]}') == {"a": [0, 9999999999, True, None, "x"]}
    repeated = read('{"a":1,"b":2,"\\u0061":3,"b":4}')
    assert isinstance(repeated, RepeatedKey) and repeated.key == "a"


@pytest.mark.parametrize(
    "text", ["", "[", "1 2", "[1,]", "01", "{'a':1}", "[" * 5 + "]" * 5, " " * 1000 + "1", '"\n"', "\ufeff1"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ProofFormatError):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"n":5, "m":1}',
        b'{"n":5,"m":1}',
        b'{"m":1,"m":1}',
        b'{"n":1.0}',
        b'{"n":-0}',
        b'{"n":-1}',
        b'{"n":1e3}',
        b'{"n":NaN}',
        b'{"n":10000000000000}',
        b'{"n":05}',
        b'{"n":"\\u0041"}',
        b'{"n":"\\/"}',
        b'{"n":"\\u00E9"}',
        '{"n":"é"}'.encode(),
        b"[]",
        b"1",
        b"",
        b"{}\n",
        b" {}",
        b"{}\0",
        b'{"n":' + b"[" * 20 + b"]" * 20 + b"}",
        b"\xff",
        b"{",
        b'{"n":"\n"}',
    ],
)
def test_one_form(text):
    with pytest.raises(ProofFormatError):
        decode_canonical(text)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        (None, TypeError),
        ([], TypeError),
        ({1: 2}, TypeError),
        ({"a": 1.0}, TypeError),
        ({"a": np.uint32(1)}, TypeError),
        ({"a": b"x"}, TypeError),
        ({"a": {"b": [set()]}}, TypeError),
        ({"a": -1}, ValueError),
        ({"a": 10**10}, ValueError),
        ({"a": float("nan")}, TypeError),
        ({"a": "[" * 17}, ValueError),
        ({"a": "x" * 2**24}, ValueError),
    ],
)
def test_other_parameters_are_refused(parameters, error):
    with pytest.raises(error):
        encode_canonical(parameters)


def test_parameters_that_hold_themselves():
    loop: dict = {}
    loop["self"] = [loop]
    with pytest.raises(ValueError, match="nested"):
        encode_canonical(loop)


@FUZZ
@given(st.dictionaries(st.text(max_size=8), PLAIN, max_size=4))
def test_fuzz_parameters(parameters):
    data = encode_canonical(parameters)
    assert decode_canonical(data) == parameters and encode_canonical(decode_canonical(data)) == data
