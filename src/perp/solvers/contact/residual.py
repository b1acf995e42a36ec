"""The residual of a contact problem in canonical form, for stopping compiled loops.

`solve` measures its own.
"""

from __future__ import annotations

import math

from numba import njit

from perp.problems.data_size import mobility_within
from perp.problems.law_kernels import friction_violation, relaxed_violation
from perp.problems.set_kernels import COULOMB, ELLIPTIC, ROLLING, project
from perp.solvers.contact.canonical import velocity
from perp.solvers.contact.cone import project_cone

# Γ multiplies the round-off of velocities by μ: beyond this the literature's figure says nothing.
STEEPEST = 1e3


@njit(cache=True, nogil=True)
def _violation(blocks, c, x, u, work):
    """Square of the violation of constraint c, as the shared residual measures it; rows 5 … 14 are used."""
    i, size, mu = blocks.start[c], blocks.start[c + 1] - blocks.start[c], blocks.mu[c]
    if mu < 0.0:
        d = mobility_within(blocks.low[c], blocks.high[c], blocks.d[c], blocks.size[c])
        return min(max(u[i], d * (x[i] - blocks.high[c])), d * (x[i] - blocks.low[c])) ** 2
    kind, a, b = COULOMB, mu, 0.0
    if size == 5:
        kind, b = ROLLING, blocks.mu_r[c]
    elif blocks.t1[c] != 1.0 or blocks.t2[c] != 1.0:
        kind, a, b = ELLIPTIC, mu * blocks.t1[c], mu * blocks.t2[c]
    # slices cost about as much as the law; copies of five numbers do not
    gap, y = work[5:10], work[10:15]
    if blocks.relaxed:
        relaxed_violation(kind, a, b, 0, size, blocks.d[c], 1.0, x[i : i + size], u[i : i + size], y, gap)
    else:
        friction_violation(kind, a, b, 0, size, blocks.d[c], 1.0, x[i : i + size], u[i : i + size], gap)
    total = 0.0
    for r in range(size):
        total += gap[r] * gap[r]
    return total


@njit(cache=True, nogil=True)
def _literature(blocks, c, x, u, work):
    """Square of the natural map with scale 1; rows 0 … 4 are used."""
    i, size, mu = blocks.start[c], blocks.start[c + 1] - blocks.start[c], blocks.mu[c]
    if max(mu, blocks.mu_r[c]) > STEEPEST:
        return 0.0
    if mu < 0.0:
        return (x[i] - min(max(x[i] - u[i], blocks.low[c]), blocks.high[c])) ** 2
    for r in range(size):
        work[r] = x[i + r] - u[i + r]
    tangent = math.hypot(blocks.t1[c] * u[i + 1], blocks.t2[c] * u[i + 2]) if size > 2 else abs(u[i + 1])
    rolling = math.hypot(u[i + 3], u[i + 4]) if size == 5 else 0.0
    if not blocks.relaxed:
        work[0] -= mu * tangent + max(blocks.mu_r[c], 0.0) * rolling
    if blocks.t1[c] != 1.0 or blocks.t2[c] != 1.0:
        project(ELLIPTIC, mu * blocks.t1[c], mu * blocks.t2[c], work, 0, 3, work)
    else:
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
