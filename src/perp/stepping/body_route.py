"""The routes of `body_newton` and `body_implicit` for the stepper."""

from __future__ import annotations

import numpy as np

from perp.stepping.body_implicit import solve_implicit
from perp.stepping.body_newton import solve_step
from perp.stepping.outcome import Outcome
from perp.stepping.system import StepSystem

# Digits in hand: the error of reused impulses adds up from step to step.
WITHIN = (0.5, 0.1)
"""Shares of the tolerance to reach, for positions and velocities."""
FIRST_WEIGHT = 1e-6
# A Newton step here costs about as much as a pass over the rows: more of them than of the other routes, which
# take seconds for what a few hundred of these solve in milliseconds. A limit of a few is kept.
STEPS, _MOST_STEPS, _FEW = 2, 6, 10
# Impulses that lead nowhere: again from these shares of them, under these first weights. Systems with more
# rows go on to the other routes.
_AGAIN, _AGAIN_ROWS = ((0.5, FIRST_WEIGHT), (0.0, 0.1), (0.25, 1e-2), (0.9, 1e-3)), 3000
# The minimisation only has to find the directions; Newton's method goes on from there.
_DIRECTIONS = 1e-6


def solve_by_bodies(system: StepSystem, start: np.ndarray, limit: int) -> Outcome:
    """Solve a step from the impulses `start`, shape (rows,), with so many Newton steps at most."""
    if limit < _FEW:
        return _attempt(system, start, FIRST_WEIGHT, STEPS * limit)[0]
    outcome, unsolved = _attempt(system, start, FIRST_WEIGHT, _MOST_STEPS * limit)
    for share, weight in _AGAIN if unsolved and system.rows <= _AGAIN_ROWS else ():
        again, left = _attempt(system, share * start, weight, _MOST_STEPS * limit)
        outcome.iterations += again.iterations
        outcome.solver_iterations += again.solver_iterations
        if not left:
            again.iterations, again.solver_iterations = outcome.iterations, outcome.solver_iterations
            return again
    return outcome


def _attempt(system: StepSystem, start: np.ndarray, weight: float, steps: int) -> tuple[Outcome, int]:
    """The answer from these impulses with this first weight, and how many islands it leaves unsolved."""
    impulse, u = start.copy(), np.empty_like(system.predicted)
    bias, y, info = np.empty(system.rows), np.empty(system.rows), np.empty(4, dtype=np.int64)
    tolerance = system.settings.tolerance
    solve_step(
        system.frame, system.arrays, system.mass, WITHIN[0] * tolerance * system.length_scale,
        WITHIN[1] * tolerance * system.speed_scale, weight, steps, impulse, u, bias, y, info,
    )  # fmt: skip
    message = f"{info[3]} of {info[2]} islands unsolved after {info[0]} Newton steps" if info[3] else ""
    return Outcome(impulse, u, int(info[0]), int(info[1]), bias, message), int(info[3])


def solve_with_forces_of_the_end(
    system: StepSystem, start: np.ndarray, limit: int
) -> tuple[StepSystem, Outcome]:
    """The step with forces that act where it ends, and the system with these directions."""
    impulse, u, info = start.copy(), system.predicted.copy(), np.empty(2, dtype=np.int64)
    jacobian = solve_implicit(
        system.frame, system.arrays, system.mass, system.inverse, _DIRECTIONS * system.length_scale,
        _DIRECTIONS * system.speed_scale, limit, impulse, u, info,
    )  # fmt: skip
    aimed = system.directed(jacobian)
    outcome = solve_by_bodies(aimed, impulse, limit)
    outcome.iterations += int(info[0])
    outcome.solver_iterations += int(info[1])
    return aimed, outcome
