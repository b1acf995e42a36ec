"""The shared residual of a packed contact problem, for stopping compiled loops; `solve` measures its own.

The law is that of `problems.law_kernels`, constraint by constraint, in the units of the problem as it was
given: an elliptic disc is brought back to its own axes.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.borrowed import borrowed
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


@part
def _row_violation(blocks, c, x, u):
    """Square of the violation of scalar row c."""
    i = blocks.start[c]
    d = mobility_within(blocks.low[c], blocks.high[c], blocks.d[c], blocks.size[c])
    return min(max(u[i], d * (x[i] - blocks.high[c])), d * (x[i] - blocks.low[c])) ** 2


@part
def _violation(mu, mu_r, stretch, d, relaxed, x, u, work):
    """Square of the violation of a contact with impulses x and velocities u."""
    size = x.size
    gap, y, p = work[12:18], work[18:24], work[24:30]
    p[:] = 0.0
    p[0], kind = mu, COULOMB
    if mu_r >= 0.0:
        p[1], kind = mu_r, ROLLING
    else:
        for r in range(1, size):
            if stretch[r] != 1.0 or r > 2:
                kind = ELLIPTIC
    if kind == ELLIPTIC:
        impulse, speed = work[:6], work[6:12]
        impulse[0], speed[0] = x[0], u[0]
        for r in range(1, size):
            t = stretch[r]
            p[r - 1] = mu * t
            impulse[r], speed[r] = t * x[r], u[r] / t
        x, u = impulse, speed
    if relaxed:
        relaxed_violation(kind, p, 0, size, d, 1.0, x, u, y, gap)
    else:
        friction_violation(kind, p, 0, size, d, 1.0, x, u, gap)
    total = 0.0
    for r in range(size):
        total += gap[r] * gap[r]
    return total


@part
def _literature(mu, mu_r, relaxed, x, u, work):
    """Square of the natural map of a contact with scale 1."""
    size = x.size
    if max(mu, mu_r) > STEEPEST:
        return 0.0
    for r in range(size):
        work[r] = x[r] - u[r]
    if not relaxed:
        work[0] -= mu * length(u, 1, 1 + disc_rows(size, mu_r))
        if mu_r >= 0.0:
            work[0] -= mu_r * length(u, 3, 5)
    project_cone(size, mu, mu_r, work)
    total = 0.0
    for r in range(size):
        total += (x[r] - work[r]) ** 2
    return total


@part
def relative_residual(blocks, x, u, size, work):
    """The larger of the residual that decides SOLVED and the literature's; `size` is ‖q‖ of the problem."""
    start, mu, mu_r, stretch, d = blocks.start, blocks.mu, blocks.mu_r, blocks.stretch, blocks.d
    x, u, work = borrowed(x), borrowed(u), borrowed(work)
    worst = literature = impulse = speed = 0.0
    for c in range(start.size - 1):
        i, end = start[c], start[c + 1]
        if mu[c] < 0.0:
            value = _row_violation(blocks, c, x, u)
            literature += (x[i] - min(max(x[i] - u[i], blocks.low[c]), blocks.high[c])) ** 2
        else:
            X, U = x[i:end], u[i:end]
            value = _violation(mu[c], mu_r[c], stretch[i:end], d[c], blocks.relaxed, X, U, work)
            literature += _literature(mu[c], mu_r[c], blocks.relaxed, X, U, work)
        value /= blocks.size[c] ** 2
        worst = value if not value <= worst else worst
        for k in range(i, end):
            impulse += x[k] * x[k]
            speed += u[k] * u[k]
    largest = max(size, math.sqrt(max(impulse, speed)))
    return max(math.sqrt(worst), math.sqrt(literature) / (largest if largest > 0.0 else 1.0))


@part
def norm(q):
    """Euclidean length."""
    total = 0.0
    for value in q:
        total += value * value
    return math.sqrt(total)


@part
def residual_at(blocks, x, u, size, work):
    """Velocities at x into u, and the residual."""
    velocity(blocks, x, u)
    return relative_residual(blocks, x, u, size, work)


@part
def workspace():
    """What the functions above take as `work`."""
    return np.zeros(WORKSPACE)
