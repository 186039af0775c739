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
from whir_mlx.field.numpy_field import to_montgomery
from whir_mlx.kernels.ext_arithmetic import ext_mul
from whir_mlx.kernels.point_weights import point_weights
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.multilinear import ZERO, add, eq_at, expand, mul, next_at, powers
from whir_mlx.protocol.verifier_plan import ClaimPlan

__all__ = ["Expansion", "InitialConstraint", "RoundConstraint", "combined_values", "weights_at"]

_P = np.uint64(P)


@dataclass(frozen=True)
class Expansion:
    """The point (y^(2^(v-1)), ..., y^4, y^2, y) of a challenge y, a scalar."""

    challenge: tuple
    num_variables: int

    def point(self) -> list[tuple]:
        """Its v scalars."""
        return expand(self.challenge, self.num_variables)


@dataclass(eq=False)
class InitialConstraint:
    """The claims before the WHIR run, combined with alpha^0, alpha^1, ...

    `batch_points`: per batch in flat order, its local point, drawn or given (as scalars); `ood_points`: of n variables,
    they follow the column claims; `values`: parts of the (c + s, 4) canonical values, in the order of the exponents.
    """

    batch_points: list[Expansion | list[tuple]]
    ood_points: list[Expansion]
    challenge: tuple
    values: list[np.ndarray]


@dataclass(eq=False)
class RoundConstraint:
    """The claims of one round on a polynomial of v variables, combined with gamma^1, gamma^2, ...

    `ood_points`: of v variables; `query_points`: (q,) canonical uint64, which follow; `values`: parts of the
    (s + q, 4) canonical values, in that order. gamma^0 is the coefficient of the claim carried so far.
    """

    num_variables: int
    ood_points: list[Expansion]
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
    n, suffix = layout.num_variables, layout.order == "suffix"
    drawn = np.array(challenges, dtype=np.uint64).reshape(n, EXT_DEGREE)
    x = drawn[::-1] if suffix else drawn
    num_batches, num_claims = len(initial.batch_points), len(plan.values)
    groups = _group_coefficients(device, plan, coefficients[:num_claims], x)
    given = [k for k, point in enumerate(initial.batch_points) if not isinstance(point, Expansion)]
    known = [k for k in range(num_batches) if k not in given]
    # One row for each weight but those of given points: the batches', the samples', round by round samples and queries.
    y = [initial.batch_points[k].challenge for k in known] + [point.challenge for point in initial.ood_points]
    shapes = [(initial.batch_points[k].num_variables, plan.locals[k].start, 0) for k in known]
    shapes.append((n, 0, 0))
    counts = [1] * len(known) + [len(initial.ood_points)]
    parts = [np.array(y, dtype=np.uint32).reshape(-1, EXT_DEGREE)]
    for constraint in rounds:
        v = constraint.num_variables
        first = 0 if suffix else n - v
        shapes += [(v, first, 0), (v, first, 1)]
        counts += [len(constraint.ood_points), len(constraint.query_points)]
        parts.append(np.array([point.challenge for point in constraint.ood_points], np.uint32).reshape(-1, EXT_DEGREE))
        lifted = np.zeros((len(constraint.query_points), EXT_DEGREE), dtype=np.uint32)
        lifted[:, 0] = constraint.query_points
        parts.append(lifted)
    total = ZERO
    if any(counts):
        # Canonical factors: so is what comes back.
        factors = np.concatenate((groups[known], coefficients[num_claims:]))
        words = to_montgomery(np.concatenate((x.astype(np.uint32), *parts)))
        arrays = [device.asarray(array) for array in (words[:n], words[n:], factors)]
        weights = device.numpy(point_weights(device, *arrays, shapes=np.repeat(np.array(shapes), counts, axis=0)))
        total = tuple(entry % P for entry in weights.sum(axis=0, dtype=np.uint64).tolist())
    local = [[tuple(row) for row in x[where].tolist()] for where in plan.locals]
    for k in given:
        total = add(total, mul(tuple(groups[k].tolist()), eq_at(initial.batch_points[k], local[k])))
    for k, group in zip(plan.successors, groups[num_batches:].tolist()):
        point = initial.batch_points[k]
        point = point.point() if isinstance(point, Expansion) else point
        total = add(total, mul(tuple(group), next_at(point, local[k])))
    return total


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
    """(len(points), width, 4) array, short points ended by zeros."""
    padded = np.zeros((len(points), width, EXT_DEGREE), dtype=np.uint64)
    for row, point in zip(padded, points):
        row[: len(point)] = point
    return padded
