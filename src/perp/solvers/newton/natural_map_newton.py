"""The damped semismooth Newton iteration on a natural map, shared by minimum-map and boxed-newton.

F_i = ρ_i z_i − clip(ρ_i z_i − w_i, ρ_i lo_i, ρ_i hi_i) is piecewise affine: each step solves the piece at
hand exactly, a nonmonotone line search on ‖F‖ shortens it where it overshoots, and projected sweeps move on
where no step length helps.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from perp.problems import LCP, BoxedLCP, ContactProblem, Status
from perp.problems.boxed_kernels import boxed_natural_map
from perp.problems.validation import Vector
from perp.solvers.active_set import classify, solve_piece
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import Rows
from perp.solvers.line_search import backtrack
from perp.solvers.projection.sweeps import Sweeper

STEPS = 500
# A step may be as bad as the worst of the last few: strictly falling merits crawl along kinks.
MEMORY = 5
# Sweeps after a failed line search, doubled at each failure in a row.
FIRST_SWEEPS, LARGEST_SWEEPS = 8, 512
# Failures in a row that did not lower the best residual by this factor end the solve as stalled.
PATIENCE, PROGRESS = 30, 0.9


def newton_on_natural_map(
    problem: LCP | BoxedLCP | ContactProblem, rows: Rows, rho: Vector, control: Control, z: Vector
) -> Attempt:
    """Iterate from z until the shared residual is met.

    Args:
        problem: What the sweeps run on.
        rows: The same problem row by row.
        rho: Scales ρ > 0 of the natural map, shape (n,).
        control: Stopping test.
        z: The start.
    """
    w, F = np.empty(rows.size), np.empty(rows.size)

    def merit(point: Vector) -> float:
        rows.slack(point, w)
        boxed_natural_map(rows.lo, rows.hi, rows.limiting_row, rho, point, w, F)
        return float(np.linalg.norm(F))

    sweeper: Sweeper | None = None
    recent: deque[float] = deque([merit(z)], maxlen=MEMORY)
    sweeps, failures, swept, done = FIRST_SWEEPS, 0, 0, 0
    mark = np.inf
    while not control.check(done, z):
        if done >= control.limit(STEPS):
            control.reason = Status.ITERATION_LIMIT
            break
        if control.best < PROGRESS * mark:
            mark, failures = control.best, 0
        merit(z)  # leaves w at z
        target = solve_piece(rows, classify(rows, z, w, rho), z)
        found = None if target is None else backtrack(merit, z, target - z, max(recent))
        if found is not None:
            z, value = found
            sweeps = FIRST_SWEEPS
        else:
            failures += 1
            if failures > PATIENCE:
                control.reason = Status.STALLED
                break
            sweeper = sweeper or Sweeper(problem)
            z = rows.clip(z if target is None else _better(merit, z, rows.clip(target)))
            sweeper.sweep(z, sweeps)
            swept += sweeps
            sweeps = min(2 * sweeps, LARGEST_SWEEPS)
            value = merit(z)
            recent.clear()
        recent.append(value)
        done += 1
    return control.attempt(z, done, sweeps=swept)


def _better(merit: object, first: Vector, second: Vector) -> Vector:
    return second if merit(second) < merit(first) else first  # type: ignore[operator]
