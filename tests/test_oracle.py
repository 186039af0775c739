"""The oracle against every number of the primitives, the transcripts step by step, and whole proofs of the crates.

Vectors: tests/vectors/README.md (made with p3-* 0.8.0). A test of the package that agrees with the oracle therefore
agrees with the crates, also at sizes for which there is no vector.
"""

import copy
import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.oracle import field, keccak, merkle, multilinear, ntt, poseidon2, protocol, seeds, serde, sponge, sumcheck
from tests.oracle.challenger import Challenger
from tests.oracle.field import P
from tests.oracle.prover import commit, open_all
from tests.oracle.splitmix import splitmix, stream
from tests.oracle.verifier import Rejected

VECTORS = Path(__file__).parent / "vectors"
PRIMITIVES = json.loads((VECTORS / "primitives.json").read_text())
PROOFS = sorted(path.name.removesuffix(".json.gz") for path in (VECTORS / "proofs").glob("*.json.gz"))

# Proved again here: no round at all, prefix order, each tree, a cap, chosen points, tables with successor openings.
# The other proofs are larger and reach nothing more; they are only verified (the package proves all 13 again).
PROVED = [
    "suffix_n8_k2_unique",
    "prefix_n10_k4_johnson",
    "suffix_n11_ary4",
    "suffix_n11_cap2",
    "suffix_n11_w24leaf",
    "suffix_n12_prescribed",
    "suffix_tables_next",
]


def load_proof(name: str) -> dict:
    return json.loads(gzip.decompress((VECTORS / "proofs" / f"{name}.json.gz").read_bytes()))


def test_field():
    for v in PRIMITIVES["field"]:
        a, b = v["a"], v["b"]
        assert [(a + b) % P, (a - b) % P, a * b % P, -a % P] == [v["add"], v["sub"], v["mul"], v["neg_a"]]
        assert field.monty(a) == v["a_monty"] and field.from_monty(v["a_monty"]) == a
        if v["inv_a"] is None:
            with pytest.raises(ZeroDivisionError):
                field.inverse(a)
        else:
            assert field.inverse(a) == v["inv_a"]
    assert [field.two_adic_generator(k) for k in range(28)] == PRIMITIVES["two_adic_generators"]


def test_extension():
    assert field.mul((0, 0, 0, 1), (0, 1, 0, 0)) == (PRIMITIVES["ext_w"], 0, 0, 0)
    for v in PRIMITIVES["ext4"]:
        a, b = tuple(v["a"]), tuple(v["b"])
        got = [field.add(a, b), field.sub(a, b), field.mul(a, b), field.mul(a, a), field.ext_inverse(a)]
        got += [field.power(a, P), field.power(a, 1234567)]
        keys = ("add", "sub", "mul", "square_a", "inv_a", "frobenius_p", "a_exp_1234567")
        assert got == [tuple(v[key]) for key in keys]


@pytest.mark.parametrize("v", PRIMITIVES["ntt"], ids=lambda v: f"{v['log_n']}x{v['width']}")
def test_ntt(v):
    rows, width = 2 ** v["log_n"], v["width"]
    data = stream(v["seed"], rows * width)
    matrix = [data[i : i + width] for i in range(0, len(data), width)]
    out = [x for row in ntt.encode_rows(matrix, v["log_n"]) for x in row]
    acc = 0
    for i, x in enumerate(out):
        acc = (acc * 1000003 + x + i) % 2**64 % (2**61 - 1)
    assert acc == v["digest"]
    assert out[: len(v["first"])] == v["first"] and out[-len(v["last"]) :] == v["last"]
    assert v["full"] in (None, out)
    if rows <= 256:
        column = [row[0] for row in matrix]
        assert ntt.dft(column) == ntt.fft(column)


def test_poseidon2_sponge_compress():
    for v in PRIMITIVES["poseidon2"]:
        for width in (16, 24, 32):
            assert poseidon2.permute(v[f"in{width}"]) == v[f"out{width}"]
    for v in PRIMITIVES["sponge"]:
        assert len(v["input"]) == v["len"]
        assert [list(sponge.hash_row(v["input"], rate)) for rate in (8, 16)] == [v["w16"], v["w24"]]
    for v in PRIMITIVES["compress"]:
        assert list(sponge.compress(v["digests"][:2])) == v["compress2_first_two"]
        assert list(sponge.compress(v["digests"])) == v["compress4"]


