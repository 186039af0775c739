"""What a proof will take before it is made: memory of the prover, and the size of the proof.

Both follow from the configuration. The memory is that of the prover played on shapes (`protocol/planning.py`; the
tests hold it against what is really taken); the proof's size is exact but for the Merkle siblings, whose expected
number under random queries is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whir_mlx.choices import Choices
from whir_mlx.field.constants import EXT_DEGREE
from whir_mlx.protocol.merkle_config import DIGEST_WIDTH, TreeConfig
from whir_mlx.protocol.planning import plan_memory
from whir_mlx.protocol.statement import Schedule

__all__ = ["PROCESS_BYTES", "Estimate", "estimate"]

WORD = 4
EXT = WORD * EXT_DEGREE
DIGEST = WORD * DIGEST_WIDTH

PROCESS_BYTES = 64 * 2**20
"""Python, NumPy and the compiled kernels, before any table (measured: 45 to 60 MB on Linux)."""

# Of the arrays' bytes: interpreter objects, NumPy's temporaries, and huge pages touched at their edges.
_MARGIN = 1.1


@dataclass(frozen=True)
class Estimate:
    """peak_bytes: of the whole process, proving on the CPU target; proof_bytes: of the proof, without the file's
    parameters."""

    peak_bytes: int
    proof_bytes: int


def estimate(choices: Choices, schedule: Schedule | None = None) -> Estimate:
    """The estimate for opening `schedule` (default: every column once) on the CPU target."""
    schedule = Schedule.all_columns(choices.layout) if schedule is None else schedule
    memory = plan_memory("cpu", choices.layout, choices.config, choices.tree, schedule)
    peak = PROCESS_BYTES + math.ceil(_MARGIN * memory.peak)
    return Estimate(peak, _proof_bytes(choices, schedule.num_claims))


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
