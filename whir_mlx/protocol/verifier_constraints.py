"""The claims that the verifier carries, and the value of their combined weights at the final point.

A claim is sum_b f[b] W[b] = value. Three kinds of weights W: eq(point, .) and its repeat-last successor, behind the
selector of a column, for what was opened; eq(point, .) for out-of-domain samples; b -> z^b for STIR queries. Everything
here is done once, after the last challenge, for all rounds together.

Letters: n variables, v those of a round's polynomial, c column claims, s out-of-domain samples, q queries.
Source: p3-sumcheck 0.8.0 (`constraints/mod.rs`, `constraints/statement/{eq,next,select}.rs`, `layout/verifier.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whir_mlx.field.constants import EXT_DEGREE, MONTY_ONE, P
from whir_mlx.kernels.ext_arithmetic import ext_mul
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.multilinear import add, base_squares, eq_factors, mul, next_at, powers
from whir_mlx.protocol.verifier_plan import ClaimPlan

__all__ = ["InitialConstraint", "RoundConstraint", "combined_values", "weights_at"]

_P = np.uint64(P)


@dataclass(eq=False)
class InitialConstraint:
    """The claims before the WHIR run, combined with alpha^0, alpha^1, ...

    `batch_points`: per batch in flat order, its local point, as scalars; `ood_points`: points of n scalars, which
    follow the column claims; `values`: parts of the (c + s, 4) canonical values, in the order of the exponents.
    """

    batch_points: list[list[tuple]]
    ood_points: list[list[tuple]]
    challenge: tuple
    values: list[np.ndarray]

    query_points = np.zeros(0, dtype=np.uint64)


@dataclass(eq=False)
class RoundConstraint:
    """The claims of one round on a polynomial of v variables, combined with gamma^1, gamma^2, ...

    `ood_points`: points of v scalars; `query_points`: (q,) canonical uint64, which follow; `values`: parts of the
    (s + q, 4) canonical values, in that order. gamma^0 is the coefficient of the claim carried so far.
    """

    num_variables: int
    ood_points: list[list[tuple]]
    challenge: tuple
    query_points: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    values: list[np.ndarray] = field(default_factory=list)


def combined_values(
    device, initial: InitialConstraint, rounds: list[RoundConstraint]
) -> tuple[list[tuple], np.ndarray]:
    """What each constraint adds to the claim, as scalars; and the coefficients of all their terms, (.., 4) uint32.

    The coefficients are those of the column claims, then of the samples, then round by round of samples and queries.
    """
    constraints = [initial, *rounds]
    lengths = [sum(len(part) for part in constraint.values) for constraint in constraints]
    table = powers([constraint.challenge for constraint in constraints], 1 + max(lengths)).astype(np.uint32)
    firsts = [0] + [1] * len(rounds)
    coefficients = np.concatenate([row[first : first + count] for row, first, count in zip(table, firsts, lengths)])
    values = np.concatenate([part for constraint in constraints for part in constraint.values])
    sums = np.zeros((1 + len(values), EXT_DEGREE), dtype=np.uint64)
    np.cumsum(_products(device, np.stack((coefficients, values))), axis=0, out=sums[1:])
    ends = np.cumsum(lengths)
    return [_times_power_of_r(row, 1) for row in (sums[ends] - sums[ends - lengths]).tolist()], coefficients


def weights_at(
    device,
    layout: Layout,
    plan: ClaimPlan,
    initial: InitialConstraint,
    rounds: list[RoundConstraint],
    coefficients: np.ndarray,
    challenges: list[tuple],
) -> tuple:
    """The combined weights at the point of all challenges in draw order (n scalars): a scalar.

    Each sumcheck bound variables of what was then left, so a constraint of v variables is evaluated at the last v
    challenges; reversed in the suffix order, which binds the last variable first.
    """
    n = layout.num_variables
    drawn = np.array(challenges, dtype=np.uint64).reshape(n, EXT_DEGREE)
    x = drawn[::-1] if layout.order == "suffix" else drawn

    def point_of(num_variables: int) -> np.ndarray:
        return x[:num_variables] if layout.order == "suffix" else x[n - num_variables :]

    # One column of factors for each weight: the batches', the samples', then round by round samples and queries.
    points = [*initial.batch_points, *initial.ood_points]
    at = [x[local] for local in plan.locals] + [x] * len(initial.ood_points)
    columns = list(range(len(points)))
    width = len(points)
    for constraint in rounds:
        points += constraint.ood_points
        at += [point_of(constraint.num_variables)] * len(constraint.ood_points)
        columns += range(width, width + len(constraint.ood_points))
        width += len(constraint.ood_points) + len(constraint.query_points)
    factors = np.zeros((n + 1, width, EXT_DEGREE), dtype=np.uint32)
    factors[:n, :, 0] = 1
    if points:
        factors[:n, columns] = eq_factors(_padded(points, n), _padded(at, n)).transpose(1, 0, 2)
    _put_query_factors(factors, rounds, point_of)

    num_batches, num_claims = len(initial.batch_points), len(plan.values)
    groups = _group_coefficients(device, plan, coefficients[:num_claims], x)
    factors[n, :num_batches] = groups[:num_batches]
    factors[n, num_batches:] = coefficients[num_claims:]
    weights = _products(device, factors)
    total = _times_power_of_r(weights.sum(axis=0, dtype=np.uint64).tolist(), n)
    for k, group in zip(plan.successors, groups[num_batches:].tolist()):
        local = [tuple(row) for row in x[plan.locals[k]].tolist()]
        total = add(total, mul(tuple(group), next_at(initial.batch_points[k], local)))
    return total


def _put_query_factors(factors: np.ndarray, rounds: list[RoundConstraint], point_of) -> None:
    """Factor s of the weight b -> z^b at x is 1 + x_s (z^(2^s) - 1), x_s the coordinate of bit s."""
    if not rounds:
        return
    squares = base_squares(
        np.concatenate([constraint.query_points for constraint in rounds]),
        max(constraint.num_variables for constraint in rounds),
    )
    squares += _P - np.uint64(1)
    squares %= _P
    start = 0
    column = factors.shape[1] - sum(len(c.ood_points) + len(c.query_points) for c in rounds)
    for constraint in rounds:
        column += len(constraint.ood_points)
        count, v = len(constraint.query_points), constraint.num_variables
        block = squares[:v, start : start + count, None] * point_of(v)[::-1, None]
        block[..., 0] += np.uint64(1)
        factors[:v, column : column + count] = block % _P
        start += count
        column += count


def _group_coefficients(device, plan: ClaimPlan, coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The claims of a group share a point: their coefficients, times their selectors' weights, add up. (groups, 4)."""
    width = plan.selector_bits.shape[1]
    if width:
        factors = _selector_factors(plan, x)[:, plan.columns]
        coefficients = _products(device, np.concatenate((factors, coefficients[None])))
    sums = np.zeros((len(plan.locals) + len(plan.successors), EXT_DEGREE), dtype=np.uint64)
    np.add.at(sums, plan.groups, coefficients)
    return (sums % _P * np.uint64(pow(MONTY_ONE, width, P)) % _P).astype(np.uint32)


