"""The problem of a step as a `ContactProblem`, for any solver and formulation of `perp.solve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ContactProblem, ProblemError, Sets
from perp.problems.sets import BOX, FREE, NONNEGATIVE
from perp.stepping.settings import StepSettings

if TYPE_CHECKING:
    from perp.stepping.world import World

# What a solver may leave of what the step is held to: its measure of that is another one.
_SHARE = 0.01


def problem_of(w: World) -> ContactProblem:
    """The problem of a world in dynamics form: mass, Jacobian, momentum, bias and compliance."""
    from scipy.sparse import block_diag, csr_array

    p = w.problem
    constraints, rows = (int(n) for n in p.count)
    entries, n = int(p.row_begin[rows]), p.velocity.size
    J = csr_array((p.value[:entries], p.column[:entries], p.row_begin[: rows + 1]), shape=(rows, n))
    size = np.diff(p.tree_start)
    blocks = [p.mass[p.mass_start[t] : p.mass_start[t + 1]].reshape(k, k) for t, k in enumerate(size) if k]
    mass = csr_array(block_diag(blocks, format="csr")) if blocks else np.zeros((0, 0))
    momentum = mass @ p.free_velocity
    bias = p.bias[:rows].copy()
    if not np.array_equal(p.left[:entries], p.value[:entries]):
        # rows taken at the end of the step: as much of them as the last velocities show
        L = csr_array((p.left[:entries], p.column[:entries], p.row_begin[: rows + 1]), shape=(rows, n))
        bias += L @ p.velocity - J @ p.velocity
    kind, parameters = p.kind[:constraints], p.parameter[:constraints].copy()
    # what earlier steps left where this one has no parameters
    parameters[(kind == FREE) | (kind == NONNEGATIVE)] = 0.0
    parameters[kind == BOX, 2:] = 0.0
    sets = Sets.from_arrays(kind, parameters, np.diff(p.start[: constraints + 1]))
    return ContactProblem.from_dynamics(mass, J, momentum, bias, sets, compliance=p.compliance[:rows])


def solve_by(settings: StepSettings, w: World) -> bool:
    """Solve the problem of a world by a solver of `perp.solve`; False where its numbers are no problem.

    Impulses, velocities and the verdict go into the world.
    """
    from perp.solvers import solve

    p = w.problem
    rows = int(p.count[1])
    try:
        problem = problem_of(w)
    except ProblemError:
        return False
    solution = solve(
        problem, settings.solver or "auto", formulation=settings.formulation, tol=_SHARE * settings.tolerance,
        start=p.impulse[:rows].copy(), throw=False, options=settings.solver_options,
        max_iterations=settings.solver_iterations,
    )  # fmt: skip
    p.impulse[:rows] = solution.impulse
    dynamics: Any = problem.dynamics
    p.velocity[:] = p.free_velocity + dynamics.mass_solver.solve(dynamics.jacobian.T @ p.impulse[:rows])
    p.row_velocity[:rows] = (
        dynamics.jacobian @ p.velocity + dynamics.bias + p.compliance[:rows] * p.impulse[:rows]
    )
    w.measure()
    w.solve_info[1:] = int(not solution.solved), solution.iterations, solution.iterations
    return True
