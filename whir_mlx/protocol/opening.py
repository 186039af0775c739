"""The prover's opening phase: out-of-domain answers, opened values, batching, and the first sumcheck.

Mirror of `verifier._replay_claims` and of the first constraint in `verifier_constraints`.
Source: p3-whir 0.8.0 (`pcs/adapter.rs`), p3-sumcheck 0.8.0 (`layout/prover`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from whir_mlx.kernels.add_scaled import add_scaled
from whir_mlx.kernels.claim_weights import claim_weights
from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.dot import dot_shares
from whir_mlx.kernels.eq_table import eq_table
from whir_mlx.kernels.ext_arithmetic import ext_add
from whir_mlx.kernels.fold_axis import fold_axis
from whir_mlx.kernels.gather_rows import gather_rows
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.opening_terms import Term, evaluation_term, partial_sums, successor_terms
from whir_mlx.protocol.parameters import WhirConfig
from whir_mlx.protocol.seeds import batching_seed, ood_seed, opening_seed
from whir_mlx.protocol.statement import Schedule, claims
from whir_mlx.protocol.sumcheck import SumcheckRun, run_sumcheck
from whir_mlx.protocol.transcript import Transcript

__all__ = ["Opening", "bind_point", "open_claims", "start_sumcheck"]


@dataclass
class _Side:
    """The claims of one batch on one side (current or next) through one term, all with the same tables.

    columns: table columns, in claim order; sums: (C, 2^k, 4), G of each; table is None for an out-of-domain claim.
    """

    table: int | None
    columns: tuple[int, ...]
    first_claim: int
    term: Term
    sums: object


@dataclass
class Opening:
    """What the phase said, on the device: ood_answers, PendingSum of (4,); values, per batch and side (C, 4); and its
    terms."""

    ood_answers: list = field(default_factory=list)
    current: list = field(default_factory=list)
    next: list = field(default_factory=list)
    sides: list[_Side] = field(default_factory=list)


def bind_point(device: Device, parts: list):
    """A sumcheck's challenges in the order of its variables (`SumcheckRun.point`) as a point (k, 4), k >= 1."""
    if len(parts) == 1 and len(parts[0].shape) == 2:
        return parts[0]
    return concatenate(device, [x if len(x.shape) == 2 else x.reshape((1, 4)) for x in parts])


def open_claims(
    device: Device, transcript: Transcript, layout: Layout, schedule: Schedule, config: WhirConfig, tables, f, points
) -> Opening:
    """Answers the out-of-domain points, then opens the schedule's batches.

    tables: per table (columns, 2^a) padded Montgomery words; f: (2^n,), the stacked polynomial; points: None, or per
    batch (a, 4) Montgomery words on the device.
    """
    order, k = layout.order, layout.folding_factor
    opening = Opening()
    ood_sides = []
    for number in range(config.commitment_ood_samples):
        transcript.observe_seed(ood_seed(layout))
        point = transcript.sample_ext()
        term = evaluation_term(device, point, num_variables=layout.num_variables, order=order, folding_factor=k)
        sums = partial_sums(device, f.reshape((1, f.shape[0])), term, order=order)
        answer = dot_shares(device, sums.reshape(term.inner.shape), term.inner)
        opening.ood_answers.append(transcript.observe_shares(answer))
        ood_sides.append(_Side(None, (0,), schedule.num_claims + number, term, sums))
    flat_claim = 0
    for number, (table, batch) in enumerate(schedule.flat):
        transcript.observe_seed(opening_seed(layout, table, batch, points is not None))
        arity = layout.padded_log_rows[table]
        point = transcript.sample_ext() if points is None else points[number]
        evaluation = evaluation_term(device, point, num_variables=arity, order=order, folding_factor=k)
        for columns, terms, values in (
            (batch.current, (evaluation,), opening.current),
            (batch.next, successor_terms(device, evaluation, order=order) if batch.next else (), opening.next),
        ):
            if not columns:
                values.append(None)
                continue
            matrix = _take_columns(device, tables[table], columns)
            total = None
            for term in terms:
                sums = partial_sums(device, matrix, term, order=order)
                part = fold_axis(device, sums, term.inner, axis=1, ext=True)
                total = part if total is None else ext_add(device, total, part)
                opening.sides.append(_Side(table, columns, flat_claim, term, sums))
            transcript.observe(total)
            values.append(total)
            flat_claim += len(columns)
    opening.sides += ood_sides
    return opening


def _take_columns(device: Device, table, columns: tuple[int, ...]):
    if columns == tuple(range(table.shape[0])):
        return table
    return gather_rows(device, table, device.asarray(np.array(columns, np.uint32)))


