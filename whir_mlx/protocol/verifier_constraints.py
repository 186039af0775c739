"""The claims that the verifier carries, and the value of their combined weights at the final point.

A claim is sum_b f[b] W[b] = value. Three kinds of weights W: eq(point, .) and its repeat-last successor, behind the
selector of a column, for what was opened; eq(point, .) for out-of-domain samples; b -> z^b for STIR queries.

Source: p3-sumcheck 0.8.0 (`constraints/mod.rs`, `constraints/statement/{eq,next,select}.rs`, `layout/verifier.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whir_mlx.field.constants import EXT_DEGREE, P
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.multilinear import eq_factors, mul_arrays, next_at, power_factors, product, scalar
from whir_mlx.protocol.statement import Claim

__all__ = ["InitialConstraint", "RoundConstraint", "combine", "weights_at"]

_P = np.uint64(P)


@dataclass(frozen=True, eq=False)
class InitialConstraint:
    """The claims before the WHIR run, combined with alpha^0, alpha^1, ...

    `claims` in exponent order; `batch_points`: per batch in flat order, its local point, as scalars; `ood_points`:
    points of n scalars, which follow the column claims; `powers`: (column claims + samples, 4) array.
    """

    layout: Layout
    claims: tuple[Claim, ...]
    batch_points: list[list[tuple]]
    ood_points: list[list[tuple]]
    powers: np.ndarray


@dataclass(frozen=True, eq=False)
class RoundConstraint:
    """The claims of one round on a polynomial of v variables, combined with gamma^1, gamma^2, ...

    `ood_points`: points of v scalars; `query_points`: (q,) canonical uint64, which follow; `powers`: (samples + q, 4)
    array.
    """

    num_variables: int
    ood_points: list[list[tuple]]
    query_points: np.ndarray
    powers: np.ndarray


def combine(coefficients: np.ndarray, *values: np.ndarray) -> tuple:
    """sum_j coefficients[j] * values[j], `values` being canonical (.., 4) parts that follow one another: a scalar."""
    joined = np.concatenate([np.asarray(part, dtype=np.uint64).reshape(-1, EXT_DEGREE) for part in values])
    return scalar(mul_arrays(coefficients, joined).sum(axis=0, dtype=np.uint64) % _P)


def weights_at(initial: InitialConstraint, rounds: list[RoundConstraint], challenges: list[tuple]) -> tuple:
    """The combined weights at the point of all challenges in draw order (n scalars): a scalar.

    Each sumcheck bound variables of what was then left, so a constraint of v variables is evaluated at the last v
    challenges; reversed in the suffix order, which binds the last variable first.
    """
    layout = initial.layout

    def point_of(num_variables: int) -> list[tuple]:
        tail = challenges[layout.num_variables - num_variables :]
        return tail[::-1] if layout.order == "suffix" else tail

    x = point_of(layout.num_variables)
    coefficients, points, at, *successors = _opened(initial, x)
    for point, power in zip(initial.ood_points, initial.powers[len(initial.claims) :]):
        coefficients.append(power)
        points.append(point)
        at.append(x)
    queries, queried_at = [], []
    for constraint in rounds:
        x = point_of(constraint.num_variables)
        for point, power in zip(constraint.ood_points, constraint.powers):
            coefficients.append(power)
            points.append(point)
            at.append(x)
    for constraint in rounds:
        x = _padded([point_of(constraint.num_variables)[::-1]], layout.num_variables)
        queries.append(constraint.query_points)
        queried_at.append(np.broadcast_to(x, (len(constraint.query_points), *x.shape[1:])))
        coefficients.extend(constraint.powers[len(constraint.ood_points) :])

    # One product over the coordinates for all weights together.
    factors = [eq_factors(_padded(points, layout.num_variables), _padded(at, layout.num_variables))]
    if queries:
        factors.append(power_factors(np.concatenate(queries), np.concatenate(queried_at)))
    weights = product(np.concatenate(factors))
    successor_coefficients, successor_weights = successors
    coefficients = np.array(coefficients + successor_coefficients, dtype=np.uint64).reshape(-1, EXT_DEGREE)
    return combine(coefficients, weights, successor_weights)


def _opened(initial: InitialConstraint, x: list[tuple]):
    """The terms of the opened columns: eq (coefficients, points, where), successors (coefficients, weights).

    The columns of a batch share a point: their coefficients, with their selectors' weights, add up.
    """
    layout = initial.layout
    sums = np.zeros((2 * len(initial.batch_points), EXT_DEGREE), dtype=np.uint64)
    if initial.claims:
        groups = [2 * claim.batch_index + (claim.kind == "next") for claim in initial.claims]
        np.add.at(sums, groups, mul_arrays(initial.powers[: len(groups)], _selectors(layout, initial.claims, x)))
        sums %= _P
    coefficients, points, at, successor_coefficients, successor_weights = [], [], [], [], []
    placements = {claim.batch_index: claim.placement for claim in initial.claims}
    kinds = {(claim.batch_index, claim.kind) for claim in initial.claims}
    for batch, point in enumerate(initial.batch_points):
        _, local = layout.split(placements[batch], x)
        coefficients.append(sums[2 * batch])
        points.append(point)
        at.append(local)
        if (batch, "next") in kinds:
            successor_coefficients.append(sums[2 * batch + 1])
            successor_weights.append(next_at(point, local))
    return coefficients, points, at, successor_coefficients, successor_weights


def _selectors(layout: Layout, ordered: tuple[Claim, ...], x: list[tuple]) -> np.ndarray:
    """eq(selector bits, selector coordinates of x) of every claim's column: (claims, 4) array."""
    columns = {(claim.table, claim.column): claim.placement for claim in ordered}
    width = max(len(placement.selector_bits) for placement in columns.values())
    coordinates = _padded([layout.split(placement, x)[0] for placement in columns.values()], width)
    bits = np.zeros((len(columns), width, 1), dtype=np.uint64)
    for row, placement in zip(bits, columns.values()):
        row[: len(placement.selector_bits), 0] = placement.selector_bits
    # A bit of 1 takes the coordinate, a bit of 0 takes one minus it; the padding's zeros make that 1.
    complement = _P - coordinates
    complement[..., 0] += np.uint64(1)
    weights = product(np.where(bits == 1, coordinates, complement % _P))
    rows = {column: row for row, column in enumerate(columns)}
    return weights[[rows[claim.table, claim.column] for claim in ordered]]


def _padded(points: list[list[tuple]], width: int) -> np.ndarray:
    """(len(points), width, 4) array, short points ended by zeros, since zero against zero is a factor of 1."""
    padded = np.zeros((len(points), width, EXT_DEGREE), dtype=np.uint64)
    for row, point in zip(padded, points):
        if point:
            row[: len(point)] = point
    return padded
