"""Proximal point iterations around a semismooth Newton method with Gauss–Seidel sweeps, all compiled.

Each outer iteration solves the problem with W + σ D and q − σ D x⁰ around the current x⁰, which has an
invertible matrix whatever the rank of W, by Newton steps. A step is followed by a few sweeps, which cost
little and repair contacts that the step put on the wrong side; the better of the two points counts. The
weight σ falls by ten when the inner problem was solved and rises when it was not.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.solvers.contact.canonical import Blocks, velocity
from perp.solvers.contact.linearise import equation_size
from perp.solvers.contact.newton_system import newton_step
from perp.solvers.contact.residual import norm, residual_at, violation_size
from perp.solvers.contact.sweep import WORKSPACE, sweep


@njit(cache=True, nogil=True)
def newton_scale(blocks):
    """The scale of each constraint for Newton: the mean of its own diagonal, or d where that is zero."""
    rho = np.empty(blocks.d.size)
    for c in range(rho.size):
        size = blocks.start[c + 1] - blocks.start[c]
        p = blocks.at[blocks.diagonal[c]]
        total = 0.0
        for r in range(size):
            total += abs(blocks.data[p + r * (size + 1)])
        rho[c] = total / size if total > 1e-12 * blocks.d[c] else blocks.d[c]
    return rho


@njit(cache=True, nogil=True)
def regularised(blocks, rho, sigma, x):
    """The problem with a proximal term around x: W + σ D, q − σ D x."""
    data, q = blocks.data.copy(), blocks.q.copy()
    for c in range(rho.size):
        i = blocks.start[c]
        size = blocks.start[c + 1] - i
        p = blocks.at[blocks.diagonal[c]]
        for r in range(size):
            data[p + r * (size + 1)] += sigma * rho[c]
            q[i + r] -= sigma * rho[c] * x[i + r]
    return Blocks(
        blocks.start, blocks.low, blocks.high, blocks.mu, blocks.mu_r, blocks.t1, blocks.t2, blocks.scale, q,
        blocks.first, blocks.column, blocks.at, blocks.diagonal, data, blocks.d, blocks.size,
        blocks.relaxed,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def merit(blocks, rho, x, u, size, work):
    """What Newton steps must lower, with velocities at x into u: ‖F‖, for the relaxation the violation."""
    velocity(blocks, x, u)
    total = violation_size(blocks, x, u, work) if blocks.relaxed else equation_size(blocks, rho, x, u)
    return total / (size if size > 0.0 else 1.0)


@njit(cache=True, nogil=True)
def smooth(blocks, rho, x, u, count, size, value, trial, work):
    """Sweeps from x; keeps them when they lower the merit `value`. Returns the merit."""
    trial[:] = x
    for _ in range(count):
        sweep(blocks, trial, work)
    after = merit(blocks, rho, trial, u, size, work)
    if after < value:
        x[:] = trial
        return after
    return value


@njit(cache=True, nogil=True)
def newton_iterations(blocks, factors, rho, size, x, target, limit, sweep_count):
    """Newton steps with sweeps and a short line search on the merit, in place.

    Returns:
        The merit reached and the number of steps.
    """
    n = x.size
    u, dx, point, trial, work = np.empty(n), np.zeros(n), np.empty(n), np.empty(n), np.zeros(WORKSPACE)
    value = merit(blocks, rho, x, u, size, work)
    failures = steps = 0
    while value > target and steps < limit:
        velocity(blocks, x, u)
        newton_step(blocks, factors, rho, 0.0, x, u, dx)
        steps += 1
        t, accepted, new = 1.0, False, value
        for _ in range(3):
            for i in range(n):
                point[i] = x[i] + t * dx[i]
            new = merit(blocks, rho, point, u, size, work)
            if new < 1e300:
                # a step that did well needs no repair
                if new > target and new > 0.3 * value:
                    new = smooth(blocks, rho, point, u, sweep_count, size, new, trial, work)
                if new < (1.0 - 0.01 * t) * value:
                    accepted = True
                    break
            t *= 0.4
        if accepted:
            x[:] = point
            value = new
        else:
            failures += 1
            point[:] = x
            for _ in range(5 * sweep_count):
                sweep(blocks, point, work)
            new = merit(blocks, rho, point, u, size, work)
            if new < 10.0 * value:
                x[:] = point
                value = new
            if failures > 3:
                break
    return value, steps


@njit(cache=True, nogil=True)
def proximal_point(blocks, factors, rho, x, best, tol, sigma, outer_limit, sweep_count):
    """Outer iterations in place until the residual of the problem itself is at most `tol`.

    Args:
        blocks: The problem.
        factors: Its order of elimination.
        rho: Its scale for Newton.
        x: The point to go on from, changed in place.
        best: The point with the smallest residual, changed in place.
        tol: The residual to reach.
        sigma: The proximal weight to begin with.
        outer_limit: How many outer iterations.
        sweep_count: Sweeps after a Newton step.

    Returns:
        The residual of `best`, the weight to go on with, and the number of Newton steps.
    """
    size = norm(blocks.q)
    u, work = np.empty(x.size), np.zeros(WORKSPACE)
    best_value = residual_at(blocks, best, u, size, work)
    steps = 0
    for _ in range(outer_limit):
        if best_value <= tol:
            break
        inner = regularised(blocks, rho, sigma, x)
        target = 0.2 * merit(inner, rho, x, u, size, work)
        reached, taken = newton_iterations(inner, factors, rho, size, x, target, 15, sweep_count)
        steps += taken
        value = residual_at(blocks, x, u, size, work)
        if value < best_value:
            best_value = value
            best[:] = x
        elif not value < 1e3 * best_value:
            x[:] = best
        sigma = max(0.1 * sigma, 1e-8) if reached <= target else min(10.0 * sigma, 1.0)
    return best_value, sigma, steps