def _selector_factors(plan: ClaimPlan, x: np.ndarray) -> np.ndarray:
    """The factors of eq(selector bits, selector coordinates of x) of every column: (w, columns, 4) uint32."""
    tables = _padded([x[where] for where in plan.selectors], plan.selector_bits.shape[1])
    coordinates = tables[plan.selector_tables]
    # A bit of 1 takes the coordinate, a bit of 0 takes one minus it; the padding's zeros make that 1.
    complement = _P - coordinates
    complement[..., 0] += np.uint64(1)
    factors = np.where(plan.selector_bits[..., None], coordinates, complement % _P)
    return factors.transpose(1, 0, 2).astype(np.uint32)


def _products(device, factors: np.ndarray) -> np.ndarray:
    """The products down (m, j, 4) canonical uint32 factors, over 2^(32 (m - 1)): the kernel takes Montgomery words."""
    while (count := len(factors)) > 1:
        half = count // 2
        pairs = device.numpy(ext_mul(device, device.asarray(factors[:half]), device.asarray(factors[half : 2 * half])))
        factors = np.concatenate((pairs, factors[2 * half :])) if count % 2 else pairs
    return factors[0]


def _times_power_of_r(row: list[int], exponent: int) -> tuple:
    """A scalar times 2^(32 exponent); entries below 2^64."""
    factor = pow(MONTY_ONE, exponent, P)
    return tuple(entry * factor % P for entry in row)


def _padded(points: list, width: int) -> np.ndarray:
    """(len(points), width, 4) array, short points ended by zeros, since zero against zero is a factor of 1."""
    padded = np.zeros((len(points), width, EXT_DEGREE), dtype=np.uint64)
    for row, point in zip(padded, points):
        if len(point):
            row[: len(point)] = point
    return padded
