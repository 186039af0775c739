"""Tables of the cooperative permutation (`cooperative.h`), which several kernels take as a buffer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..field.constants import MONTY_ONE, P
from ..field.poseidon2_constants import diagonal, external_final, external_initial, internal
from .device import Device


def table_words() -> list[int]:
    """(398,) Montgomery words, in the order of cooperative.h."""
    others = [word % P for word in diagonal(16)[1:]]
    powers = [[0, *(pow(d, r, P) for d in others)] for r in range(16)]
    feedback = [sum(row) % P for row in powers]
    rows = [*external_initial(16), *external_final(16), *powers[:13], powers[1], [0] * 16, feedback, internal(16), [0]]
    return [word % P * MONTY_ONE % P for row in rows for word in row]


@lru_cache(maxsize=8)
def tables(device: Device):
    """The words of `table_words` on the device, kept."""
    words = table_words()
    table = device.table((len(words),), lambda: np.array(words, np.uint32))
    device.evaluate(table)
    return table
