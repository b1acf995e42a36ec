"""The route of `body_newton` for the stepper."""

from __future__ import annotations

import numpy as np

from perp.stepping.body_newton import solve_step
from perp.stepping.outcome import Outcome
from perp.stepping.system import StepSystem

# Digits in hand: the error of reused impulses adds up from step to step.
WITHIN = (0.5, 0.1)
"""Shares of the tolerance to reach, for positions and velocities."""
FIRST_WEIGHT = 1e-6
# A Newton step here costs about as much as a pass over the rows: more of them than of the other routes.
STEPS = 2


def solve_by_bodies(system: StepSystem, start: np.ndarray, limit: int) -> Outcome:
    """Solve a step from the impulses `start`, shape (rows,), with so many Newton steps at most."""
    impulse, u = start.copy(), np.empty_like(system.predicted)
    bias, y, info = np.empty(system.rows), np.empty(system.rows), np.empty(4, dtype=np.int64)
    tolerance = system.settings.tolerance
    solve_step(
        system.frame, system.arrays, system.mass, WITHIN[0] * tolerance * system.length_scale,
        WITHIN[1] * tolerance * system.speed_scale, FIRST_WEIGHT, STEPS * limit, impulse,
        u, bias, y, info,
    )  # fmt: skip
    message = f"{info[3]} of {info[2]} islands unsolved after {info[0]} Newton steps" if info[3] else ""
    return Outcome(impulse, u, int(info[0]), int(info[1]), bias, message)