def start_sumcheck(
    device: Device, transcript: Transcript, layout: Layout, schedule: Schedule, config: WhirConfig, opening: Opening, f
) -> tuple[object, object, SumcheckRun]:
    """Batches all claims with powers of one challenge and binds the first k_0 variables.

    Returns the folded polynomial and its weights, (2^(n-k_0), 4) each, and the sumcheck's messages.
    """
    order, k, n = layout.order, layout.folding_factor, layout.num_variables
    ordered = claims(layout, schedule)
    total = schedule.num_claims + config.commitment_ood_samples
    transcript.observe_seed(batching_seed(layout, schedule.num_claims, config.commitment_ood_samples))
    alpha = transcript.sample_ext()
    exponents = np.arange(total, dtype=np.uint32)
    exponents[[claim.flat_index for claim in ordered]] = np.arange(len(ordered), dtype=np.uint32)
    sums, inners, claimed = [], [], []
    for number, side in enumerate(opening.sides):
        count = len(side.columns)
        inners.append(side.term.inner)
        sums.append(side.sums.reshape((count << k, 4)))
        claimed += [(number, int(e)) for e in exponents[side.first_claim : side.first_claim + count]]
    if not sums:  # no claim at all: the weights are 0
        zeros = device.asarray(np.zeros((1 << k, 4), np.uint32))
        sums, inners, claimed = [zeros], [zeros], [(0, 0)]
    joined = concatenate(device, inners + sums)
    split = len(inners) << k
    weights = claim_weights(device, alpha, joined[:split].reshape((len(inners), 1 << k, 4)), claims=tuple(claimed))
    _, coefficients, run = run_sumcheck(
        device,
        transcript,
        joined[split:],
        weights.reshape((len(claimed) << k, 4)),
        rounds=k,
        pow_bits=config.starting_folding_pow_bits,
        order=order,
        log_block=k,
    )
    folding = eq_table(device, bind_point(device, run.point))
    shape, axis = ((1 << (n - k), 1 << k), 1) if order == "suffix" else ((1 << k, 1 << (n - k)), 0)
    folded = fold_axis(device, f.reshape(shape), folding, axis=axis, ext=False)
    return folded, _folded_weights(device, layout, opening, coefficients), run


def _folded_weights(device: Device, layout: Layout, opening: Opening, coefficients):
    """Weights of the folded polynomial: per column its terms' outer tables, put where the column lies, plus the
    out-of-domain terms over everything. coefficients: (T, 4), the folded inner of every term."""
    single = len(layout.tables) == 1 and layout.tables[0].columns == 1  # a table that lies over everything
    parts: dict[int | None, tuple[list, list]] = {}  # by table, None over everything: outer tables, and their places
    start = 0
    for side in opening.sides:
        place = dict(zip(side.columns, range(start, start + len(side.columns))))
        start += len(side.columns)
        columns = 1 if side.table is None else layout.tables[side.table].columns
        outers, places = parts.setdefault(None if single else side.table, ([], []))
        outers.append(side.term.outer)
        places.append(tuple(map(place.get, range(columns))))
    cells = 1 << (layout.num_variables - layout.folding_factor)
    whole = parts.pop(None, None)
    regions = {
        table: add_scaled(device, None, coefficients, outers, places=tuple(places))
        for table, (outers, places) in parts.items()
    }
    weights = _stack_regions(device, layout, regions) if regions else None
    if whole is not None:
        base = None if weights is None else weights.reshape((1, cells, 4))
        weights = add_scaled(device, base, coefficients, whole[0], places=tuple(whole[1])).reshape((cells, 4))
    return device.asarray(np.zeros((cells, 4), np.uint32)) if weights is None else weights


def _stack_regions(device: Device, layout: Layout, regions: dict):
    """The regions (columns, 2^(a-k), 4) by table as one (2^(n-k), 4) array in the layout's order; zeros elsewhere."""
    parts = [device.asarray(np.zeros((1, 4), np.uint32))]
    parts += [region.reshape((region.shape[0] * region.shape[1], 4)) for _, region in sorted(regions.items())]
    return gather_rows(device, concatenate(device, parts), _region_indices(device, layout, tuple(sorted(regions))))


@lru_cache(maxsize=64)
def _region_indices(device: Device, layout: Layout, present: tuple[int, ...]):
    """Per cell of the folded polynomial, its row among [0, region, region, ...] of the tables that have one."""
    shapes = [
        (arity - layout.folding_factor, shape.columns) for shape, arity in zip(layout.tables, layout.padded_log_rows)
    ]
    small = Layout(layout.order, tuple(shapes), 0)
    matrices, next_row = [], 1
    for table, (log_rows, columns) in enumerate(shapes):
        count = columns << log_rows
        rows = np.zeros(count, np.uint32)
        if table in present:
            rows = np.arange(next_row, next_row + count, dtype=np.uint32)
            next_row += count
        matrices.append(rows.reshape(columns, 1 << log_rows))
    indices = np.zeros(1 << (layout.num_variables - layout.folding_factor), np.uint32)
    stacked = small.stack(matrices)
    indices[: len(stacked)] = stacked
    indices = device.asarray(indices)
    device.evaluate(indices)
    return indices
