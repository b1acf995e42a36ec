"""The problem of a step as a `ContactProblem`, for any solver and formulation of `perp.solve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import (
    Box,
    ContactProblem,
    Coulomb,
    Elliptic,
    Free,
    Nonnegative,
    ProblemError,
    Sets,
    SolverMismatch,
    Status,
)
from perp.problems.sets import BOX, FREE, NONNEGATIVE
from perp.stepping import verdict as end
from perp.stepping.settings import StepSettings

if TYPE_CHECKING:
    from perp.dynamics.state import State
    from perp.stepping.record import StepRecord
    from perp.stepping.stepper import Stepper
    from perp.stepping.world import World

# What a solver may leave of what the step is held to: its measure of that is another one.
_SHARE = 0.01


def problem_of(w: World) -> ContactProblem:
    """The problem of a world in dynamics form: mass, Jacobian, momentum, bias and compliance."""
    from scipy.sparse import block_diag, csr_array

    p = w.problem
    constraints, rows = (int(n) for n in p.count[:2])
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


def solve_by(settings: StepSettings, w: World) -> float | None:
    """Solve the problem of a world by a solver of `perp.solve`; impulses, velocities, verdict go into it.

    Returns:
        How well a relaxation (box, pyramid, dual) solved its own problem, which is then what the step is held
        to; None where the law itself was solved.
    """
    from perp.solvers import solve

    p = w.problem
    rows = int(p.count[1])
    w.solve_info[1] = 1
    try:
        problem = problem_of(w)
    except ProblemError:  # its numbers are no problem
        return None
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
    # a relaxation that stopped short of what it was asked for may still be within what the step is held to
    relaxed = solution.status in (Status.RELAXED, Status.APPROXIMATE) or "own_residual" in solution.info
    own = float(solution.info.get("own_residual", np.inf)) if relaxed and not solution.solved else None
    missed = not solution.solved if own is None else own > settings.tolerance
    w.solve_info[1:] = int(missed), solution.iterations, solution.iterations
    return own


def judge_as_itself(stepper: Stepper, record: StepRecord, own_residual: float) -> None:
    """Hold a step by a relaxation to that one, not to Coulomb's law.

    Args:
        stepper: After the step.
        record: Of the step; gets its own residual.
        own_residual: Of the problem that was solved.
    """
    w, record.own_residual = stepper.world, own_residual
    if w.info[end.CAUSE] not in (1, 2) or w.info[end.UNSOLVED]:
        return
    size = float(stepper.model.size)
    open_by = end.OVERLAP_ALLOWED if stepper.settings.at_end[0] else end.OPEN_ALLOWED
    w.info[end.CAUSE] = 0
    if w.figure[end.EXCESS] > end.OVERLAP_ALLOWED * size:
        w.info[end.CAUSE] = 3
    elif w.figure[end.OPEN] > open_by * size:
        w.info[end.CAUSE] = 4
    elif w.figure[end.GAINED] > 0.0:
        w.info[end.CAUSE] = 5


def check_pair(stepper: Stepper, state: State, h: float) -> None:
    """Refuse a solver or formulation that cannot take what the steps of a scene will bring.

    Looked at are the joints and motors of the first step and every kind of contact that the shapes allow.

    Raises:
        UnknownSolver: There is no formulation of this name.
        SolverMismatch: The solver does not take such a problem, or not in this formulation.
    """
    from perp.solvers.registry import find, mismatch
    from perp.solvers.routes import find_route

    settings = stepper.settings
    if settings.solver is None:
        return
    stepper.begin(state, h, np.zeros((stepper.model.body_count, 6)))
    present = stepper.contact_problem().sets.kind
    m = stepper.mujoco_model
    colliding = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    dimensions = sorted({int(n) for n in m.geom_condim[colliding]} | {int(n) for n in m.pair_dim})
    known = {FREE: Free(), NONNEGATIVE: Nonnegative(), BOX: Box(-1.0, 1.0)}
    sets: list[Any] = [known[kind] for kind in known if (present == kind).any()]
    sets += [
        Nonnegative() if n == 1 else Coulomb(0.5) if n == 3 else Elliptic(*[0.5] * (n - 1))
        for n in dimensions
    ]
    rows = sum(one.dimension for one in sets)
    if not rows:
        return
    info = find(settings.solver)
    probe = ContactProblem.from_dynamics(np.eye(rows), np.eye(rows), -np.ones(rows), 0.0, sets)
    route = find_route(probe, info, settings.formulation, advise=True)
    if route is not None:
        if issubclass(route.target, ContactProblem):
            raise SolverMismatch(f"{settings.formulation} leads back to a contact problem: leave that out")
        turned = route.build(probe)
        objection = info.objection(turned.problem)
        if objection is not None:
            raise mismatch(info, probe, f"as {route.name}, {objection}")
    if settings.at_end[1] and (settings.formulation or "").startswith("anitescu-potra"):
        raise SolverMismatch(
            "anitescu-potra leaves gaps out, which position level is about: take level='velocity', or "
            "{'contacts': 'velocity'}"
        )
