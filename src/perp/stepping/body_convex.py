"""The step with its sliding speeds held: a convex problem in the velocities of the bodies, solved globally.

With De Saxcé's shift γ = Γ(y) and the bias held at the current point, and a proximal term around the current
impulses λ⁰, the velocities minimise the strictly convex

    ½ ‖u − ũ‖²_M + Σ_c ψ_c(y_c),   λ = −∇ψ = P_K(λ⁰ − (y + γ) / σd)

Newton steps with a line search of its own for each island always converge. Repeating it with the new γ is the
fixed point iteration of the friction problem, which goes on where Newton's method on the exact equations
cycles.

Reference: Cadoux (2009) and Acary et al. (2011) for the fixed point; Castro et al., An unconstrained convex
formulation of compliant contact (2022), for Newton's method in velocities.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.kernels.cone import project_cone
from perp.problems.set_kernels import BOX, ELLIPTIC, NONNEGATIVE, ROLLING, shift
from perp.stepping.body_system import LARGEST, accumulate, solve_blocks
from perp.stepping.contact_equations import parameters_of
from perp.stepping.relaxed_contact_equations import linearise_relaxed
from perp.stepping.row_products import row_velocity

# Stands for zero where a friction coefficient divides.
_TINY = 1e-9
_DESCENT = 1e-4
_HALVINGS = 12
# The shift changes anyway: this share of the first step is near enough.
_REDUCTION = 1e-3


@njit(cache=True)
def respond(rows, c, sigma, gamma, centre, y, wants_slope, p, K, x, v, g, F, B, point):
    """Impulses p of constraint c at row velocities y (without Σ λ), their slope −dp/dy into K; returns ψ."""
    i, kind, d = rows.start[c], rows.kind[c], rows.scale[c]
    size = rows.start[c + 1] - i
    if size == 1:
        weight = sigma * d + rows.compliance[i]
        z = (sigma * d * centre[i] - y[i]) / weight
        low, high = -np.inf, np.inf
        if kind == NONNEGATIVE:
            low = 0.0
        elif kind == BOX:
            low, high = rows.a[c], rows.b[c]
        p[i] = min(max(z, low), high)
        K[0, 0] = 1.0 / weight if low < z < high else 0.0
        return weight * (z * p[i] - 0.5 * p[i] * p[i])
    mu, mu_r = rows.a[c], -1.0
    stretch = 1.0
    g[1] = g[2] = 1.0
    if kind == ELLIPTIC:
        mu = max(rows.a[c], rows.b[c])
        if mu > 0.0:
            g[1], g[2] = max(rows.a[c] / mu, _TINY), max(rows.b[c] / mu, _TINY)
    elif kind == ROLLING:
        stretch = rows.length[c]
        mu_r = rows.b[c] / stretch
    for r in range(size):
        unit = stretch if r >= 3 else 1.0
        x[r] = centre[i + r] / unit
        v[r] = y[i + r] * unit / sigma
    v[0] += gamma / sigma
    if wants_slope:
        linearise_relaxed(size, mu, mu_r, g, d, x, v, 0, F, B, K, point)
        for r in range(size):
            for s in range(size):
                K[r, s] *= (stretch if r >= 3 else 1.0) * (stretch if s >= 3 else 1.0) / (sigma * d)
    else:
        for r in range(size):
            point[r] = d * x[r] / g[r] - g[r] * v[r]
        project_cone(size, mu, mu_r if size == 5 else -1.0, point)
    total = 0.0
    for r in range(size):
        p[i + r] = g[r] * point[r] / d * (stretch if r >= 3 else 1.0)
        total += point[r] * point[r]
    return 0.5 * sigma * total / d


@njit(cache=True)
def _energies(rows, mass, predicted, of_body, u, out):
    """Kinetic part of each island, and M (u − ũ) is left to the caller."""
    out[:] = 0.0
    for b in range(u.shape[0]):
        total = 0.0
        for k in range(6):
            for m in range(6):
                total += (u[b, k] - predicted[b, k]) * mass[b, 6 * k + m] * (u[b, m] - predicted[b, m])
        out[of_body[b]] += 0.5 * total


@njit(cache=True)
def convex_stage(rows, mass, predicted, factors, touching, member, of_body, island, active, sigma, bias, y,
                 tolerance, limit, impulse, u):  # fmt: skip
    """Minimise for the active islands, in place; y are the row velocities that γ is taken from.

    Returns:
        The number of Newton steps.
    """
    n, count, islands = u.shape[0], rows.kind.size, active.size
    order, upper, upper_index, lower, lower_index = factors
    gamma, p, parameters = np.zeros(count), impulse.copy(), parameters_of(rows.a, rows.b)
    for c in range(count):
        gamma[c] = shift(rows.kind[c], parameters[c], y, rows.start[c], rows.start[c + 1])
    K, pair = np.zeros((count, LARGEST, LARGEST)), np.empty((count, 72))
    x, v, g, F = np.empty(LARGEST), np.empty(LARGEST), np.ones(LARGEST), np.empty(LARGEST)
    B, point = np.empty((LARGEST, LARGEST)), np.empty(LARGEST)
    busy, running = np.zeros(n, np.bool_), active.copy()
    moving, rate, at = np.empty(impulse.size), np.empty(impulse.size), np.empty(impulse.size)
    du, trial = np.zeros((n, 6)), np.empty((n, 6))
    value, new, slope = np.empty(islands), np.empty(islands), np.empty(islands)
    share, f, wanted = np.ones(islands), np.empty(impulse.size), np.empty(islands)
    step = 0
    for step in range(limit):
        row_velocity(rows.bodies, rows.jacobian, u, moving)
        _energies(rows, mass, predicted, of_body, u, value)
        for c in range(count):
            k = island[c]
            if running[k]:
                for i in range(rows.start[c], rows.start[c + 1]):
                    at[i] = moving[i] + bias[i]
                value[k] += respond(rows, c, sigma[k], gamma[c], impulse, at, True, p, K[c], x, v, g, F, B,
                                     point)  # fmt: skip
        diagonal, right = mass.copy(), np.zeros((n, 6))
        for b in range(n):
            busy[b] = running[of_body[b]]
            if busy[b]:
                for k in range(6):
                    for m in range(6):
                        right[b, k] -= mass[b, 6 * k + m] * (u[b, m] - predicted[b, m])
        for i in range(f.size):
            f[i] = -p[i]
        accumulate(rows, rows.jacobian, island, running, K, f, pair, diagonal, right)
        gradient = right.copy()
        solve_blocks(order, upper, upper_index, lower, lower_index, touching, member, rows, pair, diagonal,
                     right, busy, du)  # fmt: skip
        slope[:] = 0.0
        largest = np.zeros(islands)
        for b in range(n):
            if busy[b]:
                for k in range(6):
                    slope[of_body[b]] -= gradient[b, k] * du[b, k]
                    largest[of_body[b]] = max(largest[of_body[b]], abs(du[b, k]))
            else:
                du[b] = 0.0
        row_velocity(rows.bodies, rows.jacobian, du, rate)
        share[:] = 1.0
        for _ in range(_HALVINGS):
            for b in range(n):
                for k in range(6):
                    trial[b, k] = u[b, k] + share[of_body[b]] * du[b, k]
            _energies(rows, mass, predicted, of_body, trial, new)
            for c in range(count):
                k = island[c]
                if running[k]:
                    for i in range(rows.start[c], rows.start[c + 1]):
                        at[i] = moving[i] + share[k] * rate[i] + bias[i]
                    new[k] += respond(rows, c, sigma[k], gamma[c], impulse, at, False, p, K[c], x, v, g, F,
                                       B, point)  # fmt: skip
            fine = True
            for k in range(islands):
                if running[k] and not new[k] <= value[k] + _DESCENT * share[k] * slope[k] + 1e-14 * abs(
                    value[k]
                ):
                    share[k] *= 0.5
                    fine = False
            if fine:
                break
        u[:] = trial
        left = False
        for k in range(islands):
            if step == 0:
                wanted[k] = max(tolerance, _REDUCTION * largest[k])
            running[k] = running[k] and largest[k] > wanted[k]
            left = left or running[k]
        if not left:
            break
    for c in range(count):
        if active[island[c]]:
            for i in range(rows.start[c], rows.start[c + 1]):
                impulse[i] = p[i]
    return step + 1
