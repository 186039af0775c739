"""The opening phase: claims on the stacked polynomial as sums of rank-one terms, and the first k_0 sumcheck rounds.

Every claim's weight over the cube is a sum of products outer[i] * inner[b], b the k_0 variables that the first sumcheck
binds, i the rest: an evaluation is one product, the repeat-last successor three. With G[b] = sum_i f[i, b] outer[i],
the claimed value is sum_b G[b] inner[b], and the first k_0 rounds run on the G and inner of all terms side by side: a
few times 2^k_0 values instead of 2^n. Afterwards a term's weight on the folded polynomial is its folded inner times
outer.

The same idea is the small-value first phase of p3-sumcheck 0.8.0 (`layout/prover`); this form of it is our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.kernels.concatenate import concatenate
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.eq_table import eq_tables
from whir_mlx.kernels.fold_axis import fold_axis

__all__ = ["Term", "evaluation_term", "partial_sums", "successor_terms"]


@dataclass(frozen=True)
class Term:
    """One product of tables: outer (2^(a-k), 4), inner (2^k, 4), Montgomery words on the device."""

    outer: object
    inner: object


def evaluation_term(device: Device, point, *, num_variables: int, order: str, folding_factor: int) -> Term:
    """The weight eq(point, .) of an ordinary evaluation at `point`, (a, 4), a = num_variables, or at the point that a
    challenge (4,) stands for."""
    outer = num_variables - folding_factor
    if order == "suffix":  # which binds the last k variables first
        return Term(*eq_tables(device, point, lengths=(outer, folding_factor)))
    return Term(*reversed(eq_tables(device, point, lengths=(folding_factor, outer))))


def successor_terms(device: Device, evaluation: Term, *, order: str) -> tuple[Term, Term, Term]:
    """The weight of the repeat-last successor view at the point of `evaluation`.

    Row r + 1 takes the weight of row r, and the last row also its own. The step from r to r + 1 either stays inside the
    faster of the two indices or carries into the slower one.
    """
    outer, inner = evaluation.outer, evaluation.inner
    last = Term(_only_last(device, outer), _only_last(device, inner))
    if order == "suffix":
        return Term(outer, _shifted(device, inner)), Term(_shifted(device, outer), _last_first(device, inner)), last
    return Term(_shifted(device, outer), inner), Term(_last_first(device, outer), _shifted(device, inner)), last


def _zeros(device: Device, count: int):
    return device.asarray(np.zeros((count, 4), np.uint32))


def _shifted(device: Device, table):
    """table[j - 1] at j, 0 at 0."""
    return concatenate(device, [_zeros(device, 1), table[: table.shape[0] - 1]])


def _last_first(device: Device, table):
    """The last entry at 0, 0 elsewhere."""
    count = table.shape[0]
    return concatenate(device, [table[count - 1 :], _zeros(device, count - 1)])


def _only_last(device: Device, table):
    """The last entry at its place, 0 elsewhere."""
    count = table.shape[0]
    return concatenate(device, [_zeros(device, count - 1), table[count - 1 :]])


def partial_sums(device: Device, columns, term: Term, *, order: str):
    """G[c, b] = sum_i column c at (i, b) * outer[i]: columns (C, 2^a) base Montgomery words -> (C, 2^k, 4)."""
    count, outer, inner = columns.shape[0], term.outer.shape[0], term.inner.shape[0]
    shape, axis = ((count, outer, inner), 0) if order == "suffix" else ((count, inner, outer), 1)
    return fold_axis(device, columns.reshape(shape), term.outer, axis=axis, ext=False)
