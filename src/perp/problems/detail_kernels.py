"""The parts of a contact residual for people to read, and the literature's figure: compiled.

Flat layout as in `set_kernels`.
"""

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.law_kernels import friction_violation
from perp.problems.set_kernels import (
    BOX,
    COHESION,
    COULOMB,
    ELLIPTIC,
    FREE,
    NONNEGATIVE,
    ROLLING,
    coefficient_of,
    project,
    shift,
)


@kernel(nogil=True)
def measure(kind, start, parameters, d, length, relaxed, impulse, u, x, y, floor):
    """The parts of a residual in one pass; `x`, `y` are workspaces of the size of u.

    Returns:
        primal², dual² [velocity²], complementarity [velocity²], literature e², largest approach velocity,
        sticking velocity, dissipation angle [rad] of contacts that slip faster than `floor`.
    """
    bare = np.zeros(6)
    primal = dual = complementarity = literature = approach = sticking = angle = 0.0
    for c in range(kind.size):
        first, last = start[c], start[c + 1]
        k, p = kind[c], parameters[c]
        gamma = 0.0 if relaxed else shift(k, p, u, first, last)
        endless = gamma == np.inf
        for i in range(first, last):
            x[i] = impulse[i]
        project(k, p, x, first, last, y)
        for i in range(first, last):
            s = length[c] if i - first >= 3 else 1.0
            primal += (d[c] * (impulse[i] - y[i]) / s) ** 2
        if endless:
            # De Saxcé's map has no limit here
            friction_violation(k, p, first, last, 1.0, 1.0, impulse, u, y)
        else:
            for i in range(first, last):
                x[i] = impulse[i] - u[i]
            x[first] -= gamma
            project(k, p, x, first, last, y)
            for i in range(first, last):
                y[i] -= impulse[i]
        for i in range(first, last):
            literature += y[i] ** 2
        if k == BOX:
            above, below = max(u[first], 0.0), max(-u[first], 0.0)
            if p[0] == -np.inf:
                dual += above**2
            else:
                complementarity += d[c] * abs((impulse[first] - p[0]) * above)
            if p[1] == np.inf:
                dual += below**2
            else:
                complementarity += d[c] * abs((p[1] - impulse[first]) * below)
        else:
            work = 0.0
            for i in range(first, last):
                s = length[c] if i - first >= 3 else 1.0
                x[i] = -s * u[i]
                work += impulse[i] * u[i]
            cohesion = p[COHESION] if k >= COULOMB else 0.0
            work += cohesion * u[first]
            if not endless:
                x[first] -= gamma
                work += (impulse[first] + cohesion) * gamma
                # what is left of −(u + Γ) outside the polar cone: a cone without its apex moved
                for j in range(5):
                    bare[j] = (
                        p[j] / length[c] if (k == ROLLING and j == 1) or (k == ELLIPTIC and j >= 2) else p[j]
                    )
                project(k, bare, x, first, last, y)
                for i in range(first, last):
                    dual += y[i] ** 2
            if k != FREE:
                complementarity += d[c] * abs(work)
        if k == NONNEGATIVE or k >= COULOMB:
            approach = max(approach, -u[first])
        if k == COULOMB or k == ELLIPTIC:
            used, push, slip, along, size = _friction(k, p, impulse, u, first, last)
            if used < 1.0 - 1e-6:
                sticking = max(sticking, slip)
            elif push > 0.0 and slip > floor and size > 0.0:
                angle = max(angle, math.acos(max(-1.0, min(1.0, -along / (push * size)))))
    return primal, dual, complementarity, literature, approach, sticking, angle


@part
def _friction(kind, p, impulse, u, first, last):
    """How much of the cone is used (1 on its surface), friction, slip, and the slip that dissipates most.

    The first two tangents are looked at: what turns and rolls has other units. Friction opposes (μ_i² u_i).
    """
    used = push = slip = along = size = widest = 0.0
    for i in range(first + 1, last):
        widest = max(widest, coefficient_of(kind, p, i - first))
    for i in range(first + 1, last):
        mu = coefficient_of(kind, p, i - first)
        used = math.hypot(used, impulse[i] / mu if mu > 0.0 else 0.0)
        if i - first > 2:
            continue
        push, slip = math.hypot(push, impulse[i]), math.hypot(slip, u[i])
        weight = 1.0 if mu == widest else (mu / widest) ** 2
        along += impulse[i] * weight * u[i]
        size = math.hypot(size, weight * u[i])
    normal = impulse[first] + p[COHESION]
    return used / normal if normal > 0.0 else np.inf, push, slip, along, size
