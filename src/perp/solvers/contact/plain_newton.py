"""Newton steps without a line search, with or without sweeps in between: fast near a solution.

Far from one they wander, which is what a search from many starts wants: a merit function would lead all of
them to the same wrong valley.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.solvers.contact.newton_system import newton_step
from perp.solvers.contact.residual import norm, residual_at
from perp.solvers.contact.sweep import WORKSPACE, sweep

# A residual beyond this is far from everything.
LOST = 1e8


@njit(cache=True, nogil=True, error_model="numpy")
def plain_newton(blocks, order, rho, sigma, sweep_count, x, tol, limit, rate, free):
    """Newton steps from x in place, each followed by `sweep_count` sweeps; x receives the best point.

    Args:
        blocks: The problem.
        order: What `elimination.eliminate` returned.
        rho: Scale of each constraint for choosing between open, stick and slip.
        sigma: Weight of the proximal term, relative to rho.
        sweep_count: Sweeps after each step.
        x: The start and the answer.
        tol: The residual to reach.
        limit: Steps at most.
        rate: Stop when a step does not lower the residual to this part of the last one; infinite to go on.
        free: How many steps may do that before it counts.

    Returns:
        The residual of x and the number of steps.
    """
    size = norm(blocks.q)
    u, dx, work, point = np.empty(x.size), np.zeros(x.size), np.zeros(WORKSPACE), x.copy()
    best = value = residual_at(blocks, x, u, size, work)
    steps = 0
    while steps < limit and best > tol:
        newton_step(blocks, order, rho, sigma, point, u, dx)
        steps += 1
        for i in range(x.size):
            point[i] += dx[i]
        for _ in range(sweep_count):
            sweep(blocks, point, work)
        new = residual_at(blocks, point, u, size, work)
        if new < best:
            best = new
            x[:] = point
        if not new < LOST or (steps > free and not new < rate * value):
            break
        value = new
    return best, steps
