"""A Fiat-Shamir transcript on plain uint32 arrays: the duplex challenger that the protocol uses.

Source: p3-challenger 0.8.0 (`duplex_challenger.rs`, width 16, rate 8; `grinding_challenger.rs`).
"""

from __future__ import annotations

import numpy as np

from whir_mlx.field.array_edge import Edge
from whir_mlx.inputs import is_mlx
from whir_mlx.protocol import transcript as protocol_transcript

__all__ = ["Transcript"]


class Transcript:
    """Absorbs words and draws challenges. Words are in Montgomery form, below p; witnesses are canonical.

    On a GPU everything is lazy and comes as MLX arrays; on the CPU it comes as NumPy arrays. Nothing is bound but what
    is observed, in order: label your messages, and observe lengths where they vary.
    """

    def __init__(self, *, device="auto"):
        self._edge = Edge(device)
        self._inner = protocol_transcript.Transcript(self._edge.device)

    def fork(self) -> Transcript:
        """A copy that goes its own way from here."""
        copy = Transcript.__new__(Transcript)
        copy._edge, copy._inner = self._edge, self._inner.fork()
        return copy

    def observe(self, x) -> None:
        """Absorbs the words of a NumPy or MLX uint32 array of any shape, in C order. Raises TypeError or ValueError."""
        words = self._edge.enter("x", x)
        # The queue keeps what it is given until the next draw; a caller's array may change before that.
        self._inner.observe(words if is_mlx(words) else np.array(words))

    def sample(self, count: int = 1):
        """Draws `count` >= 1 base elements: (count,) Montgomery words."""
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        return self._inner.sample(count)

    def sample_ext(self):
        """Draws one extension element: (4,) Montgomery words."""
        return self._inner.sample_ext()

    def sample_indices(self, bits: int, count: int):
        """Draws `count` uniform integers below 2^bits, 0 <= bits <= 27: (count,) plain integers."""
        return self._inner.sample_indices(bits, count)

    def grind(self, bits: int):
        """Finds and absorbs the smallest canonical witness of `bits` bits (0..30): (1,)."""
        return self._inner.grind(bits)

    def check_pow(self, bits: int, witness: int) -> bool:
        """Absorbs the canonical `witness` and says whether it meets `bits` bits. Reads a value back from the device."""
        return self._inner.check_pow(bits, witness)
