"""The shared residual of a packed contact problem, for stopping compiled loops; `solve` measures its own.

The law is that of `problems.law_kernels`, constraint by constraint, in the units of the problem as it was
given: an elliptic disc is brought back to its own axes.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.kernels.cone import disc_rows, length, project_cone
from perp.kernels.packed import velocity
from perp.problems.data_size import mobility_within
from perp.problems.law_kernels import friction_violation, relaxed_violation
from perp.problems.set_kernels import COULOMB, ELLIPTIC, ROLLING

MOST_ROWS = 6
# Γ multiplies the round-off of velocities by μ: beyond this the literature's figure says nothing.
STEEPEST = 1e3
# Numbers that a residual needs: a constraint's impulses, velocities, violation, a point, its parameters.
WORKSPACE = 5 * MOST_ROWS


@njit(cache=True, nogil=True)
def _violation(blocks, c, x, u, work):
    """Square of the violation of constraint c."""
    i, size, mu = blocks.start[c], blocks.start[c + 1] - blocks.start[c], blocks.mu[c]
    if mu < 0.0:
        d = mobility_within(blocks.low[c], blocks.high[c], blocks.d[c], blocks.size[c])
        return min(max(u[i], d * (x[i] - blocks.high[c])), d * (x[i] - blocks.low[c])) ** 2
    impulse, speed, gap, y, p = (
        work[:6], work[6:12], work[12:18], work[18:24], work[24:30]
    )  # fmt: skip
    p[:] = 0.0
    p[0], kind = mu, COULOMB
    if blocks.mu_r[c] >= 0.0:
        p[1], kind = blocks.mu_r[c], ROLLING
    else:
        for r in range(1, size):
            if blocks.stretch[i + r] != 1.0 or r > 2:
                kind = ELLIPTIC
    if kind == ELLIPTIC:
        for r in range(1, size):
            p[r - 1] = mu * blocks.stretch[i + r]
    for r in range(size):
        t = blocks.stretch[i + r] if kind == ELLIPTIC else 1.0
        impulse[r], speed[r] = t * x[i + r], u[i + r] / t
    if blocks.relaxed:
        relaxed_violation(kind, p, 0, size, blocks.d[c], 1.0, impulse, speed, y, gap)
    else:
        friction_violation(kind, p, 0, size, blocks.d[c], 1.0, impulse, speed, gap)
    total = 0.0
    for r in range(size):
        total += gap[r] * gap[r]
    return total


@njit(cache=True, nogil=True)
def _literature(blocks, c, x, u, work):
    """Square of the natural map with scale 1."""
    i, size, mu = blocks.start[c], blocks.start[c + 1] - blocks.start[c], blocks.mu[c]
    if max(mu, blocks.mu_r[c]) > STEEPEST:
        return 0.0
    if mu < 0.0:
        return (x[i] - min(max(x[i] - u[i], blocks.low[c]), blocks.high[c])) ** 2
    for r in range(size):
        work[r] = x[i + r] - u[i + r]
    if not blocks.relaxed:
        m = disc_rows(size, blocks.mu_r[c])
        work[0] -= mu * length(u, i + 1, i + 1 + m)
        if blocks.mu_r[c] >= 0.0:
            work[0] -= blocks.mu_r[c] * length(u, i + 3, i + 5)
    project_cone(size, mu, blocks.mu_r[c], work)
    total = 0.0
    for r in range(size):
        total += (x[i + r] - work[r]) ** 2
    return total


@njit(cache=True, nogil=True)
def relative_residual(blocks, x, u, size, work):
    """The larger of the residual that decides SOLVED and the literature's; `size` is ‖q‖ of the problem."""
    worst = literature = impulse = speed = 0.0
    for c in range(blocks.start.size - 1):
        value = _violation(blocks, c, x, u, work) / blocks.size[c] ** 2
        worst = value if not value <= worst else worst
        literature += _literature(blocks, c, x, u, work)
        for i in range(blocks.start[c], blocks.start[c + 1]):
            impulse += x[i] * x[i]
            speed += u[i] * u[i]
    largest = max(size, math.sqrt(max(impulse, speed)))
    return max(math.sqrt(worst), math.sqrt(literature) / (largest if largest > 0.0 else 1.0))


@njit(cache=True, nogil=True)
def violation_size(blocks, x, u, work):
    """Length of all violations together: smoother than the worst of them, for line searches."""
    total = 0.0
    for c in range(blocks.start.size - 1):
        total += _violation(blocks, c, x, u, work)
    return math.sqrt(total)


@njit(cache=True, nogil=True)
def norm(q):
    """Euclidean length."""
    total = 0.0
    for value in q:
        total += value * value
    return math.sqrt(total)


@njit(cache=True, nogil=True)
def residual_at(blocks, x, u, size, work):
    """Velocities at x into u, and the residual."""
    velocity(blocks, x, u)
    return relative_residual(blocks, x, u, size, work)


@njit(cache=True, nogil=True)
def workspace():
    """What the functions above take as `work`."""
    return np.zeros(WORKSPACE)
