"""The residual of an MCP: every row in its function's own size, every variable in its own.

A function has no q to be compared with, and its value far away may be of any size. Its size s_i is therefore
taken near the answer z: by how much f_i changes when the variables that are off their bounds change by as
much as they are from the box's point nearest 0 (d_j, which is 0 for a variable at a bound),

    s_i = |f_i| + min(|J_i d|, max |f_i(z ± η d) − f_i| / η),        η = 1e-4,

at least what the arithmetic can resolve, as far as differences confirm the Jacobian. |f_i| / s_i is then
about Newton's step relative to the variables.
The differences beside the derivative keep a pole, or a step that is steep within less than η, from passing
as a zero. A distance from a bound counts by what it changes in any function, and in the variable's unit:

    t_i = min(min_k s_k / |J_ki|, max(1, |bound_i|))
    F_i = clip(f_i / s_i, (z_i − hi_i) / t_i, (z_i − lo_i) / t_i)       residual = max_i |F_i|

The residual stays as it is when a function is multiplied by a number. Changing the unit of a variable changes
it only where no function depends on the variable: there nothing but its unit tells what is near a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems.mcp import MCP
from perp.problems.validation import Vector, is_sparse

# Relative change of the variables by which derivatives are confirmed: far above the tolerances that are asked
# for and the round-off of differences.
CONFIRMED = 1e-4
# Fractions of Σ|J_ij z_j| and Σ|J_ij| below which a size means nothing: 1e-8 of the first is about 50 units
# of round-off; the second lets a zero be a zero where all terms of a row vanish.
RESOLVED, ZERO = 1e-6, 1e-14


def mcp_map(problem: MCP, z: Vector, f: Vector) -> Vector:
    """The relative natural map F, shape (n,): zero exactly at a solution.

    Args:
        problem: The problem.
        z: The answer, finite, shape (n,).
        f: Its f(z), finite, shape (n,).
    """
    below, above, relative = relative_parts(problem, z, f)
    return np.minimum(np.maximum(relative, -above), below)


def function_sizes(problem: MCP, z: Vector, f: Vector, J: Any) -> Vector:
    """The size s_i of each function near z, shape (n,)."""
    at_bound = (z == problem.lo) | (z == problem.hi)
    d = np.where(at_bound, 0.0, z - problem.nearest_zero)
    by_slope = np.abs(J @ d)
    by_difference = np.zeros(problem.size)
    if d.any():
        for sign in (-CONFIRMED, CONFIRMED):
            change = np.abs(problem.evaluate(z + sign * d) - f) / CONFIRMED
            by_difference = np.maximum(by_difference, np.where(np.isfinite(change), change, 0.0))
    s = np.abs(f) + np.where(np.isfinite(by_slope), np.minimum(by_slope, by_difference), 0.0)
    size = abs(J)
    round_off = np.minimum(size @ np.abs(z), 10.0 * _changes_of_terms(problem, z, f))
    least = np.maximum(RESOLVED * round_off, ZERO * np.asarray(size.sum(axis=1)).ravel())
    return np.where(np.isfinite(least), np.maximum(s, least), s)


def _changes_of_terms(problem: MCP, z: Vector, f: Vector) -> Vector:
    """What Σ |J_ij z_j| is by differences: the largest change of each f for two patterns of signs.

    A Jacobian that is wrong, or taken by steps that are too long for a variable, must not excuse anything.
    """
    largest = np.zeros(z.size)
    signs = np.where((np.arange(z.size) * 2654435761 >> 16) & 1, 1.0, -1.0)  # fixed, without regularity
    for pattern in (np.ones(z.size), signs):
        for way in (CONFIRMED, -CONFIRMED):
            moved = np.clip(z * (1.0 + way * pattern), problem.lo, problem.hi)
            change = np.abs(problem.evaluate(moved) - f) / CONFIRMED
            largest = np.maximum(largest, np.where(np.isfinite(change), change, 0.0))
    return largest


def at_its_bounds(problem: MCP, z: Vector, f: Vector) -> Vector:
    """The point z with every entry that F calls near a bound, and that f pushes there, moved onto it."""
    below, above, relative = relative_parts(problem, z, f)
    lower, upper = (f > 0) & (below < relative), (f < 0) & (above < -relative)
    return np.where(lower, problem.lo, np.where(upper, problem.hi, z))


def relative_parts(problem: MCP, z: Vector, f: Vector) -> tuple[Vector, Vector, Vector]:
    """Distance above the lower bound, below the upper one, and f, each in its own size, shape (n,) each."""
    with np.errstate(all="ignore"):
        J = problem.derivative(z)
        s = function_sizes(problem, z, f, J)
        influence = _influence(J, s)
        return (
            _in_own_size(z - problem.lo, problem.lo, influence),
            _in_own_size(problem.hi - z, problem.hi, influence),
            np.where(f == 0.0, 0.0, f / s),
        )


def mcp_parts(problem: MCP, z: Vector, f: Vector) -> tuple[float, float, float, float]:
    """What `Residuals` calls primal, dual and complementarity, and the literature's ‖z − P(z − f)‖₂.

    The first three are the largest relative distance from the box, the largest relative f that no bound
    excuses, and the largest product of both; the last depends on units.
    """
    below, above, relative = relative_parts(problem, z, f)
    with np.errstate(all="ignore"):
        unexcused = np.where(np.isinf(below), np.maximum(relative, 0.0), 0.0) + np.where(
            np.isinf(above), np.maximum(-relative, 0.0), 0.0
        )
        products = np.where(relative > 0, relative * np.abs(below), -relative * np.abs(above))
        products = np.where(np.isfinite(products), products, 0.0)
        natural = z - np.clip(z - f, problem.lo, problem.hi)
        outside = np.maximum(np.maximum(-below, -above), 0.0)
    parts = [float(x.max(initial=0.0)) for x in (outside, unexcused, products)]
    return parts[0], parts[1], parts[2], float(np.linalg.norm(natural))


def _influence(J: Any, s: Vector) -> Vector:
    """The largest relative change of any function per unit of each variable, shape (n,)."""
    weight = np.where(s > 0.0, 1.0 / s, 0.0)
    if is_sparse(J):
        largest = np.zeros(s.size)
        changes = np.abs(J.data) * np.repeat(weight, np.diff(J.indptr))
        np.maximum.at(largest, J.indices, np.where(np.isfinite(changes), changes, 0.0))
        return largest
    changes = np.abs(J) * weight[:, None]
    return np.where(np.isfinite(changes), changes, 0.0).max(axis=0, initial=0.0)


def _in_own_size(distance: Vector, bound: Vector, influence: Vector) -> Vector:
    """A signed distance from a bound (infinite where there is none) over the size of its variable."""
    unit = np.where(np.isfinite(bound), np.maximum(1.0, np.abs(bound)), 1.0)
    return np.where(distance == 0.0, 0.0, distance * np.maximum(influence, 1.0 / unit))
