"""The step with forces that act where the bodies end: a minimisation, which has an answer at any step.

Forces of the step's start, M (u − ũ) = J(q⁻)ᵀ λ, conserve momentum and need no damping, but c(q⁺) = 0 may
have no solution along them when a step is long: a taut chain that swings by more than its links can follow.
With J(q⁺) the equations are the stationarity of

    min ½ ‖u − ũ‖²_M   subject to c(q⁺(u)) = 0, gap(q⁺(u)) ≥ 0

which always has one. Each round holds the sliding speeds and impulses λ⁰, weighs the rows as `body_convex`
does, and takes Newton steps with a line search. The tension of the joints enters the matrix (geometric
stiffness, its positive part). Between rounds λ⁰ follows and the weight falls: the method of multipliers.

Cost: a few dozen block eliminations. It loses energy as implicit Euler does, and angular momentum of pairs is
kept to first order only, so that it comes after the routes that keep both.
Reference: Martin et al., Example-based elastic materials (2011), for implicit Euler as a minimisation;
Bertsekas, Constrained Optimization and Lagrange Multiplier Methods (1982).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.dynamics.motion import turn
from perp.dynamics.row_kernels import POINT
from perp.problems.set_kernels import shift
from perp.stepping.assembly import Rows
from perp.stepping.body_convex import respond
from perp.stepping.body_newton import members
from perp.stepping.body_system import LARGEST, accumulate, elimination_order, solve_blocks
from perp.stepping.contact_equations import parameters_of
from perp.stepping.evaluation import bias_at, end_jacobian
from perp.stepping.laws import HOLD
from perp.stepping.row_products import row_velocity

_FIRST_WEIGHT, _LEAST_WEIGHT, _FALL = 1e-1, 1e-6, 0.1
_ROUNDS, _STEPS, _HALVINGS = 14, 40, 30
_DESCENT = 1e-4


@njit(cache=True)
def directed(frame, rows, inverse, left, weighed):
    """The rows with the Jacobian `left`, which is kept."""
    for i in range(rows.bodies.shape[0]):
        for side in range(2):
            b = rows.bodies[i, side]
            for k in range(6):
                total = 0.0
                if b >= 0:
                    for m in range(6):
                        total += inverse[b, k, m] * left[i, 6 * side + m]
                weighed[i, 6 * side + k] = total
    free = np.empty(rows.free_velocity.size)
    row_velocity(rows.bodies, left, frame.predicted, free)
    return Rows(
        rows.kind, rows.start, rows.a, rows.b, rows.first, rows.bodies, left, weighed, rows.compliance, free,
        rows.approach, rows.scale, rows.length,
    )  # fmt: skip


@njit(cache=True)
def _positions(frame, rows, u, y):
    """Row velocities without compliance, with joints and gaps where the step ends."""
    moving, bias = np.empty(y.size), np.empty(y.size)
    row_velocity(rows.bodies, rows.jacobian, u, moving)
    bias_at(frame, rows, u, moving, bias)
    for i in range(y.size):
        y[i] = moving[i] + bias[i]


@njit(cache=True)
def _add_tension(frame, rows, u, p, diagonal):
    """Positive part of −Σ p ∇²y of point rows and contact normals, onto the blocks of the bodies."""
    n, h = u.shape[0], frame.h
    G = np.zeros((n, 3, 3))
    m = rows.start.size - 1 - rows.first.size
    for i in range(m):
        if frame.law[i] != HOLD or frame.links[i, 0] != POINT:
            continue
        for side in range(2):
            b = rows.bodies[i, side]
            if b >= 0:
                g = frame.geometry[i]
                sign = g[24] if side == 0 else -g[24]
                arm = g[0:3] if side == 0 else g[3:6]
                # the arm is carried by the body: turned by its pose at the start, then by the step
                q = frame.quaternion[b]
                w, x, y, z = q[0], q[1], q[2], q[3]
                tx, ty, tz = (
                    2.0 * (y * arm[2] - z * arm[1]),
                    2.0 * (z * arm[0] - x * arm[2]),
                    2.0 * (x * arm[1] - y * arm[0]),
                )
                sx = arm[0] + w * tx + y * tz - z * ty
                sy = arm[1] + w * ty + z * tx - x * tz
                sz = arm[2] + w * tz + x * ty - y * tx
                _one(G[b], h * sign * p[i], g[9], g[10], g[11], u[b], h, sx, sy, sz)
    for c in range(rows.first.size):
        f = p[rows.first[c]]
        if f == 0.0:
            continue
        for side in range(2):
            b = frame.body[c, side]
            if b >= 0:
                s, e = frame.carried[c, side], frame.normal[c, 0]
                _one(
                    G[b], h * f * (-1.0 if side == 0 else 1.0), e[0], e[1], e[2], u[b], h,
                    s[0] - frame.position[b, 0], s[1] - frame.position[b, 1], s[2] - frame.position[b, 2],
                )  # fmt: skip
    for b in range(n):
        values, vectors = np.linalg.eigh(G[b])
        for k in range(3):
            if values[k] > 0.0:
                for r in range(3):
                    for s in range(3):
                        diagonal[b, 6 * (3 + r) + 3 + s] += values[k] * vectors[r, k] * vectors[s, k]


@njit(cache=True)
def _one(G, force, ex, ey, ez, u, h, sx, sy, sz):
    """Add (f · s) 1 − (f sᵀ + s fᵀ) / 2 for a force f = force e at the arm s, turned to the step's end."""
    s, f = np.empty(3), np.empty(3)
    s[0], s[1], s[2] = turn(h * u[3], h * u[4], h * u[5], sx, sy, sz)
    f[0], f[1], f[2] = force * ex, force * ey, force * ez
    along = f[0] * s[0] + f[1] * s[1] + f[2] * s[2]
    for r in range(3):
        G[r, r] += along
        for k in range(3):
            G[r, k] -= 0.5 * (f[r] * s[k] + s[r] * f[k])


