"""The damped semismooth Newton iteration on a natural map, shared by minimum-map and boxed-newton.

F_i = ρ_i z_i − clip(ρ_i z_i − w_i, ρ_i lo_i, ρ_i hi_i) is piecewise affine: each step solves the piece at
hand exactly, a nonmonotone line search on ‖F‖ shortens it where it overshoots, and projected sweeps,
followed by the minimum on the face that they show, move on where no step length helps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from perp.problems import Status
from perp.problems.boxed_kernels import boxed_natural_map
from perp.problems.validation import Vector
from perp.solvers.active_set import classify, descend_to_face_minimum, minimise_on_face, solve_piece
from perp.solvers.attempt import Attempt, Control
from perp.solvers.boxed_rows import Rows
from perp.solvers.line_search import backtrack

STEPS = 500
# A step may be as bad as the worst of the last few: strictly falling merits crawl along kinks.
MEMORY = 5
# Shorter steps than 2⁻⁴ are not worth a factorisation: sweeps get further.
HALVINGS = 4
# Sweeps after a failed line search, doubled at each failure in a row.
FIRST_SWEEPS, LARGEST_SWEEPS = 8, 1024
# Sweeps that raise the merit by this factor are diverging: M is neither symmetric nor dominant.
RUNAWAY = 1e6
# Pieces solved one inside the other after those sweeps.
REDUCTIONS = 5
# Failures in a row that did not lower the best residual by this factor end the solve as stalled.
PATIENCE, PROGRESS = 30, 0.9


def newton_on_natural_map(
    rows: Rows, rho: Vector, control: Control, z: Vector, sweep: Callable[[Vector, int], None]
) -> Attempt:
    """Iterate from z until the shared residual is met.

    Args:
        rows: The problem row by row.
        rho: Scales ρ > 0 of the natural map, shape (n,).
        control: Stopping test.
        z: The start.
        sweep: Makes a number of projected sweeps in place.
    """
    w, F = np.empty(rows.size), np.empty(rows.size)

    def merit(point: Vector) -> float:
        rows.slack(point, w)
        boxed_natural_map(rows.lo, rows.hi, rows.limiting_row, rho, point, w, F)
        with np.errstate(over="ignore", invalid="ignore"):  # infinite is worse than anything: as it should be
            return float(np.linalg.norm(F))

    recent: deque[float] = deque([merit(z)], maxlen=MEMORY)
    sweeps, failures, swept, done = FIRST_SWEEPS, 0, 0, 0
    mark = np.inf
    while not control.check(done, z):
        if done >= control.limit(STEPS):
            control.reason = Status.ITERATION_LIMIT
            break
        if control.best < PROGRESS * mark:
            mark, failures, sweeps = control.best, 0, FIRST_SWEEPS
        merit(z)  # leaves w at z
        target = solve_piece(rows, classify(rows, z, w, rho), z)
        found = None if target is None else backtrack(merit, z, target - z, max(recent), halvings=HALVINGS)
        if found is not None:
            z, value = found
        else:
            failures += 1
            if failures > PATIENCE:
                control.reason = Status.STALLED
                break
            z = rows.clip(z)
            if target is not None and merit(rows.clip(target)) < merit(z):
                z = rows.clip(target)
            sweep(z, sweeps)
            swept += sweeps
            sweeps = min(2 * sweeps, LARGEST_SWEEPS)
            value = merit(z)
            if not value <= RUNAWAY * max(recent):
                control.reason = Status.STALLED  # sweeps fly apart here, and they were the last resort
                break
            reduced = minimise_on_face(rows, classify(rows, z, w, rho), z, merit, REDUCTIONS)
            if reduced is not None and reduced[1] < value:
                z, value = reduced
            elif rows.symmetric and not rows.follows:
                merit(z)
                z = descend_to_face_minimum(rows, classify(rows, z, w, rho), z, rows.size)
                value = merit(z)
            recent.clear()
        recent.append(value)
        done += 1
    return control.attempt(z, done, sweeps=swept)
