"""`whir_mlx.Whir`: what users hand in, what comes out, and what is refused.

Statements are small (2^4 to 2^11 cells, 16 to 40 bits) so that a proof takes milliseconds; numbers against the crates
are the business of tests/protocol and tests/interop.
"""

import dataclasses
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

import whir_mlx
from tests.helpers import load_proof
from tests.oracle.field import ext
from tests.oracle.multilinear import evaluate
from whir_mlx.choices import make_choices
from whir_mlx.errors import DeviceError, ParameterError, ProofFormatError, VerificationError
from whir_mlx.field.constants import P
from whir_mlx.protocol.proof import Commitment

ROOT = Path(__file__).parents[1]
SMALL = {"folding_factor": 2, "security_level": 30, "pow_bits": 4}


def small(num_variables=8, **changes):
    return whir_mlx.Whir(num_variables, **{**SMALL, **changes})


def root(values, **changes):
    """The commitment's hexadecimal digits."""
    pcs = small(int(np.log2(np.shape(values)[-1])), **changes)
    return pcs.commit(values)[0].hex()


@pytest.fixture(scope="module")
def proved():
    pcs = small()
    commitment, data = pcs.commit(whir_mlx.splitmix(5, 256))
    return pcs, commitment, data, pcs.open(data)


# ---- what comes out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["suffix_n10_k4_johnson", "prefix_tables", "suffix_tables_next", "suffix_n11_ary4"])
def test_proofs_are_the_crates_number_for_number(name):
    case = load_proof(name)
    args = case.args
    pcs = whir_mlx.Whir(
        tables=args["tables"],
        folding_factor=args["folds"] or args["fold"],
        log_inv_rate=args["rate"],
        security_level=args["security"],
        pow_bits=args["pow"],
        soundness=args["soundness"],
        layout=args["layout"],
        tree=args["tree"],
        cap_height=args["cap"],
    )
    tables = [
        np.stack([whir_mlx.splitmix(args["seed"] + 1000 * t + c, 1 << rows) for c in range(columns)])
        for t, (rows, columns) in enumerate(args["tables"])
    ]
    commitment, data = pcs.commit(tables)
    proof = pcs.open(data, num_points=args["points"], next=args["next"])
    assert commitment == case.commitment
    assert proof == case.proof
    opened = pcs.verify(commitment, proof, num_points=args["points"], next=args["next"])
    assert len(opened) == len(args["tables"]) * args["points"]


def test_values_are_those_of_the_column_at_the_drawn_point(proved):
    pcs, commitment, _, proof = proved
    (opened,) = pcs.verify(commitment, proof)
    column = [ext(int(x)) for x in whir_mlx.splitmix(5, 256)]
    point = [tuple(map(int, coordinate)) for coordinate in opened.point]
    assert opened.values.tolist() == [list(evaluate(column, point))]
    assert (opened.table, opened.name, opened.columns, opened.next_columns) == (0, None, (0,), ())


def test_a_point_of_the_cube_reads_one_entry():
    # Base field coordinates 0 and 1, the most significant bit first: entry 0b00000110 of each column.
    pcs, columns = small(columns=2), np.stack([whir_mlx.splitmix(seed, 256) for seed in (1, 2)])
    commitment, data = pcs.commit(columns)
    point = [0, 0, 0, 0, 0, 1, 1, 0]
    proof = pcs.open(data, [point], next=True)
    (opened,) = pcs.verify(commitment, proof, [point], next=True)
    assert opened.values.tolist() == [[int(column[6]), 0, 0, 0] for column in columns]
    assert opened.next_values.tolist() == [[int(column[7]), 0, 0, 0] for column in columns]


def test_a_table_below_the_first_fold_is_padded_and_its_points_too():
    pcs = whir_mlx.Whir(2, folding_factor=4, security_level=20, pow_bits=4)
    assert pcs.layout.num_variables == 4
    commitment, data = pcs.commit([10, 11, 12, 13])
    proof = pcs.open(data, [[1, 0]])
    assert pcs.verify(commitment, proof, [[1, 0]])[0].values[0].tolist() == [12, 0, 0, 0]
    assert pcs.verify(commitment, proof, [[0, 0, 1, 0]])[0].values[0].tolist() == [12, 0, 0, 0]