@njit(cache=True)
def _value(rows, mass, predicted, u, y, sigma, gamma, centre, wants_slope, p, K, gradient):
    """The function to be minimised; impulses p, and if wanted slopes K and M (u − ũ) into `gradient`."""
    total = 0.0
    for b in range(u.shape[0]):
        for k in range(6):
            pushed = 0.0
            for m in range(6):
                pushed += mass[b, 6 * k + m] * (u[b, m] - predicted[b, m])
            total += 0.5 * pushed * (u[b, k] - predicted[b, k])
            if wants_slope:
                gradient[b, k] = pushed
    x, v, g, F = np.empty(LARGEST), np.empty(LARGEST), np.ones(LARGEST), np.empty(LARGEST)
    B, point = np.empty((LARGEST, LARGEST)), np.empty(LARGEST)
    for c in range(rows.kind.size):
        total += respond(rows, c, sigma, gamma[c], centre, y, wants_slope, p, K[c], x, v, g, F, B, point)
    return total


@njit(cache=True)
def solve_implicit(frame, rows, mass, inverse, length, speed, limit, impulse, u, info):
    """Velocities and impulses of the step with forces of its end, in place, from those given.

    Args:
        frame: Positions.
        rows: Constraints.
        mass: M, shape (n, 36).
        inverse: M⁻¹, shape (n, 6, 6).
        length: Error of positions that is near enough [m].
        speed: Error of velocities that is near enough [m/s].
        limit: Of rounds, and of Newton steps in each, where that is less than usual.
        impulse: λ, in and out.
        u: Velocities, in and out.
        info: Out: rounds, Newton steps.

    Returns:
        The Jacobian of the end, shape (rows, 12).
    """
    n, count, size = u.shape[0], rows.kind.size, impulse.size
    factors = elimination_order(rows, n)
    order, upper, upper_index, lower, lower_index = factors
    touching, member = members(rows, n)
    island, active = np.zeros(count, np.int64), np.ones(1, np.bool_)
    busy = np.ones(n, np.bool_)
    left, weighed, y, p = np.empty((size, 12)), np.empty((size, 12)), np.empty(size), impulse.copy()
    K, pair, f, gamma = (
        np.zeros((count, LARGEST, LARGEST)),
        np.empty((count, 72)),
        np.empty(size),
        np.zeros(count),
    )
    gradient, du, trial = np.empty((n, 6)), np.zeros((n, 6)), np.empty((n, 6))
    unused = np.empty((n, 6))
    sigma, last = _FIRST_WEIGHT, np.inf
    info[:] = 0
    parameters = parameters_of(rows.a, rows.b)
    for _ in range(min(_ROUNDS, limit)):
        info[0] += 1
        _positions(frame, rows, u, y)
        for c in range(count):
            gamma[c] = shift(rows.kind[c], parameters[c], y, rows.start[c], rows.start[c + 1])
        near = max(0.1 * speed, 1e-3 * min(last, 1.0))
        for _ in range(min(_STEPS, limit)):
            info[1] += 1
            _positions(frame, rows, u, y)
            value = _value(rows, mass, frame.predicted, u, y, sigma, gamma, impulse, True, p, K, gradient)
            end_jacobian(frame, rows, u, left)
            aimed = directed(frame, rows, inverse, left, weighed)
            diagonal, right = mass.copy(), -gradient
            _add_tension(frame, rows, u, p, diagonal)
            for i in range(size):
                f[i] = -p[i]
            accumulate(aimed, left, island, active, K, f, pair, diagonal, right)
            downhill = right.copy()
            solve_blocks(
                order, upper, upper_index, lower, lower_index, touching, member, aimed, pair, diagonal, right,
                busy, du,
            )  # fmt: skip
            slope = largest = 0.0
            for b in range(n):
                for k in range(6):
                    slope -= downhill[b, k] * du[b, k]
                    largest = max(largest, abs(du[b, k]))
            if not math.isfinite(slope) or slope >= 0.0:
                break
            share, fine = 1.0, False
            for _ in range(_HALVINGS):
                for b in range(n):
                    for k in range(6):
                        trial[b, k] = u[b, k] + share * du[b, k]
                _positions(frame, rows, trial, y)
                new = _value(
                    rows, mass, frame.predicted, trial, y, sigma, gamma, impulse, False, p, K, unused
                )
                if new <= value + _DESCENT * share * slope + 1e-13 * abs(value):
                    fine = True
                    break
                share *= 0.5
            if not fine:
                break
            u[:] = trial
            if share * largest <= near:
                break
        _positions(frame, rows, u, y)
        _value(rows, mass, frame.predicted, u, y, sigma, gamma, impulse, False, p, K, unused)
        moved = 0.0
        for c in range(count):
            for i in range(rows.start[c], rows.start[c + 1]):
                moved = max(moved, sigma * rows.scale[c] * abs(p[i] - impulse[i]))
                impulse[i] = p[i]
        # what the weight still leaves of the rows: σ d (λ − λ⁰)
        last = moved
        if moved <= speed and frame.h * moved <= length:
            break
        sigma = max(_FALL * sigma, _LEAST_WEIGHT)
    end_jacobian(frame, rows, u, left)
    return left
