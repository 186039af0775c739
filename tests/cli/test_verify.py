"""`whir-mlx verify`, `info` and `convert`: what is trusted, what is refused, and with which exit code."""

import json
import zlib

import numpy as np
import pytest

import whir_mlx
from tests.cli.cli_runner import SMALL, run, run_json
from whir_mlx.cli.info import constants_digest
from whir_mlx.errors import ProofFormatError
from whir_mlx.parameters_file import from_dict
from whir_mlx.protocol.proof_file import encode_proof_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """drawn.whir: one column at one drawn point; two.whir: two openings; chosen.whir: one at point.npy."""
    folder = tmp_path_factory.mktemp("proofs")
    np.save(folder / "point.npy", whir_mlx.splitmix(1, 28).reshape(7, 4))
    for name, *options in (
        ("drawn",),
        ("two", "--points", "2"),
        ("chosen", "--point", folder / "point.npy"),
        ("capacity", "--soundness", "capacity"),
    ):
        run("prove", "random:7:3", "-o", folder / f"{name}.whir", *SMALL, *options)
    return folder


def value_of(folder, name="drawn"):
    return run_json("verify", folder / f"{name}.whir")["opened"][0]["values"][0]


def shown(value):
    return ",".join(map(str, value))


def test_what_the_file_says_is_printed_as_such(folder):
    text, errors = run("verify", folder / "drawn.whir")
    assert "FROM THE FILE" in text and "parameters, commitment, values" in text and errors == ""
    answer = run_json("verify", folder / "drawn.whir")
    assert answer["verified"] and not any(answer["trusted"].values())
    value, root = answer["opened"][0]["values"][0], answer["commitment"]
    options = ("--commitment", root, "--expect-eval", shown(value), "--min-security", "29", "--soundness", "johnson")
    answer = run_json("verify", folder / "drawn.whir", *options)
    assert [name for name, given in answer["trusted"].items() if not given] == ["points"]
    assert "yours" in run("verify", folder / "drawn.whir", *options)[0]


def test_the_commitment_may_come_from_a_file_in_either_case(folder, tmp_path):
    root = run_json("verify", folder / "drawn.whir")["commitment"]
    (tmp_path / "root").write_text(root.upper() + "\n")
    assert run_json("verify", folder / "drawn.whir", "--commitment", tmp_path / "root")["trusted"]["commitment"]
    run("verify", folder / "drawn.whir", "--commitment", root.upper())