@pytest.mark.parametrize("num_variables", [0, 1, 2, 3])
def test_the_smallest_sizes_agree_with_numpy(num_variables):
    # 1, 2, 4 and 8 evals: the sizes at which MLX passes inputs in other address spaces.
    values = whir_mlx.splitmix(0, 1 << num_variables)
    proofs = []
    for device in ("auto", "numpy"):
        pcs = small(num_variables, device=device)
        commitment, data = pcs.commit(values)
        proofs.append((commitment, pcs.open(data)))
        pcs.verify(*proofs[-1])
    assert proofs[0] == proofs[1]


def test_named_arrays_are_one_table_each():
    arrays = {"w": whir_mlx.splitmix(1, 128).reshape(2, 64), "b": whir_mlx.splitmix(2, 5)}
    pcs = whir_mlx.Whir.for_arrays(arrays, pad=True, **SMALL)
    assert [(shape.log_rows, shape.columns) for shape in pcs.layout.tables] == [(6, 2), (3, 1)]
    commitment, data = pcs.commit(arrays, pad=True)
    # The order is that of the names in the statement, not of the dict that is committed to.
    assert pcs.commit(dict(reversed(arrays.items())), pad=True)[0] == commitment
    points = {"b": [[1, 0, 0]]}
    opened = pcs.verify(commitment, pcs.open(data, points), points)
    assert [(entry.name, entry.values[0, 0]) for entry in opened] == [("b", arrays["b"][4])]


def test_schedules_by_table():
    pcs = whir_mlx.Whir(tables={"a": (6, 2), "b": (5, 1)}, **SMALL)
    commitment, data = pcs.commit({"a": whir_mlx.splitmix(1, 128).reshape(2, 64), "b": whir_mlx.splitmix(2, 32)})
    schedule = {"a": [whir_mlx.OpeningBatch((1,)), whir_mlx.OpeningBatch((), (0,))]}
    opened = pcs.verify(commitment, pcs.open(data, schedule=schedule), schedule=schedule)
    assert [(entry.name, entry.columns, entry.next_columns) for entry in opened] == [("a", (1,), ()), ("a", (), (0,))]
    with pytest.raises(ValueError, match="no table"):
        pcs.open(data, schedule={"c": []})


def test_one_commitment_opens_many_times(proved):
    pcs, commitment, data, proof = proved
    assert pcs.open(data) == proof
    pcs.verify(commitment, pcs.open(data, num_points=2), num_points=2)
    assert pcs.open(data) == proof


