"""What a proof will take before it is made: memory of the prover, and the size of the proof.

Both follow from the configuration. The memory counts the arrays that are alive together at the worst moment (the tests
hold it against what is really allocated); the proof's size is exact but for the Merkle siblings, whose expected number
under random queries is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whir_mlx.choices import Choices
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig

__all__ = ["PROCESS_BYTES", "Estimate", "estimate"]

WORD = 4
EXT = WORD * EXT_DEGREE
DIGEST = WORD * DIGEST_WIDTH

PROCESS_BYTES = 64 * 2**20
"""Python, NumPy and the compiled kernels, before any table (measured: 45 to 60 MB on Linux)."""

# Per codeword while it is made: the transform writes from one buffer to another.
_CODEWORD_COPIES = 2
# Extension vectors as long as the folded polynomial, alive together: it, its weights, and their successors.
_ROUND_VECTORS = 4
# Block sizes are rounded up, and freed blocks wait for takers (`kernels/targets/buffers.py`): measured 1.1 to 1.3.
_MARGIN = 1.35


@dataclass(frozen=True)
class Estimate:
    """peak_bytes: of the whole process while proving; proof_bytes: of the proof, without the file's parameters."""

    peak_bytes: int
    proof_bytes: int


def estimate(choices: Choices, num_claims: int | None = None) -> Estimate:
    """The estimate for `num_claims` opened columns (default: every column once)."""
    num_claims = choices.layout.num_columns if num_claims is None else num_claims
    arrays = math.ceil(_MARGIN * _array_bytes(choices, num_claims))
    return Estimate(PROCESS_BYTES + arrays, _proof_bytes(choices, num_claims))


def _array_bytes(choices: Choices, num_claims: int) -> int:
    layout, config, tree = choices.layout, choices.config, choices.tree
    n, k = layout.num_variables, layout.folding_factor
    given = sum(shape.columns << shape.log_rows for shape in layout.tables)
    stacked = 0 if len(layout.tables) == 1 and layout.tables[0].columns == 1 else WORD << n
    codeword = WORD << (n + config.log_inv_rate)
    kept = WORD * (given + layout.num_cells) + stacked + codeword + _tree_bytes(tree, n + config.log_inv_rate - k)
    moments = [kept + (_CODEWORD_COPIES - 1) * codeword]
    # Opening: per claim its partial sums and outer table, together at most two vectors of the column's folded size.
    claims = 2 * EXT * sum(shape.columns << max(0, a - k) for shape, a in zip(layout.tables, layout.padded_log_rows))
    claims *= max(1, math.ceil(num_claims / layout.num_columns))
    moments.append(kept + claims + _ROUND_VECTORS * (EXT << (n - k)))
    previous = 0
    for record in config.rounds:
        codeword = EXT << (record.num_variables + record.log_inv_rate)
        layers = _tree_bytes(tree, record.num_variables + record.log_inv_rate - record.next_folding_factor)
        vectors = _ROUND_VECTORS * (EXT << record.num_variables)
        moments.append(kept + previous + _CODEWORD_COPIES * codeword + layers + vectors)
        previous = codeword + layers
    return max(moments)


def _tree_bytes(tree: TreeConfig, log_height: int) -> int:
    return DIGEST * (1 << log_height) * tree.arity // (tree.arity - 1)


def _proof_bytes(choices: Choices, num_claims: int) -> int:
    config, tree = choices.config, choices.tree
    size = DIGEST * tree.cap_length(1 << (config.num_variables + config.log_inv_rate - config.folding_schedule[0]))
    size += EXT * (config.commitment_ood_samples + num_claims)
    size += _sumcheck_bytes(config.folding_schedule[0], config.starting_folding_pow_bits)
    unit = WORD  # the committed codeword is over the base field, later ones over the extension
    for record in config.rounds:
        height = 1 << (record.num_variables + record.log_inv_rate - record.next_folding_factor)
        size += DIGEST * tree.cap_length(height) + EXT * record.ood_samples + WORD
        size += _opening_bytes(tree, record.num_opened, record.log_folded_domain_size, unit << record.folding_factor)
        size += _sumcheck_bytes(record.next_folding_factor, record.folding_pow_bits)
        unit = EXT
    rows = config.final_num_opened, config.final_log_folded_domain_size
    size += (EXT << config.final_sumcheck_rounds) + WORD
    size += _opening_bytes(tree, *rows, unit << config.folding_schedule[-1])
    return size + _sumcheck_bytes(config.final_sumcheck_rounds, config.final_folding_pow_bits)


def _sumcheck_bytes(rounds: int, pow_bits: int) -> int:
    return rounds * (2 * EXT + (WORD if pow_bits else 0))


def _opening_bytes(tree: TreeConfig, queries: int, log_height: int, row_bytes: int) -> int:
    """Rows, and the siblings that random queries need: per level the expected nodes around the known ones."""
    siblings, cells = 0.0, 1 << log_height
    known = float(cells) if queries >= cells else _distinct(queries, cells)
    for _ in range(tree.cap_layer(1 << log_height)):
        above = -(-cells // tree.arity)
        parents = float(above) if queries >= above * tree.arity else _distinct(queries, above)
        siblings += max(0.0, parents * tree.arity - known)
        known, cells = parents, above
    return queries * row_bytes + DIGEST * round(siblings)


def _distinct(draws: int, cells: int) -> float:
    """Expected number of different cells hit by independent uniform draws."""
    return cells * -math.expm1(draws * math.log1p(-1.0 / cells)) if cells > 1 else 1.0
