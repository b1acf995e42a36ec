"""Gauss–Seidel sweeps over the constraints of a step, with the velocities of the bodies at hand.

Each constraint is solved exactly with all others fixed (`solvers/contact/local_solve.py`) and moves its two
bodies at once: no matrix over pairs of constraints is needed. A sweep is one pass over the rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.problems.set_kernels import BOX, ELLIPTIC, FREE, NONNEGATIVE, ROLLING
from perp.solvers.contact.local_solve import solve_coulomb, solve_disc
from perp.stepping.row_products import coupling

_ROLLING_ROUNDS = 5


@njit(cache=True)
def own_blocks(rows, at, data):
    """The diagonal block of W of each constraint at data[at[c] …], rolling rows as velocities."""
    for c in range(rows.kind.size):
        i = rows.start[c]
        size = rows.start[c + 1] - i
        for r in range(size):
            for s in range(size):
                value = coupling(rows.bodies, rows.jacobian, rows.weighed, i + r, i + s)
                if r == s:
                    value += rows.compliance[i + r]
                if r >= 3:
                    value *= rows.length[c]
                if s >= 3:
                    value *= rows.length[c]
                data[at[c] + r * size + s] = value


@njit(cache=True)
def _rolling(p, data, mu, mu_r, b, x):
    """Normal and sliding with rolling fixed, then rolling, each exact; half steps if they fight."""
    weight, last = 1.0, np.inf
    for _ in range(_ROLLING_ROUNDS):
        b0 = b[0] + data[p + 3] * x[3] + data[p + 4] * x[4]
        b1 = b[1] + data[p + 8] * x[3] + data[p + 9] * x[4]
        b2 = b[2] + data[p + 13] * x[3] + data[p + 14] * x[4]
        x[0], x[1], x[2] = solve_coulomb(p, 5, data, b0, b1, b2, mu, 1.0, 1.0, x[1], x[2])
        b3 = b[3] + data[p + 15] * x[0] + data[p + 16] * x[1] + data[p + 17] * x[2]
        b4 = b[4] + data[p + 20] * x[0] + data[p + 21] * x[1] + data[p + 22] * x[2]
        r1, r2 = solve_disc(p + 18, 5, data, b3, b4, mu_r * x[0], x[3], x[4])
        change = np.hypot(r1 - x[3], r2 - x[4])
        if change > 0.7 * last:
            weight *= 0.5
        last = change
        x[3] += weight * (r1 - x[3])
        x[4] += weight * (r2 - x[4])


@njit(cache=True)
def sweep(rows, bias, island, active, at, data, impulse, u, backward):
    """One sweep over the constraints of the active islands, with the bias held; λ and u in place."""
    b, x = np.empty(5), np.empty(5)
    count = rows.kind.size
    for step in range(count):
        c = count - 1 - step if backward else step
        if not active[island[c]]:
            continue
        i, kind, p = rows.start[c], rows.kind[c], at[c]
        size = rows.start[c + 1] - i
        body_a, body_b = rows.bodies[i, 0], rows.bodies[i, 1]
        stretch = rows.length[c]
        for r in range(size):
            total = bias[i + r]
            if body_a >= 0:
                for k in range(6):
                    total += rows.jacobian[i + r, k] * u[body_a, k]
            if body_b >= 0:
                for k in range(6):
                    total += rows.jacobian[i + r, 6 + k] * u[body_b, k]
            x[r] = impulse[i + r]
            total += rows.compliance[i + r] * x[r]
            if r >= 3:
                x[r] /= stretch
                total *= stretch
            b[r] = total
        for r in range(size):
            for s in range(size):
                b[r] -= data[p + r * size + s] * x[s]
        if size == 1:
            own = data[p]
            if own > 0.0:
                x[0] = -b[0] / own
                if kind == NONNEGATIVE:
                    x[0] = max(0.0, x[0])
                elif kind == BOX:
                    x[0] = min(max(x[0], rows.a[c]), rows.b[c])
        elif kind == ROLLING:
            _rolling(p, data, rows.a[c], rows.b[c] / stretch, b, x)
        else:
            mu, g1, g2 = rows.a[c], 1.0, 1.0
            if kind == ELLIPTIC:
                mu = max(rows.a[c], rows.b[c])
                if mu > 0.0:
                    g1, g2 = rows.a[c] / mu, rows.b[c] / mu
            x[0], x[1], x[2] = solve_coulomb(p, 3, data, b[0], b[1], b[2], mu, g1, g2, x[1], x[2])
        for r in range(size):
            new = x[r] * stretch if r >= 3 else x[r]
            change = new - impulse[i + r]
            if change == 0.0:
                continue
            impulse[i + r] = new
            if body_a >= 0:
                for k in range(6):
                    u[body_a, k] += rows.weighed[i + r, k] * change
            if body_b >= 0:
                for k in range(6):
                    u[body_b, k] += rows.weighed[i + r, 6 + k] * change
