"""Newton steps without a line search, with or without sweeps in between: fast near a solution.

Far from one they wander, which is what a search from many starts wants: a merit function would lead all of
them to the same wrong valley.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.newton_step import newton_step
from perp.kernels.packed import view
from perp.kernels.residual import norm, residual_at, workspace
from perp.kernels.sweep import sweep

# A residual beyond this is far from everything.
LOST = 1e8


class Steps(NamedTuple):
    """How to take plain Newton steps.

    Attributes:
        tol: The residual to reach.
        limit: Steps at most.
        weight: Weight of the proximal term, relative to rho.
        scale: Factor on rho.
        sweeps: Sweeps after each step.
        rate: Stop when a step does not lower the residual to this part of the last one; infinite to go on.
        free: How many steps may do that before it counts.
    """

    tol: float
    limit: int
    weight: float
    scale: float = 1.0
    sweeps: int = 0
    rate: float = math.inf
    free: int = 0


@kernel(nogil=True, error_model="numpy")
def newton_steps(blocks, order, rho, x, steps):
    """Newton steps from x in place, which receives the best point.

    Args:
        blocks: The problem.
        order: Of elimination, `Packed.order`.
        rho: Scale of each constraint for choosing between open, stick and slip.
        x: The start and the answer.
        steps: A `Steps`.

    Returns:
        The residual of x and the number of steps.
    """
    size = norm(blocks.q)
    u, dx, work, point, d = np.empty(x.size), np.zeros(x.size), workspace(), x.copy(), steps.scale * rho
    best = value = residual_at(blocks, x, u, size, work)
    done = 0
    while done < steps.limit and best > steps.tol:
        newton_step(blocks, order, d, steps.weight, point, u, dx)
        done += 1
        for i in range(x.size):
            point[i] += dx[i]
        for _ in range(steps.sweeps):
            sweep(blocks, point, work)
        new = residual_at(blocks, point, u, size, work)
        if new < best:
            best = new
            x[:] = point
        if not new < LOST or (done > steps.free and not new < steps.rate * value):
            break
        value = new
    return best, done


@kernel(nogil=True, error_model="numpy")
def plain_newton(packed, order, rho, x, steps):
    """`newton_steps` of a packed problem."""
    return newton_steps(view(packed), order, rho, x, steps)