REFUSED = {
    "another commitment": ("--commitment", "00" * 32),
    "no commitment at all": ("--commitment", "abc"),
    "a commitment file that is missing": ("--commitment", "nowhere.txt"),
    "another value": ("--expect-eval", "1,2,3,4"),
    "more bits": ("--min-security", "31"),
    "no number of bits": ("--min-security", "nan"),
    "another regime": ("--soundness", "unique"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(folder, name):
    answer = run_json("verify", folder / "drawn.whir", *REFUSED[name], code=1)
    assert not answer["ok"] and answer["error"]["message"]


def test_an_expected_value_off_by_one(folder):
    value = value_of(folder)
    run("verify", folder / "drawn.whir", "--expect-eval", shown(value))
    value[0] += 1
    error = run_json("verify", folder / "drawn.whir", "--expect-eval", shown(value), code=1)["error"]
    assert error["check"] == "OpenedValueMismatch"


def test_every_value_is_expected_or_none(folder):
    one = ("--expect-eval", shown(value_of(folder, "two")))
    error = run_json("verify", folder / "two.whir", *one, code=1)["error"]
    assert error["check"] == "OpenedValueCountMismatch"
    second = run_json("verify", folder / "two.whir")["opened"][1]["values"][0]
    run("verify", folder / "two.whir", *one, "--expect-eval", shown(second))


def test_chosen_points_are_compared(folder, tmp_path):
    assert "points" in run("verify", folder / "chosen.whir")[0].split("from the file")[1].splitlines()[0]
    run("verify", folder / "chosen.whir", "--point", folder / "point.npy")
    np.save(tmp_path / "other.npy", whir_mlx.splitmix(2, 28).reshape(7, 4))
    for path, point in (("chosen", tmp_path / "other.npy"), ("drawn", folder / "point.npy")):
        error = run_json("verify", folder / f"{path}.whir", "--point", point, code=1)["error"]
        assert error["check"] == "PointMismatch"


def test_capacity_does_not_count_unless_you_say_so(folder):
    path = folder / "capacity.whir"
    assert "CONJECTURED" in run("verify", path)[0]
    assert run_json("verify", path, "--min-security", "1", code=1)["error"]["check"] == "ConjecturedSecurity"
    run("verify", path, "--min-security", "20", "--soundness", "capacity")


def test_the_union_is_what_min_security_compares(tmp_path):
    # n = 12, target 50: every term reaches 50 bits, their union does not.
    run("prove", "random:12", "-o", tmp_path / "a.whir", "--security", "50", "--pow-bits", "10")
    report = run_json("verify", tmp_path / "a.whir")["security"]
    assert report["min_bits"] >= 50 > report["union_bits"] > 49
    error = run_json("verify", tmp_path / "a.whir", "--min-security", "50", code=1)["error"]
    assert error["check"] == "SecurityBelowMinimum" and "union" in error["message"]
    run("verify", tmp_path / "a.whir", "--min-security", "49")


@pytest.mark.parametrize("value", ["x", "1,2", "-1", str(whir_mlx.P), "1,2,3,4,5"])
def test_wrong_usage(folder, value):
    run("verify", folder / "drawn.whir", "--expect-eval", value, code=2)
    run("verify", code=2)


def test_damaged_and_foreign_files(folder, tmp_path):
    whole = (folder / "drawn.whir").read_bytes()
    path = tmp_path / "a.whir"
    damaged = [whole[:n] for n in (0, 7, 40, len(whole) // 2, len(whole) - 1)]
    damaged += [whole + b"garbage", whole + whole, b"\x7fELF" + whole[4:], b'{"format": "p3-whir 0.8.0"}']
    damaged += [whole[:12] + b"p3-whir 0.7.0\0\0\0" + whole[28:]]
    for content in damaged:
        path.write_bytes(content)
        for command in ("verify", "info"):
            assert run_json(command, path, code=1)["error"]["type"] == "ProofFormatError"
    assert "p3-whir 0.8.0" in run("verify", path, code=1)[1]  # the format is named before any check
    assert "No such file" in run("verify", tmp_path / "none.whir", code=1)[1]
    assert run("verify", tmp_path, code=1)[1].startswith("error: ")


def test_changed_words_are_refused(folder, tmp_path):
    whole = (folder / "drawn.whir").read_bytes()
    length = int.from_bytes(whole[28:32], "little")
    body = 36 + length + -length % 4
    for offset in range(body, len(whole) - 4, 4 * 97):
        changed = bytearray(whole[:-4])
        changed[offset] ^= 1
        (tmp_path / "a.whir").write_bytes(bytes(changed) + zlib.crc32(changed).to_bytes(4, "little"))
        run("verify", tmp_path / "a.whir", code=1)


def edited(folder, tmp_path, **changes):
    parameters, commitment, proof = whir_mlx.read_proof_file(folder / "drawn.whir")
    (tmp_path / "a.whir").write_bytes(encode_proof_file({**parameters, **changes}, commitment, proof))
    return tmp_path / "a.whir"


@pytest.mark.parametrize(
    "changes",
    [
        {"security_level": 29},
        {"pow_bits": 5},
        {"layout": "prefix"},
        {"tables": [[6, 2]], "schedule": [[[[0, 1], []]]]},
        {"tree": {"arity": 4, "leaf_rate": 8, "cap_height": 0}},
        {"folding": {"rule": "per round", "factors": [2]}},
        {"schedule": [[]]},
    ],
)
def test_another_statement_in_the_file_does_not_verify(folder, tmp_path, changes):
    assert run_json("verify", edited(folder, tmp_path, **changes), code=1)["error"]["type"] == "VerificationError"


@pytest.mark.parametrize(
    "changes",
    [
        {"more": 1},
        {"tables": [[True, 1]]},
        {"tables": [[7, 1, 1]]},
        {"tables": []},
        {"tables": [[31, 1]]},
        {"names": ["a", "b"]},
        {"names": [1]},
        {"encoding": "hex"},
        {"soundness": "JohnsonBound"},
        {"security_level": "30"},
        {"security_level": None},
        {"folding": {"rule": "constant", "factor": 0}},
        {"folding": {"rule": "other"}},
        {"folding": 2},
        {"tree": {"arity": 3, "leaf_rate": 8, "cap_height": 0}},
        {"schedule": [[[[1], []]]]},
        {"schedule": [[[[0]]]]},
        {"schedule": []},
        {"points": [[1, 2]]},
        {"points": []},
        {"points": [[[True, 0, 0, 0]] * 7]},
        {"round_log_inv_rates": [1]},
    ],
)
def test_parameters_of_another_form_are_refused(folder, tmp_path, changes):
    path = edited(folder, tmp_path, **changes)
    assert run_json("verify", path, code=1)["error"]["type"] == "ProofFormatError"
    with pytest.raises(ProofFormatError):
        from_dict(whir_mlx.read_proof_file(path)[0])


# ---- info ------------------------------------------------------------------------------------------------------------


def test_info_of_this_installation():
    answer = run_json("info")
    assert answer["devices"]["numpy"]["usable"] and answer["default_device"] in answer["devices"]
    assert answer["security"]["min_bits"] == min(term["bits"] for term in answer["security"]["terms"])
    assert answer["poseidon2_constants_sha256"] == constants_digest()
    text = run("info")[0]
    assert constants_digest() in text and "refuted" in text and "weakest term" in text


def test_the_digest_of_the_constants_is_known():
    assert constants_digest() == "07bbb7936b30aff9a33ad18770618175401d67682cc35dc18a312d2be8c122ca"


def test_info_of_a_file_does_not_verify(folder):
    assert "NOT VERIFIED" in run("info", folder / "drawn.whir")[0]
    assert run_json("info", folder / "drawn.whir")["verified"] is False


# ---- convert ---------------------------------------------------------------------------------------------------------


def test_conversion_both_ways(folder, tmp_path):
    document = tmp_path / "a.json"
    run("convert", folder / "drawn.whir", "--to", "plonky3-json", document)
    commitment, proof = whir_mlx.from_plonky3_json(document.read_text())
    assert (commitment, proof) == whir_mlx.read_proof_file(folder / "drawn.whir")[1:]
    back = ("convert", document, "--from", "plonky3-json", tmp_path / "b.whir", *SMALL)
    run(*back, "--n", "7")
    assert (tmp_path / "b.whir").read_bytes() == (folder / "drawn.whir").read_bytes()
    run("convert", document, tmp_path / "c.whir", "--from", "plonky3-json", *SMALL, "--table", "7:1")
    assert (tmp_path / "c.whir").read_bytes() == (folder / "drawn.whir").read_bytes()
    for wrong in ((), ("--n", "7", "--table", "7:1"), ("--table", "x"), ("--columns", "2")):
        run(*back, *wrong, code=2)


def test_conversion_of_what_is_no_proof(folder, tmp_path):
    document = tmp_path / "a.json"
    run("convert", folder / "drawn.whir", "--to", "plonky3-json", document)
    text = document.read_text()
    out = tmp_path / "b.whir"
    foreign = json.dumps({**json.loads(text), "format": "p3-whir 0.7.0"})
    unnamed = json.dumps({key: value for key, value in json.loads(text).items() if key != "format"})
    for content in (text + text, text + "garbage", text[:-5], foreign, unnamed, ""):
        document.write_text(content)
        answer = run_json("convert", document, "--from", "plonky3-json", out, "--n", "7", *SMALL, code=1)
        assert answer["error"]["type"] == "ProofFormatError" and not out.exists()
    document.write_text(text + "\n")  # a final newline is white space
    run("convert", document, "--from", "plonky3-json", out, "--n", "7", *SMALL)


def test_conversion_usage(folder, tmp_path):
    path = folder / "drawn.whir"
    run("convert", path, tmp_path / "a", code=2)
    run("convert", path, tmp_path / "a", "--to", "plonky3-json", "--from", "plonky3-json", code=2)
    run("convert", path, tmp_path / "a", "--to", "cbor", code=2)
    run("convert", path, tmp_path / "a", "--to", "plonky3-json", "--n", "7", code=2)
    before = path.read_bytes()
    run("convert", path, path, "--to", "plonky3-json", code=1)
    assert path.read_bytes() == before
