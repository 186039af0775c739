"""Round constants of the kernels' Poseidon2, with the offsets of the partial rounds taken off."""

from __future__ import annotations

from ..field.constants import MONTY_ONE, P
from ..field.poseidon2_constants import WIDTHS, diagonal_terms, external_final, external_initial, internal


def _after_division(offset: int, k: int) -> int:
    """The offset of (x + 1) / 2^k - 1 from 2^-k of what x stands for (`field_div_2exp_next`)."""
    return (offset + 1) * pow(2, -k, P) - 1


def _entries(width: int) -> list[tuple[int, int]]:
    """The diagonal as (c, k), c * 2^-k; 2^-27 is -15."""
    entries = []
    for term in diagonal_terms(width):
        if term[0] == "int":
            entries.append((term[1], 0))
        else:
            _, k, sign = term
            entries.append((-15 * sign, 0) if k == 27 else (sign, k))
    return entries


def _times(offset: int, c: int, k: int) -> int:
    """The offset of c * 2^-k times the word, as the kernels multiply."""
    return c * (_after_division(offset, k) if k else offset) % P


class _Offsets:
    """The offsets of what the partial rounds hold: of word 0 and of words without a partner, and of u and m of a pair
    (`poseidon2.h`)."""

    def __init__(self, width: int) -> None:
        self.entries = _entries(width)
        positive = [i for i in range(1, width) if self.entries[i][0] > 0]
        partners = {entry: i for i, entry in enumerate(self.entries) if i}
        self.pairs = []
        for i in positive:
            c, k = self.entries[i]
            if (-c, k) in partners:
                self.pairs.append((i, partners[-c, k]))
        paired = {i for pair in self.pairs for i in pair}
        self.alone = [i for i in range(1, width) if i not in paired]
        self.words = [0] * width
        for i, j in self.pairs:
            c, k = self.entries[i]
            self.words[i] = _after_division(0, 1)
            self.words[j] = _after_division(0, k + 1)

    def next_round(self, last: bool) -> None:
        """Pass through one partial round; the last one leaves words."""
        words = self.words
        total = sum(words[i] for i in self.alone) + 2 * sum(words[i] for i, _ in self.pairs)
        words[0] = total % P
        for i in self.alone:
            words[i] = (_times(words[i], *self.entries[i]) + total) % P
        for i, j in self.pairs:
            c, k = self.entries[i]
            u, moved = words[i], words[j] + total
            if last:
                words[i], words[j] = (moved + _times(u, c, k)) % P, (moved - _times(u, c, k)) % P
            else:
                words[i], words[j] = moved % P, _times(u, c * c, 2 * k)


def round_words(width: int) -> tuple[list[int], list[int], list[int]]:
    """Montgomery words of the constants of the first full rounds, the partial rounds and the last full rounds.

    The kernels' partial rounds work on words that are off by known amounts (`poseidon2.h`); what is added to word 0
    before its S-box, and to every word before that of the full round after the partial rounds, is less by as much.
    Raises ValueError for widths other than 16, 24 and 32.
    """
    offsets = _Offsets(width)
    partial = []
    constants = internal(width)
    for r, constant in enumerate(constants):
        partial.append((constant * MONTY_ONE - offsets.words[0]) % P)
        offsets.next_round(last=r == len(constants) - 1)
    first = [word * MONTY_ONE % P for row in external_initial(width) for word in row]
    last = [word * MONTY_ONE % P for row in external_final(width) for word in row]
    last[:width] = [(word - offset) % P for word, offset in zip(last, offsets.words)]
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
