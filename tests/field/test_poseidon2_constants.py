"""The package's Poseidon2 tables against their derivation in the oracle (Grain LFSR, diagonal of the crate)."""

import pytest

from tests.oracle.grain import PARTIAL_ROUNDS, round_constants
from tests.oracle.poseidon2 import DIAGONAL
from whir_mlx.field import poseidon2_constants as tables
from whir_mlx.field.constants import P


@pytest.mark.parametrize("width", tables.WIDTHS)
def test_round_constants_come_from_the_grain_lfsr(width):
    initial, internal, final = round_constants(width)
    assert [list(row) for row in tables.external_initial(width)] == initial
    assert list(tables.internal(width)) == internal
    assert [list(row) for row in tables.external_final(width)] == final
    assert tables.PARTIAL_ROUNDS[width] == PARTIAL_ROUNDS[width]


@pytest.mark.parametrize("width", tables.WIDTHS)
def test_diagonal_and_its_terms(width):
    diagonal = tables.diagonal(width)
    assert list(diagonal) == [v % P for v in DIAGONAL[width]]
    for value, term in zip(diagonal, tables.diagonal_terms(width), strict=True):
        if term[0] == "int":
            assert -4 <= term[1] <= 4 and value == term[1] % P
        else:
            kind, exponent, sign = term
            assert kind == "inv_pow2" and 1 <= exponent <= 27 and sign in (1, -1)
            assert value * 2**exponent % P == sign % P


@pytest.mark.parametrize("width", [0, 8, 17, 64, "16", None])
def test_other_widths_are_refused(width):
    for function in (tables.external_initial, tables.internal, tables.external_final, tables.diagonal):
        with pytest.raises(ValueError, match="width must be one of"):
            function(width)
    with pytest.raises(ValueError, match="width must be one of"):
        tables.diagonal_terms(width)


def test_tables_digest_is_pinned_and_sees_every_table(monkeypatch):
    assert tables.tables_digest() == "a401c11596136207"
    initial, internal, final, terms = tables._TABLES[24]
    changed = (
        (((initial[0][0] ^ 1, *initial[0][1:]), *initial[1:]), internal, final, terms),
        (initial, (*internal[:-1], internal[-1] ^ 1), final, terms),
        (initial, internal, (*final[:3], (*final[3][:-1], final[3][-1] ^ 1)), terms),
        (initial, internal, final, (*terms[:-1], ("inv_pow2", 26, -1))),
    )
    for table in changed:
        monkeypatch.setitem(tables._TABLES, 24, table)
        assert tables.tables_digest() != "a401c11596136207"


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_damaged_table_does_not_load(cut, monkeypatch):
    parts = list(tables._ROUND_CONSTANTS_HEX[16])
    parts[cut] = parts[cut].strip()[:-9]  # one word less
    monkeypatch.setitem(tables._ROUND_CONSTANTS_HEX, 16, tuple(parts))
    with pytest.raises(ImportError, match="width 16 have lengths"):
        tables._load(16)
    parts[cut] += " 78000001"  # right length, but p itself
    monkeypatch.setitem(tables._ROUND_CONSTANTS_HEX, 16, tuple(parts))
    with pytest.raises(ImportError, match="not below p"):
        tables._load(16)
