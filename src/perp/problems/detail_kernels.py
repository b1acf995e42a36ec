"""The parts of a contact residual for people to read, and the literature's figure: compiled.

Flat layout as in `set_kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.law_kernels import friction_violation
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE, ROLLING, project, shift


@njit(cache=True, nogil=True, fastmath=False)
def measure(kind, start, a, b, d, length, relaxed, impulse, u, x, y, floor):
    """The parts of a residual in one pass; `x`, `y` are workspaces of the size of u.

    Returns:
        primal², dual² [velocity²], complementarity [velocity²], literature e², largest approach velocity,
        sticking velocity, dissipation angle [rad] of contacts that slip faster than `floor`.
    """
    primal = dual = complementarity = literature = approach = sticking = angle = 0.0
    for c in range(kind.size):
        first, last = start[c], start[c + 1]
        k, p, r = kind[c], a[c], b[c]
        gamma = 0.0 if relaxed else shift(k, p, r, u, first, last)
        endless = gamma == np.inf
        for i in range(first, last):
            x[i] = impulse[i]
        project(k, p, r, x, first, last, y)
        for i in range(first, last):
            s = length[c] if i - first >= 3 else 1.0
            primal += (d[c] * (impulse[i] - y[i]) / s) ** 2
        if endless:
            # De Saxcé's map has no limit here
            friction_violation(k, p, r, first, last, 1.0, 1.0, impulse, u, y)
        else:
            for i in range(first, last):
                x[i] = impulse[i] - u[i]
            x[first] -= gamma
            project(k, p, r, x, first, last, y)
            for i in range(first, last):
                y[i] -= impulse[i]
        for i in range(first, last):
            literature += y[i] ** 2
        if k == BOX:
            above, below = max(u[first], 0.0), max(-u[first], 0.0)
            if p == -np.inf:
                dual += above**2
            else:
                complementarity += d[c] * abs((impulse[first] - p) * above)
            if r == np.inf:
                dual += below**2
            else:
                complementarity += d[c] * abs((r - impulse[first]) * below)
        else:
            work = 0.0
            for i in range(first, last):
                s = length[c] if i - first >= 3 else 1.0
                x[i] = -s * u[i]
                work += impulse[i] * u[i]
            if not endless:
                x[first] -= gamma
                work += impulse[first] * gamma
                project(k, p, r / length[c] if k == ROLLING else r, x, first, last, y)
                for i in range(first, last):
                    dual += y[i] ** 2
            if k != FREE:
                complementarity += d[c] * abs(work)
        if k == NONNEGATIVE or k >= COULOMB:
            approach = max(approach, -u[first])
        if k == COULOMB or k == ELLIPTIC:
            two = last - first == 2
            slip = abs(u[first + 1]) if two else math.hypot(u[first + 1], u[first + 2])
            push = abs(impulse[first + 1]) if two else math.hypot(impulse[first + 1], impulse[first + 2])
            # how much of the cone is used: 1 on its surface
            if k == COULOMB:
                limit = p * impulse[first]
                used = push / limit if limit > 0.0 else np.inf
            else:
                t1 = impulse[first + 1] / p if p > 0.0 else 0.0
                t2 = impulse[first + 2] / r if r > 0.0 else 0.0
                used = math.hypot(t1, t2) / impulse[first] if impulse[first] > 0.0 else np.inf
            if used < 1.0 - 1e-6:
                sticking = max(sticking, slip)
            elif push > 0.0 and slip > floor:
                if k == COULOMB:
                    w1, w2 = 1.0, 1.0
                else:
                    widest = max(p, r)
                    w1 = 1.0 if p == widest else (p / widest) ** 2
                    w2 = 1.0 if r == widest else (r / widest) ** 2
                along = w1 * impulse[first + 1] * u[first + 1]
                size = (w1 * u[first + 1]) ** 2
                if not two:
                    along = impulse[first + 1] * w1 * u[first + 1] + impulse[first + 2] * w2 * u[first + 2]
                    size += (w2 * u[first + 2]) ** 2
                if size > 0.0:
                    angle = max(angle, math.acos(max(-1.0, min(1.0, -along / (push * math.sqrt(size))))))
    return primal, dual, complementarity, literature, approach, sticking, angle
