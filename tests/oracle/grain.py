"""Poseidon2's round constants, derived again from the Grain LFSR (Poseidon paper, appendix E, eprint 2019/458)."""

from functools import cache

from .field import P

FULL_ROUNDS = 8
PARTIAL_ROUNDS = {16: 13, 24: 21, 32: 30}


def _raw_bits(width: int):
    """The 80-bit register, newest bit lowest, after its seed: field type, S-box type, n, t, R_F, R_P, thirty ones."""
    fields = ((1, 2), (0, 4), (31, 12), (width, 12), (FULL_ROUNDS, 10), (PARTIAL_ROUNDS[width], 10), (2**30 - 1, 30))
    register = 0
    for value, bits in fields:
        register = register << bits | value
    clock = 0
    while True:
        # Taps 0, 13, 23, 38, 51, 62 counted from the oldest bit, which is bit 79 of the register.
        bit = (register >> 79 ^ register >> 66 ^ register >> 56 ^ register >> 41 ^ register >> 28 ^ register >> 17) & 1
        register = (register << 1 | bit) & (2**80 - 1)
        clock += 1
        if clock > 160:
            yield bit


def _elements(width: int):
    """Self-shrinking output (of a pair a, b keep b if a is 1), 31 bits a candidate, high bit first, values >= p out."""
    raw = _raw_bits(width)
    while True:
        value, count = 0, 0
        while count < 31:
            keep, bit = next(raw), next(raw)
            if keep:
                value, count = value << 1 | bit, count + 1
        if value < P:
            yield value


@cache
def round_constants(width: int) -> tuple:
    """(4 rows of `width`, one list of 13, 21 or 30, 4 rows of `width`): external initial, internal, external final."""
    source = _elements(width)
    initial = [[next(source) for _ in range(width)] for _ in range(FULL_ROUNDS // 2)]
    internal = [next(source) for _ in range(PARTIAL_ROUNDS[width])]
    final = [[next(source) for _ in range(width)] for _ in range(FULL_ROUNDS // 2)]
    return initial, internal, final
