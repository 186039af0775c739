"""What a launch of a kernel does: its stage, its permutations, the bytes it must move.

One row a kernel of `whir_mlx/kernels`; a kernel without a row counts under the stage "other", with its bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

__all__ = ["STAGES", "launch_bytes", "permutations", "products_of_permutation", "stage_of"]

STAGES = (
    "NTT", "leaf hash", "compression", "few rows", "sumcheck", "evaluation", "grind", "transcript", "openings",
    "conversion", "other",
)  # fmt: skip
"""In the order of tables. hash_leaves makes two layers of compression as well, and counts as leaf hash; few rows are
leaves and layers that sixteen lanes a digest make in one launch (tree_layers)."""

# The longest prefix of the kernel's name decides.
_STAGES = {
    "ntt": "NTT",
    "hash": "leaf hash",
    "compress": "compression",
    "tree_layers": "few rows",
    "sumcheck": "sumcheck",
    "ext_sum": "sumcheck",
    "fold": "evaluation",
    "dot": "evaluation",
    "eq_": "evaluation",
    "query": "evaluation",
    "add_scaled": "evaluation",
    "claim": "evaluation",
    "point_weights": "evaluation",
    "ext_arithmetic": "evaluation",
    "grind": "grind",
    "challenge": "transcript",
    "replay": "transcript",
    "transcript": "transcript",
    "gather": "openings",
    "climb": "openings",
    "pack": "openings",
    "montgomery": "conversion",
}


def stage_of(kernel: str) -> str:
    """The stage that a kernel belongs to."""
    found = max((prefix for prefix in _STAGES if kernel.startswith(prefix)), key=len, default=None)
    return _STAGES[found] if found else "other"


def _rows_hashed(inputs: list, outputs: list, rate: int) -> int:
    rows = prod(outputs[0][:-1])
    width = max(prod(x.shape) for x in inputs) // max(1, rows)
    return rows * -(-width // rate)


def _tree_permutations(inputs: list, outputs: list, values: dict) -> int:
    """A row of 64 words takes eight for its leaf; a row of 16 is taken for two digests, which take one."""
    rows, width = inputs[-1].shape
    return outputs[0][0] + rows * (0 if width == 16 else -(-width // 8) - 1)


_PERMUTATIONS: dict[str, Callable[[list, list, dict], int]] = {
    "poseidon2": lambda inputs, outputs, values: outputs[0][0],
    "hash_rows": lambda inputs, outputs, values: _rows_hashed(inputs, outputs, values.get("WIDTH", 16) - 8),
    "hash_rows_four": lambda inputs, outputs, values: _rows_hashed(inputs[-1:], outputs, 8),
    "hash_leaves": lambda inputs, outputs, values: _rows_hashed(inputs, outputs, 8) + sum(s[0] for s in outputs[1:]),
    "compress": lambda inputs, outputs, values: outputs[0][0],
    "tree_layers": _tree_permutations,
}


def permutations(kernel: str, inputs: list, outputs: list[tuple[int, ...]], values: dict | None) -> int:
    """Poseidon2 permutations of one launch, of the widths that `values` names; 0 where they are not its main work.

    The grind's are counted from the witness that it found, by whoever has the proof.
    """
    count = _PERMUTATIONS.get(kernel)
    return count(inputs, outputs, values or {}) if count else 0


def launch_bytes(kernel: str, inputs: list, outputs: list[tuple[int, ...]]) -> int:
    """Bytes of a launch that reads each input once and writes each output once; gathers read what they write."""
    written = sum(prod(shape) for shape in outputs)
    read = written if kernel.startswith("gather") else sum(prod(x.shape) for x in inputs)
    return 4 * (read + written)


def products_of_permutation(width: int) -> int:
    """Montgomery products of one permutation: four an S-box; the linear layers need none (shifts and additions)."""
    from whir_mlx.field.poseidon2_constants import external_final, external_initial, internal

    full = len(external_initial(width)) + len(external_final(width))
    return 4 * (full * width + len(internal(width)))