@pytest.mark.parametrize("kind", sorted(PRIMITIVES["merkle"]))
def test_merkle(kind):
    arity, rate, cap_height = {"w16": (2, 8, 0), "w24": (2, 16, 0), "ary4": (4, 8, 0), "w16_cap2": (2, 8, 2)}[kind]
    for v in PRIMITIVES["merkle"][kind]:
        height, width = v["height"], v["width"]
        rows = [[splitmix(v["seed"], i * width + j) for j in range(width)] for i in range(height)]
        tree = merkle.Tree(rows, arity, rate, cap_height)
        assert serde.write(serde.COMMITMENT, {"_marker": None, "cap": tree.cap}) == v["commitment_monty"]
        for opening in v["openings"]:
            opened, siblings = tree.open([opening["index"]])
            assert opened == opening["row"]
            assert [[field.monty(x) for x in digest] for digest in siblings] == opening["proof_monty"]
        indices = [height - 1, 0, height // 3, 0]
        opened, siblings = tree.open(indices)
        shape = (height, width, indices)
        merkle.verify(tree.cap, *shape, opened, siblings, arity, rate, cap_height)
        wrong = [(opened, [*siblings, sponge.EMPTY]), ([*opened[:-1], [0] * width], siblings), (opened[1:], siblings)]
        wrong += [(opened, siblings[:-1])] if siblings else []
        for bad in wrong:
            with pytest.raises(merkle.MerkleError):
                merkle.verify(tree.cap, *shape, *bad, arity, rate, cap_height)


def test_challenger_steps():
    challenger = Challenger()
    for step in PRIMITIVES["transcript"]:
        op = step["op"]
        if op == "observe":
            challenger.observe(step["values"])
        elif op == "observe_ext":
            challenger.observe(step["value"])
        elif op == "grind":
            assert challenger.grind(step["bits"]) == step["smallest_witness"]
        elif op == "sample_ext":
            assert list(challenger.sample_ext()) == step["value"]
        elif op == "sample_base":
            assert challenger.sample() == step["value"]
        else:
            assert getattr(challenger, op)(step["bits"]) == step["value"]


@pytest.mark.parametrize(
    ("observed", "sample"),
    [
        ([], 1054281681),
        ([5, 7], 1670552191),
        ([5, 7, 0, 0], 236733051),
        ([5, 7, 0, 0, 0, 0, 0, 0], 1047908792),
        (range(8), 1220677744),
        (range(9), 1785938776),
    ],
)
def test_partial_blocks_bind_their_length(observed, sample):
    challenger = Challenger()
    challenger.observe(observed)
    assert challenger.sample() == sample


def test_grind_is_smallest_and_fills_a_block():
    challenger = Challenger()
    challenger.observe(range(7))  # the witness is the eighth word
    checking = copy.deepcopy(challenger)
    assert (challenger.grind(8), challenger.sample()) == (225, 337245294)
    assert checking.check(8, 225) and checking.sample() == 337245294
    untouched = Challenger()
    assert untouched.grind(0) == 0 and untouched.log == [] and untouched.sample() == 1054281681


def test_keccak():
    # One rate block is 136 bytes: lengths on both sides of its end and of the padding's.
    for length in (0, 1, 134, 135, 136, 137, 272, 500):
        text = bytes(i * 7 % 256 for i in range(length))
        assert keccak.keccak256(text, b"\x06") == hashlib.sha3_256(text).digest()
    assert seeds.TF.endswith(";cfa353fe66eeeae7600254a68073d57125abac3820fde7a3e32c84482b826469)")
    assert seeds.TE.endswith(";a31559f97eacd63de762fb78f0de2204c31e4445522c8e285fc45d814b83063d)")


def test_multilinear_identities():
    n = 4
    point, x = ([tuple(stream(seed + i, 4)) for i in range(n)] for seed in (40, 50))
    values = [tuple(stream(60 + i, 4)) for i in range(2**n)]
    assert field.dot(multilinear.eq_table(point), values) == multilinear.evaluate(values, point)
    shifted = multilinear.successor(values)
    assert field.dot(multilinear.next_table(point), values) == multilinear.evaluate(shifted, point)
    assert multilinear.evaluate(multilinear.eq_table(point), x) == multilinear.eq(point, x)
    assert multilinear.evaluate(multilinear.next_table(point), x) == multilinear.next_at(point, x)
    z = tuple(stream(77, 4))
    table = multilinear.power_table(z, n)
    assert multilinear.evaluate(table, x) == multilinear.power_at(z, x)
    assert multilinear.horner(values, z) == field.dot(table, values)
    assert multilinear.expand((3, 0, 0, 0), 3) == [(81, 0, 0, 0), (9, 0, 0, 0), (3, 0, 0, 0)]
    eight, at = [field.ext(i + 1) for i in range(8)], [field.ext(i) for i in (2, 3, 5)]
    assert multilinear.evaluate(eight, at) == field.ext(20)


@pytest.mark.parametrize("prefix", [False, True])
def test_sumcheck_claims(prefix):
    f, w = ([tuple(stream(seed + i, 4)) for i in range(8)] for seed in (80, 90))
    for seed in range(3):
        claim, r = field.dot(f, w), tuple(stream(seed, 4))
        c0, c2 = sumcheck.round_values(f, w, prefix)
        f, w = sumcheck.fold(f, r, prefix), sumcheck.fold(w, r, prefix)
        assert sumcheck.next_claim(claim, c0, c2, r) == field.dot(f, w)


@pytest.mark.parametrize("path", sorted((VECTORS / "transcripts").glob("*.json")), ids=lambda path: path.stem)
def test_transcript_steps(path):
    wanted = json.loads(path.read_text())
    statement, data = protocol.vector_statement(wanted["args"] | {"tables": [[wanted["args"]["n"], 1]]})
    challenger = Challenger()
    f, tree = commit(statement, data, challenger)
    assert challenger.log == wanted["commit"]
    challenger.log = []
    open_all(statement, data, f, tree, challenger)
    for i, (got, step) in enumerate(zip(challenger.log, wanted["open"], strict=True)):
        assert got == step, f"step {i}"


@pytest.mark.parametrize("name", PROOFS)
def test_proofs_verify(name):
    vector = load_proof(name)
    statement, data = protocol.vector_statement(vector["args"])
    assert statement.config == vector["config"]
    values = protocol.verify(statement, vector["commitment"], vector["proof"])
    assert len(values) == vector["args"]["points"] * len(vector["args"]["tables"])
    assert all(len(both["current"]) == len(data[b.table]) for both, b in zip(values, statement.batches, strict=True))


@pytest.mark.parametrize("name", PROVED)
def test_proofs_number_for_number(name):
    vector = load_proof(name)
    statement, data = protocol.vector_statement(vector["args"])
    commitment, proof = protocol.prove(statement, data)
    assert commitment == vector["commitment"]
    for part in ("evals", "whir"):
        assert proof[part] == vector["proof"][part]


def paths(value, at=()):
    """Every place of a JSON value, the leaves and the lists and objects around them."""
    yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*at, key))


def change(value):
    """The next field word; a list less its last item; anything else null."""
    if type(value) is int:
        return (value + 1) % P
    return value[:-1] if isinstance(value, list) and value else 0 if value is None else None


def test_changed_proofs_are_refused():
    # prefix_n10: one round, out-of-domain answers, grinding, a closing sumcheck. Some 60 places spread over the proof.
    vector = load_proof("prefix_n10_k4_johnson")
    statement, _ = protocol.vector_statement(vector["args"])
    places = [place for place in paths(vector["proof"]) if place]
    shallow = [place for place in places if len(place) <= 2]
    for place in shallow + places[:: len(places) // 40]:
        proof = copy.deepcopy(vector["proof"])
        parent = proof
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = change(parent[place[-1]])
        with pytest.raises((Rejected, serde.Malformed)):
            protocol.verify(statement, vector["commitment"], proof)
