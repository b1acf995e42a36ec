"""The residual of an MCP: every row in its function's own size, every variable in its own.

A function has no q to be compared with, and its value far away may be of any size. Its size s_i is therefore
taken near the answer z: by how much f_i changes when the variables that are off their bounds change by as
much as they are from the box's point nearest 0 (d_j, which is 0 for a variable at a bound),

    s_i = |f_i| + min(|J_i d|, max |f_i(z ± η d) − f_i| / η),        η = 1e-4,

at least what the arithmetic can resolve, as far as differences confirm the Jacobian. |f_i| / s_i is then
about Newton's step relative to the variables.
The differences beside the derivative keep a pole, or a step that is steep within less than η, from passing
as a zero. A distance from a bound counts by what it changes in any function, and in the variable's unit:

    t_i = min(min_k s_k / |J_ki|, |bound_i|)       (min(1, hi_i − lo_i) for |bound_i| where the bound is 0)
    F_i = clip(f_i / s_i, (z_i − hi_i) / t_i, (z_i − lo_i) / t_i)       residual = max_i |F_i|

Where a function does not change on the way to a bound as its slope says, the change itself counts.

The residual stays as it is when a function is multiplied by a number. Changing the unit of a variable changes
it only where no function depends on the variable: there nothing but its unit tells what is near a bound.
"""

from typing import Any

import numpy as np

from perp.problems.mcp import MCP
from perp.problems.validation import Vector, freeze, is_sparse, row_blocks

# Relative change of the variables by which derivatives are confirmed: far above the tolerances that are asked
# for and the round-off of differences.
CONFIRMED = 1e-4


def mcp_map(problem: MCP, z: Vector, f: Vector) -> Vector:
    """The relative natural map F at a finite z with f = f(z), shape (n,): zero exactly at a solution."""
    below, above, relative = relative_parts(problem, z, f)
    return np.minimum(np.maximum(relative, -above), below)


def function_sizes(problem: MCP, z: Vector, f: Vector, J: Any) -> Vector:
    """The size s_i of each function near z, shape (n,)."""
    from perp.problems.mcp_kernels import own_sizes

    at_bound = (z == problem.lo) | (z == problem.hi)
    d = np.where(at_bound, 0.0, z - problem.nearest_zero)
    near = np.empty((2 if d.any() else 0, z.size))
    for k in range(near.shape[0]):
        near[k] = problem.evaluate(z + (CONFIRMED, -CONFIRMED)[k] * d)
    terms, total = _row_sums(J, np.abs(z))
    return own_sizes(freeze(f), J @ d, near, _around(problem, z), CONFIRMED, terms, total)


def _row_sums(J: Any, z: Vector) -> tuple[Vector, Vector]:
    """|J| z and Σ_j |J_ij|, shape (n,) each."""
    if is_sparse(J):
        size = abs(J)
        return size @ z, size @ np.ones(z.size)
    both = np.stack([z, np.ones(z.size)], axis=1)
    sums = np.empty((z.size, 2))
    for rows in row_blocks(z.size):
        sums[rows] = np.abs(J[rows]) @ both
    return np.ascontiguousarray(sums[:, 0]), np.ascontiguousarray(sums[:, 1])


def _around(problem: MCP, z: Vector) -> np.ndarray:
    """The functions near z for two patterns of signs, shape (4, n): what Σ |J_ij z_j| is by differences.

    A Jacobian that is wrong, or taken by steps that are too long for a variable, must not excuse anything.
    """
    signs = np.where((np.arange(z.size) * 2654435761 >> 16) & 1, 1.0, -1.0)  # fixed, without regularity
    found = np.empty((4, z.size))
    for k, change in enumerate((CONFIRMED, -CONFIRMED, CONFIRMED * signs, -CONFIRMED * signs)):
        found[k] = problem.evaluate(_within(z * (1.0 + change), problem))
    return found


def _within(z: Vector, problem: MCP) -> Vector:
    return np.minimum(np.maximum(z, problem.lo), problem.hi)


def at_its_bounds(problem: MCP, z: Vector, f: Vector) -> Vector:
    """The point z with every entry that F calls near a bound, and that f pushes there, moved onto it."""
    below, above, relative = relative_parts(problem, z, f)
    lower, upper = (f > 0) & (below < relative), (f < 0) & (above < -relative)
    return np.where(lower, problem.lo, np.where(upper, problem.hi, z))


def relative_parts(problem: MCP, z: Vector, f: Vector) -> tuple[Vector, Vector, Vector]:
    """Distance above the lower bound, below the upper one, and f, each in its own size, shape (n,) each."""
    from perp.problems.mcp_kernels import in_own_sizes

    key = z.tobytes()  # solver, verdict and the move onto bounds ask for the same in turn
    if problem.judged is None or problem.judged[0] != key:
        with np.errstate(all="ignore"):
            # outside of the box differences, which stay in it, would see nothing depend on a variable, and
            # what an exponential is there would excuse any distance
            inside = _within(z, problem)
            J = problem.derivative(inside)
            out = bool((inside != z).any())
            s = function_sizes(problem, inside, problem.evaluate(inside) if out else f, J)
            parts = in_own_sizes(freeze(z), freeze(f), s, problem.lo, problem.hi, _influence(J, s))
            parts = parts if out else _moved_there(problem, z, f, s, parts)
        problem.judged = (key, parts)
    return problem.judged[1]


def _moved_there(
    problem: MCP, z: Vector, f: Vector, s: Vector, parts: tuple[Vector, Vector, Vector]
) -> tuple[Vector, Vector, Vector]:
    """Distances from bounds by what functions change on the way there, where slopes at z do not tell.

    A function that is flat at z may turn its sign before the bound. One more evaluation, and only at points
    that would pass otherwise.
    """
    below, above, relative = parts
    lower, upper = (f > 0) & (below < relative), (f < 0) & (above < -relative)
    moved = np.where(lower, problem.lo, np.where(upper, problem.hi, z))
    value = np.abs(np.minimum(np.maximum(relative, -above), below)).max(initial=0.0)
    if not value <= CONFIRMED or (moved == z).all():
        return parts
    there = problem.evaluate(moved)
    change = np.where(s > 0.0, np.abs(there - f) / s, 0.0)
    # what pushes towards a bound may do so as much as it likes
    matters = np.isfinite(change) & np.where(lower, there < 0, np.where(upper, there > 0, True))
    largest = float(change[matters].max(initial=0.0))
    if largest <= 2.0 * (below[lower].sum() + above[upper].sum()):
        return parts
    return (
        np.where(lower, np.maximum(below, largest), below),
        np.where(upper, np.maximum(above, largest), above),
        relative,
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
    largest = np.zeros(s.size)
    for rows in row_blocks(s.size):
        changes = np.abs(J[rows]) * weight[rows, None]
        changes[~np.isfinite(changes)] = 0.0
        np.maximum(largest, changes.max(axis=0, initial=0.0), out=largest)
    return largest
