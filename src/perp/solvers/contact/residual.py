"""The residual of a contact problem in canonical form, for stopping compiled loops.

`solve` measures its own.
"""

from __future__ import annotations

import math

from numba import njit

from perp.problems.set_kernels import ELLIPTIC, project
from perp.solvers.contact.canonical import velocity
from perp.solvers.contact.cone import project_cone


@njit(cache=True, nogil=True)
def residual_parts(blocks, x, u, work):
    """Squares of the natural map with the scales d, of the one with scale 1, and of x and u.

    The first is what decides SOLVED, the second is the literature's.
    """
    start, low, high, mu, mu_r, d = (
        blocks.start, blocks.low, blocks.high, blocks.mu, blocks.mu_r, blocks.d
    )  # fmt: skip
    natural = literature = impulse = speed = 0.0
    for c in range(start.size - 1):
        i, size = start[c], start[c + 1] - start[c]
        for r in range(size):
            impulse += x[i + r] * x[i + r]
            speed += u[i + r] * u[i + r]
        for scaled in range(2):
            s = d[c] if scaled == 1 else 1.0
            total = 0.0
            if mu[c] < 0.0:
                y = min(max(s * x[i] - u[i], s * low[c]), s * high[c])
                total = (s * x[i] - y) ** 2
            else:
                for r in range(size):
                    work[r] = s * x[i + r] - u[i + r]
                tangent = (
                    math.hypot(blocks.t1[c] * u[i + 1], blocks.t2[c] * u[i + 2])
                    if size > 2
                    else abs(u[i + 1])
                )
                rolling = math.hypot(u[i + 3], u[i + 4]) if size == 5 else 0.0
                if not blocks.relaxed:
                    work[0] -= mu[c] * tangent + max(mu_r[c], 0.0) * rolling
                if blocks.t1[c] != 1.0 or blocks.t2[c] != 1.0:
                    project(ELLIPTIC, mu[c] * blocks.t1[c], mu[c] * blocks.t2[c], work, 0, 3, work)
                else:
                    project_cone(size, mu[c], mu_r[c], work)
                for r in range(size):
                    total += (s * x[i + r] - work[r]) ** 2
            if scaled == 1:
                natural += total
            else:
                literature += total
    return natural, literature, impulse, speed


@njit(cache=True, nogil=True)
def relative_residual(blocks, x, u, size, work):
    """The larger of the residual that decides SOLVED and the literature's; `size` is ‖q‖ of the problem."""
    natural, literature, impulse, speed = residual_parts(blocks, x, u, work)
    largest = max(size, math.sqrt(max(impulse, speed)))
    return max(
        math.sqrt(natural) / (size if size > 0.0 else 1.0),
        math.sqrt(literature) / (largest if largest > 0.0 else 1.0),
    )


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
