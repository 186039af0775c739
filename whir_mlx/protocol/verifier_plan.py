"""What the verifier derives from the statement alone, kept between verifications: seeds, and where claims go.

Source: p3-sumcheck 0.8.0 (`layout/verifier.rs`), p3-whir 0.8.0 (`transcript/mod.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whir_mlx.field.numpy_field import to_montgomery
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.seeds import batching_seed, commitment_seed, ood_seed, opening_seed, sumcheck_seed, whir_seed
from whir_mlx.protocol.statement import Schedule, claims

__all__ = ["ClaimPlan", "VerifierPlan", "verifier_plan"]


@dataclass(frozen=True, eq=False)
class ClaimPlan:
    """How the c column claims, in exponent order, are combined. Letters: b batches, w the widest selector.

    `values` (c,): each claim's position among all opened values. `groups` (c,): the claims of a group share the weight
    of a point; group k < b is what batch k opened directly, the groups after are those in `successors`, (batch, ..)
    through the successor view. `locals`: per batch, the slice of a stacked point that holds its local coordinates.
    `columns` (c,): each claim's row of `selector_bits` (columns, w), True where the bit is 1; row i's coordinates
    are the slice `selectors[selector_tables[i]]` of a stacked point.
    """

    values: np.ndarray
    groups: np.ndarray
    successors: tuple[int, ...]
    locals: tuple[slice, ...]
    columns: np.ndarray
    selector_bits: np.ndarray
    selector_tables: np.ndarray
    selectors: tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class VerifierPlan:
    """Seeds as Montgomery words (read-only): `openings` has one a batch; `sumchecks` those of the initial sumcheck, of
    every round's and of the final one."""

    commitment: np.ndarray
    ood: np.ndarray
    openings: tuple[np.ndarray, ...]
    whir: np.ndarray
    batching: np.ndarray
    sumchecks: tuple[np.ndarray, ...]
    claims: ClaimPlan


@lru_cache(maxsize=32)
def verifier_plan(layout: Layout, schedule: Schedule, config: WhirConfig, prescribed: bool) -> VerifierPlan:
    """The plan of a statement whose parts fit each other; prescribed: its points are the caller's."""
    sites = [(config.folding_schedule[0], config.starting_folding_pow_bits)]
    sites += [(params.next_folding_factor, params.folding_pow_bits) for params in config.rounds]
    sites += [(config.final_sumcheck_rounds, config.final_folding_pow_bits)]
    return VerifierPlan(
        commitment=_words(commitment_seed()),
        ood=_words(ood_seed(layout)),
        openings=tuple(_words(opening_seed(layout, table, batch, prescribed)) for table, batch in schedule.flat),
        whir=_words(whir_seed(config, schedule.num_batches)),
        batching=_words(batching_seed(layout, schedule.num_claims, config.commitment_ood_samples)),
        sumchecks=tuple(_words(sumcheck_seed(rounds, bits)) for rounds, bits in sites),
        claims=_claim_plan(layout, schedule),
    )


def _claim_plan(layout: Layout, schedule: Schedule) -> ClaimPlan:
    ordered = claims(layout, schedule)
    batches = schedule.flat
    successors = tuple(k for k, (_, batch) in enumerate(batches) if batch.next)
    next_group = {batch: len(batches) + i for i, batch in enumerate(successors)}
    placements = {(claim.table, claim.column): claim.placement for claim in ordered}
    rows = {column: row for row, column in enumerate(placements)}
    opened = sorted({table for table, _ in placements})  # tables that are not may have wider selectors
    # A selector's coordinates come first in the suffix order, and last in the prefix order.
    arities = layout.padded_log_rows
    cuts = [layout.num_variables - arity if layout.selector_first else arity for arity in arities]
    heads, tails = [slice(0, cut) for cut in cuts], [slice(cut, layout.num_variables) for cut in cuts]
    selectors, local = (heads, tails) if layout.selector_first else (tails, heads)
    bits = np.zeros((len(rows), max((len(p.selector_bits) for p in placements.values()), default=0)), dtype=bool)
    for row, placement in zip(bits, placements.values()):
        row[: len(placement.selector_bits)] = placement.selector_bits
    return ClaimPlan(
        values=np.array([claim.flat_index for claim in ordered], dtype=np.intp),
        groups=np.array(
            [next_group[c.batch_index] if c.kind == "next" else c.batch_index for c in ordered], dtype=np.intp
        ),
        successors=successors,
        locals=tuple(local[table] for table, _ in batches),
        columns=np.array([rows[claim.table, claim.column] for claim in ordered], dtype=np.intp),
        selector_bits=bits,
        selector_tables=np.array([opened.index(table) for table, _ in placements], dtype=np.intp),
        selectors=tuple(selectors[table] for table in opened),
    )


def _words(canonical: np.ndarray) -> np.ndarray:
    words = to_montgomery(np.asarray(canonical, np.uint32))
    words.setflags(write=False)
    return words
