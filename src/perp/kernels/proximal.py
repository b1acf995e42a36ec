"""Proximal point iterations around a semismooth Newton method with Gauss–Seidel sweeps, all compiled.

Each outer iteration solves the problem with W + σ D and q − σ D x⁰ around the current x⁰, which has an
invertible matrix whatever the rank of W, by Newton steps. A step is followed by a few sweeps, which cost
little and repair contacts that the step put on the wrong side; the better of the two points counts. The
weight σ falls by ten when the inner problem was solved and rises when it was not.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 6.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.equations import equation_size
from perp.kernels.newton_step import newton_step
from perp.kernels.packed import Blocks, velocity, view
from perp.kernels.residual import norm, residual_at, violation_size, workspace
from perp.kernels.sweep import sweep

# The least proximal weight: problems whose W is nearly singular need it to end.
LEAST = 1e-12


@kernel(nogil=True)
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
        blocks.start, blocks.row, blocks.low, blocks.high, blocks.mu, blocks.mu_r, blocks.stretch,
        blocks.scale, q, blocks.first, blocks.column, blocks.at, blocks.diagonal, data,
        blocks.d, blocks.size, blocks.relaxed,
    )  # fmt: skip


@kernel(nogil=True)
def merit(blocks, rho, x, u, size, work):
    """What Newton steps must lower, with velocities at x into u: ‖F‖, for the relaxation the violation."""
    velocity(blocks, x, u)
    total = violation_size(blocks, x, u, work) if blocks.relaxed else equation_size(blocks, rho, x, u)
    return total / (size if size > 0.0 else 1.0)


@kernel(nogil=True)
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


@kernel(nogil=True)
def newton_iterations(blocks, order, rho, size, x, target, limit, sweep_count):
    """Newton steps with sweeps and a short line search on the merit, in place.

    Returns:
        The merit reached and the number of steps.
    """
    n = x.size
    u, dx, point, trial, work = np.empty(n), np.zeros(n), np.empty(n), np.empty(n), workspace()
    value = merit(blocks, rho, x, u, size, work)
    failures = steps = 0
    while value > target and steps < limit:
        velocity(blocks, x, u)
        newton_step(blocks, order, rho, 0.0, x, u, dx)
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


@kernel(nogil=True)
def proximal_point(packed, order, rho, x, best, tol, sigma, outer_limit, sweep_count):
    """Outer iterations in place until the residual of the problem itself is at most `tol`.

    Args:
        packed: The problem.
        order: Its order of elimination.
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
    blocks = view(packed)
    size = norm(blocks.q)
    u, work = np.empty(x.size), workspace()
    best_value = residual_at(blocks, best, u, size, work)
    steps = 0
    for _ in range(outer_limit):
        if best_value <= tol:
            break
        inner = regularised(blocks, rho, sigma, x)
        target = 0.2 * merit(inner, rho, x, u, size, work)
        reached, taken = newton_iterations(inner, order, rho, size, x, target, 15, sweep_count)
        steps += taken
        value = residual_at(blocks, x, u, size, work)
        if value < best_value:
            best_value = value
            best[:] = x
        elif not value < 1e3 * best_value:
            x[:] = best
        sigma = max(0.1 * sigma, LEAST) if reached <= target else min(10.0 * sigma, 1.0)
    return best_value, sigma, steps


@kernel(nogil=True)
def damped_newton(packed, order, rho, x, regularisation, halvings):
    """One Newton step from x in place, halved until the merit falls; false where it does not.

    The proximal weight is the merit times `regularisation`, between 1e-12 and 1e-2; none where that is zero.
    """
    blocks, size = view(packed), norm(view(packed).q)
    u, dx, point, work = np.empty(x.size), np.zeros(x.size), np.empty(x.size), workspace()
    value = merit(blocks, rho, x, u, size, work)
    sigma = min(max(regularisation * value, 1e-12), 1e-2) if regularisation > 0.0 else 0.0
    newton_step(blocks, order, rho, sigma, x, u, dx)
    t = 1.0
    for _ in range(halvings):
        for i in range(x.size):
            point[i] = x[i] + t * dx[i]
        if merit(blocks, rho, point, u, size, work) < (1.0 - 0.01 * t) * value:
            x[:] = point
            return True
        t *= 0.5
    return False