def test_four_threads_make_one_root():
    values, roots = whir_mlx.splitmix(0, 1 << 11), []

    def commit():
        roots.append(root(values))

    threads = [threading.Thread(target=commit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(roots) == 4 and len(set(roots)) == 1


# ---- what goes in ----------------------------------------------------------------------------------------------------

BASE = np.arange(256, dtype=np.uint32) * 7 + 3
EQUAL_FORMS = {
    "int64": BASE.astype(np.int64),
    "uint64": BASE.astype(np.uint64),
    "int16": BASE.astype(np.int16),
    "big-endian": BASE.astype(">u4"),
    "strided": np.repeat(BASE, 2)[::2],
    "reversed": BASE[::-1].copy()[::-1],
    "slice": np.concatenate([[9], BASE, [9]]).astype(np.uint32)[1:-1],
    "column of a matrix": np.stack([BASE, BASE + 1], axis=1)[:, 0],
    "list": BASE.tolist(),
    "tuple of NumPy integers": tuple(BASE),
    "one row": BASE[None],
    "MLX": mx.array(BASE),
    "MLX int64": mx.array(BASE.astype(np.int64)),
    "MLX strided": mx.repeat(mx.array(BASE), 2)[::2],
    "MLX reversed": mx.array(BASE[::-1].copy())[::-1],
    "MLX slice": mx.concatenate([mx.array([9], dtype=mx.uint32), mx.array(BASE)])[1:],
}


@pytest.mark.parametrize("form", EQUAL_FORMS)
def test_every_form_of_the_same_numbers_has_one_root(form):
    assert root(EQUAL_FORMS[form]) == root(BASE)


@pytest.mark.parametrize("transpose", [np.transpose, lambda x: mx.array(x).T])
def test_transposed_and_broadcast_matrices(transpose):
    # 4 columns of 32 rows, not square, so that strides in the wrong order would show.
    matrix = np.ascontiguousarray(BASE[:128].reshape(4, 32).T)
    assert root(transpose(matrix), columns=4) == root(BASE[:128].reshape(4, 32), columns=4)
    assert root(np.asfortranarray(BASE[:128].reshape(4, 32)), columns=4) == root(BASE[:128].reshape(4, 32), columns=4)
    repeated = np.broadcast_to(BASE[:32], (4, 32))
    assert root(repeated, columns=4) == root(repeated.copy(), columns=4)
    assert root(list(repeated.copy()), columns=4) == root(repeated.copy(), columns=4)


def test_a_read_only_array_and_the_largest_element():
    values = np.full(256, P - 1, dtype=np.uint32)
    values.setflags(write=False)
    assert root(values) == root([P - 1] * 256)


@pytest.mark.parametrize("kind", ["numpy", "mlx"])
def test_writing_after_commit_changes_nothing(kind):
    values = BASE.copy()
    x = mx.array(values) if kind == "mlx" else values
    pcs = small()
    commitment, data = pcs.commit(x)
    view = np.array(x, copy=False)
    view[...] = 1
    pcs.verify(commitment, pcs.open(data))
    assert commitment.hex() == root(BASE)


def bad_at(position, value, dtype=np.int64):
    values = BASE.astype(dtype)
    values[position] = value
    return values


WRONG_VALUES = {
    "negative": ([-1] * 256, "got -1 at index [0]"),
    "negative array": (bad_at(7, -5), "got -5 at index [7]"),
    "p": (bad_at(3, P, np.uint32), f"got {P} at index [3]"),
    "past 32 bits": (bad_at(200, 2**32 + 5), f"got {2**32 + 5} at index [200]"),
    "uint64 past 63 bits": (bad_at(1, 2**63, np.uint64), f"got {2**63} at index [1]"),
    "list past 64 bits": ([0] * 255 + [2**70], f"got {2**70} at index [255]"),
    "mixed list": ([2**63, -1] + [0] * 254, f"got {2**63} at index [0]"),
    "MLX negative": (mx.array(bad_at(2, -1)), "got -1 at index [2]"),
    "in a matrix": (bad_at(9, P).reshape(1, 256), f"got {P} at index [0, 9]"),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_values_out_of_range(name):
    values, message = WRONG_VALUES[name]
    with pytest.raises(ValueError) as caught:
        small().commit(values)
    assert message in str(caught.value) and "evals" in str(caught.value)


WRONG_KINDS = {
    "float64": np.ones(256),
    "float list": [1.0] * 256,
    "NaN": np.full(256, np.nan),
    "bool": np.ones(256, bool),
    "bool list": [True] * 256,
    "complex": np.ones(256, complex),
    "strings": ["1"] * 256,
    "None": None,
    "MLX float": mx.ones(256),
    "MLX bfloat16": mx.ones(256, dtype=mx.bfloat16),
    "MLX bool": mx.ones(256, dtype=mx.bool_),
    "masked": np.ma.masked_array(BASE, BASE == 3),
    "text": "ab",
}


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_kinds_that_are_no_integers(name):
    with pytest.raises(TypeError, match=r"must hold integers|must be"):
        small().commit(WRONG_KINDS[name])


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (), (255,), (512,), (256, 1), (2, 128), (1, 1, 256)])
def test_wrong_shapes(shape):
    with pytest.raises(ValueError, match="evals must"):
        small().commit(np.zeros(shape, np.uint32))


def test_wrong_orientation_says_so():
    with pytest.raises(ValueError, match=r"\(4, 64\) \(columns, rows\), got \(64, 4\); rows are the last axis"):
        small(6, columns=4).commit(np.zeros((64, 4), np.uint32))


def test_ragged_lists():
    with pytest.raises(ValueError, match="ragged"):
        small().commit([[1, 2], [3]])


def test_padding_is_asked_for():
    with pytest.raises(ValueError, match="pad=True appends zeros up to 256"):
        small().commit(BASE[:200])
    padded = np.concatenate([BASE[:200], np.zeros(56, np.uint32)])
    assert small().commit(BASE[:200], pad=True)[0].hex() == root(padded)


def test_wrong_tables():
    pcs = whir_mlx.Whir(tables={"a": (4, 1), "b": (4, 1)}, **SMALL)
    for evals, message in [
        ({"a": BASE[:16]}, "missing 'b'"),
        ({"a": BASE[:16], "b": BASE[:16], "c": BASE[:16]}, "unknown 'c'"),
        ([BASE[:16]], "2 tables, got 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            pcs.commit(evals)
    with pytest.raises(TypeError, match="list or dict"):
        pcs.commit(BASE[:16])
    with pytest.raises(TypeError, match="no names"):
        small().commit({"a": BASE})


# ---- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({}, TypeError, "num_variables"),
        ({"num_variables": 4, "tables": [(4, 1)]}, TypeError, "not both"),
        ({"tables": [(4, 1)], "columns": 2}, TypeError, "columns goes with"),
        ({"tables": []}, ValueError, "at least one table"),
        ({"tables": [4]}, TypeError, r"tables\[0\]"),
        ({"num_variables": 4.0}, TypeError, "log_rows"),
        ({"num_variables": -1}, ValueError, "log_rows"),
        ({"num_variables": 40}, ValueError, "log_rows"),
        ({"num_variables": 8, "columns": 0}, ValueError, "columns"),
        ({"num_variables": 8, "folding_factor": 0}, ParameterError, "at least 1"),
        ({"num_variables": 8, "folding_factor": True}, TypeError, "folding_factor"),
        ({"num_variables": 16, "folding_factor": [4, 4]}, ParameterError, "fold 2 more"),
        ({"num_variables": 16, "folding_factor": [4, 20]}, ParameterError, "20"),
        ({"num_variables": 8, "log_inv_rate": 0}, ParameterError, "log_inv_rate"),
        ({"num_variables": 8, "pow_bits": 31}, ValueError, "pow_bits"),
        ({"num_variables": 8, "soundness": "provable"}, ValueError, "soundness"),
        ({"num_variables": 8, "layout": "middle"}, ValueError, "order"),
        ({"num_variables": 8, "tree": "w20"}, ValueError, "tree"),
        ({"num_variables": 8, "cap_height": -1}, ValueError, "cap_height"),
        ({"num_variables": 8, "device": "tpu"}, ValueError, "device"),
        ({"num_variables": 8, "device": "metal"}, DeviceError, "Mac"),
        ({"num_variables": 23}, ParameterError, "1 more than the budget"),
        # 10-bit grinding does not reach 100 bits at n = 20: refused, never labelled so.
        ({"num_variables": 20, "pow_bits": 10}, ParameterError, "budget pow_bits=10"),
    ],
)
def test_refused_parameters(arguments, error, message):
    if arguments.get("device") == "metal" and mx.metal.is_available():
        pytest.skip("this machine has Metal")
    with pytest.raises(error, match=message):
        whir_mlx.Whir(**arguments)


def test_sizes_past_32_bits_are_refused_before_anything_is_allocated():
    # 2^29 cells: an extension vector of that length has 2^31 words. 2^28 at rate 2^-3: so has the codeword.
    for keywords in ({"num_variables": 29}, {"num_variables": 28, "log_inv_rate": 3}):
        with pytest.raises(ValueError, match="words, at most"):
            make_choices(**keywords, folding_factor=6, security_level=60, pow_bits=30, soundness="unique")


def test_security_is_the_union_and_the_weakest_term():
    report = whir_mlx.Whir(20).security
    assert report.union_bits < report.min_bits == min(term.bits for term in report.terms)
    assert report.union_bits == pytest.approx(95.8, abs=0.05)  # of terms that reach 100 each: never called 100
    assert report.bits == report.union_bits and not report.conjectured


def test_capacity_takes_a_word_and_warns():
    with pytest.warns(whir_mlx.ConjecturedSoundnessWarning, match="refuted"):
        pcs = small(soundness="capacity")
    assert pcs.security.conjectured
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not small().security.conjectured


# ---- verification ----------------------------------------------------------------------------------------------------


def test_expected_values(proved):
    pcs, commitment, _, proof = proved
    (opened,) = pcs.verify(commitment, proof)
    value = opened.values[0]
    for right in ([[value]], [value], [value.tolist()], [None], [mx.array(opened.values)]):
        pcs.verify(commitment, proof, expected=right)
    wrong = value.copy()
    wrong[0] = (int(wrong[0]) + 1) % P
    with pytest.raises(VerificationError) as caught:
        pcs.verify(commitment, proof, expected=[wrong])
    assert caught.value.check == "OpenedValueMismatch"
    with pytest.raises(ValueError, match="expected must hold 1"):
        pcs.verify(commitment, proof, expected=[])
    with pytest.raises(ValueError, match=r"expected\[0\] must have shape"):
        pcs.verify(commitment, proof, expected=[[1, 2, 3]])


def test_another_statement_is_refused(proved):
    pcs, commitment, data, proof = proved
    two = pcs.open(data, num_points=2)
    with pytest.raises(VerificationError) as caught:
        pcs.verify(commitment, two)
    assert caught.value.check == "OpeningBatchCountMismatch"
    other = Commitment((commitment.cap + 1) % P)
    point = np.full((8, 4), 3, np.uint32)
    for arguments in [(other, proof), (commitment, proof, [point])]:
        with pytest.raises(VerificationError):
            pcs.verify(*arguments)
    chosen = pcs.open(data, [point])
    for points in ([point + 1], None):
        with pytest.raises(VerificationError):
            pcs.verify(commitment, chosen, points)
    with pytest.raises(VerificationError):
        small(layout="prefix").verify(commitment, proof)
    changed = dataclasses.replace(proof, evaluations=())
    with pytest.raises(VerificationError):
        pcs.verify(commitment, changed)
    with pytest.raises(VerificationError, match="MalformedProof"):
        pcs.verify(commitment, None)


def test_data_of_other_parameters(proved):
    _, _, data, _ = proved
    with pytest.raises(ValueError, match="other parameters"):
        small(9).open(data)
    with pytest.raises(TypeError, match="data must come from commit"):
        small().open(None)


@pytest.mark.parametrize(
    "points, error",
    [
        ([[1] * 7], ValueError),
        ([[1.0] * 8], TypeError),
        ([[P] * 8], ValueError),
        ([np.ones((8, 3), np.uint32)], ValueError),
        (5, TypeError),
    ],
)
def test_wrong_points(proved, points, error):
    pcs, _, data, _ = proved
    with pytest.raises(error):
        pcs.open(data, points)


def test_json_and_files(proved, tmp_path):
    _, commitment, _, proof = proved
    assert whir_mlx.from_plonky3_json(whir_mlx.to_plonky3_json(commitment, proof)) == (commitment, proof)
    with pytest.raises(ProofFormatError):
        whir_mlx.from_plonky3_json(whir_mlx.to_plonky3_json(commitment, proof) + "{}")
    whir_mlx.write_proof_file(tmp_path / "a.whir", {"n": 8}, commitment, proof)
    assert whir_mlx.read_proof_file(tmp_path / "a.whir") == ({"n": 8}, commitment, proof)


# ---- the rest of the process -----------------------------------------------------------------------------------------


def test_import_touches_no_mlx_and_no_compiler():
    # pycryptodome asks `file` about the interpreter where there is one; nothing else may be started.
    code = """
import subprocess, sys
start = subprocess.Popen.__init__
def check(self, command, *arguments, **keywords):
    if command[0] != "file":
        sys.exit(f"{command} was started")
    start(self, command, *arguments, **keywords)
subprocess.Popen.__init__ = check
import whir_mlx, whir_mlx.field
whir_mlx.field.P
sys.exit("MLX was loaded" if "mlx.core" in sys.modules else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PATH": "", "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr


def test_global_limits_of_mlx_stay_alone(monkeypatch):
    calls = []
    for name in ("set_cache_limit", "set_wired_limit", "set_memory_limit", "set_default_device", "set_default_stream"):
        monkeypatch.setattr(mx, name, lambda *a, name=name, **k: calls.append(name))
    device = mx.default_device()
    pcs = small()
    commitment, data = pcs.commit(mx.array(BASE))
    pcs.verify(commitment, pcs.open(data))
    assert calls == [] and mx.default_device() == device


def test_memory_does_not_grow_with_proofs():
    import tracemalloc

    pcs, values = small(10), whir_mlx.splitmix(0, 1024)
    peaks = []
    tracemalloc.start()
    try:
        for _ in range(20):
            tracemalloc.reset_peak()
            _, data = pcs.commit(values)
            pcs.open(data)
            del data
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert peaks[-1] <= 1.1 * peaks[1]
