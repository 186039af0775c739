"""Round constants of the kernels' Poseidon2, with the offsets of the partial rounds taken off."""

from __future__ import annotations

from ..field.constants import MONTY_ONE, P
from ..field.poseidon2_constants import WIDTHS, diagonal_terms, external_final, external_initial, internal


def _after_division(offset: int, k: int) -> int:
    """The offset of (x + 1) / 2^k - 1 from 2^-k of what x stands for (`field_div_2exp_next`)."""
    return (offset + 1) * pow(2, -k, P) - 1


def _next_offsets(width: int, offsets: list[int]) -> list[int]:
    """Offsets of all words after one partial round from those before it; word 0 enters the round without one."""
    of_sum = sum(offsets[1:])
    result = [of_sum]
    for term, offset in list(zip(diagonal_terms(width), offsets, strict=True))[1:]:
        if term[0] == "int":
            result.append((term[1] * offset + of_sum) % P)
        else:
            _, k, sign = term
            result.append((sign * _after_division(offset, k) + of_sum) % P)
    return result


def round_words(width: int) -> tuple[list[int], list[int], list[int]]:
    """Montgomery words of the constants of the first full rounds, the partial rounds and the last full rounds.

    The kernels' partial rounds work on words that are off by known amounts (`poseidon2.h`); what is added to word 0
    before its S-box, and to every word before that of the full round after the partial rounds, is less by as much.
    Raises ValueError for widths other than 16, 24 and 32.
    """
    offsets = [0] * width
    partial = []
    for constant in internal(width):
        partial.append((constant * MONTY_ONE - offsets[0]) % P)
        offsets = _next_offsets(width, offsets)
    first = [word * MONTY_ONE % P for row in external_initial(width) for word in row]
    last = [word * MONTY_ONE % P for row in external_final(width) for word in row]
    last[:width] = [(word - offset) % P for word, offset in zip(last, offsets)]
    return first, partial, last


def constant_tables() -> str:
    """The Poseidon2 round constants as `ROUND_CONSTANTS`s of Montgomery words (the virtual header
    `poseidon2_constants.h`)."""
    lines = []
    for width in WIDTHS:
        for name, words in zip(("INITIAL", "INTERNAL", "FINAL"), round_words(width)):
            values = ", ".join(f"{word:#010x}u" for word in words)
            lines.append(f"ROUND_CONSTANTS(POSEIDON2_{name}_{width}, {len(words)}) = {{{values}}};")
    return "\n".join(lines) + "\n"
