"""Newton's method in the velocities of bodies and trees: the solver of the time step for those with a mass.

A problem in dynamics form whose mass falls into small groups (bodies, trees of joints) is solved island by
island in the velocities of these groups, under a proximal weight that adapts, and along the central path of
exact friction where steps wander: see `kernels.tree_newton`. Redundant contacts cost nothing and W is never
formed. A step costs one pass over J and an elimination over the groups.

Reference: Alart and Curnier (1991); Acary, Brémond and Huber (2018), section 6; see `kernels.tree_path`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ContactProblem, Status
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

if TYPE_CHECKING:
    from perp.kernels.tree_problem import TreeProblem

# Newton steps that an island may take.
STEPS = 100
# Freedoms of a group at most: its block is dense.
LARGEST_GROUP = 200
# What is left to do for the shared test, whose mobilities are others; where it misses it is made sharper.
MARGIN, SHARPER = 0.1, 4


def _refuses(problem: ContactProblem) -> str | None:
    dynamics = problem.dynamics
    if dynamics is None:
        return "it has W, and velocities of bodies need a mass and a Jacobian"
    if problem.relaxed:
        return "it is relaxed"
    if np.bincount(_groups(dynamics.mass)).max(initial=0) > LARGEST_GROUP:
        return f"its mass couples more than {LARGEST_GROUP} freedoms"
    J: Any = dynamics.jacobian
    touched = np.diff(J.indptr) if is_sparse(J) else (J != 0).sum(axis=1)
    if problem.size and not np.add.reduceat(touched, problem.sets.start[:-1]).all():
        return "a constraint moves nothing"
    return None


@register(
    "tree-newton",
    takes=ContactProblem,
    summary="Newton in the velocities of bodies and trees, as the time step has it; exact friction, a mass",
    refuses=_refuses,
)
def tree_newton(problem: ContactProblem, control: Control, options: object) -> Attempt:
    """Solve a contact problem in dynamics form; iterations count Newton steps of all islands."""
    from perp.kernels.tree_newton import EXACT, solve_trees
    from perp.kernels.tree_workspace import tree_workspace

    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    start = control.begin(problem.size)
    if control.check(0, start):
        return control.attempt(start, 0)
    trees = tree_problem_of(problem)
    size = MARGIN * control.tol * problem.data_size
    length = np.repeat(problem.rolling_length, problem.sets.dimension)
    angular = np.arange(problem.size) - np.repeat(problem.sets.normal_rows, problem.sets.dimension) >= 3
    trees.unit[:] = np.repeat(size, problem.sets.dimension) / np.where(angular, length, 1.0)
    trees.impulse[:] = start
    workspace, info, worst, steps = tree_workspace(trees), np.zeros(4, np.int64), np.zeros(1), 0
    for _ in range(SHARPER):
        solve_trees(trees.struct, workspace, control.limit(STEPS), EXACT, info, worst)
        steps += int(info[3])
        if control.check(steps, trees.impulse) or info[1]:
            break
        trees.unit *= MARGIN
    if control.best > control.tol and control.reason is None:
        control.reason = Status.STALLED
    return control.attempt(trees.impulse.copy(), steps, islands=int(info[0]))


def _groups(mass: Any) -> np.ndarray:
    """Which group of coupled freedoms each freedom belongs to."""
    if mass.ndim == 3:
        return np.repeat(np.arange(mass.shape[0]), mass.shape[1])
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    found: Any = connected_components(csr_array(mass), directed=False)
    return found[1].astype(np.int64)


def tree_problem_of(problem: ContactProblem) -> TreeProblem:
    """The structs of flat arrays of a problem in dynamics form, without tolerances and start."""
    from scipy.sparse import csr_array

    from perp.kernels.tree_problem import TreeProblem

    dynamics: Any = problem.dynamics
    sets, group = problem.sets, _groups(dynamics.mass)
    order = np.argsort(group, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    size = np.bincount(group)
    # all rows of a constraint have the columns that one of them has
    J: Any = csr_array(dynamics.jacobian).tocoo()
    owner = np.repeat(np.arange(sets.count), sets.dimension)
    key = np.unique(owner[J.row] * order.size + place[J.col])
    begin = np.searchsorted(key, np.arange(sets.count + 1) * order.size)
    width = np.diff(begin)
    row_width = np.repeat(width, sets.dimension)
    row_begin = np.concatenate([[0], np.cumsum(row_width)])
    out = TreeProblem(size, sets.count, problem.size, int(row_begin[-1]))
    out.count[:2] = sets.count, problem.size
    out.kind[:], out.start[:], out.parameter[:] = sets.kind, sets.start, sets.parameters
    out.row_begin[:] = row_begin
    within = np.arange(row_begin[-1]) - np.repeat(row_begin[:-1], row_width)
    out.column[:] = key[np.repeat(begin[owner], row_width) + within] % max(order.size, 1)
    entry = np.searchsorted(key, owner[J.row] * order.size + place[J.col]) - begin[owner[J.row]]
    np.add.at(out.value, row_begin[J.row] + entry, J.data)
    out.left[:] = out.value
    M: Any = dynamics.mass_rows.tocoo()
    first = out.tree_start[group[M.row]]
    at = out.mass_start[group[M.row]] + (place[M.row] - first) * size[group[M.row]] + place[M.col] - first
    np.add.at(out.mass, at, M.data)
    out.free_velocity[:] = _free_velocity(dynamics)[order]
    out.bias[:], out.compliance[:] = dynamics.bias, dynamics.compliance
    return out


def _free_velocity(dynamics: Any) -> Vector:
    return dynamics.mass_solver.solve(dynamics.momentum)
