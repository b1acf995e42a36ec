"""Newton's method with an exact line search on islands whose law is convex: bounds and relaxed cones.

The augmented Lagrangian of an island around impulses c has the gradient W (λ − P) with

    P = Π_K(c − (σ d)⁻¹ u),   u = W λ + q

where d is the mobility of a constraint. It is convex in λ, so that Newton steps

    (σ d + Π' W) Δλ = −σ d (λ − P)

with a search for the minimum along each of them end from every start, for every weight σ; the search needs no
product with W. Then c moves to λ and σ falls. Tangential cones without bounds on their motion (rank-deficient
W) cost nothing: the weight is what makes the step unique.

Reference: Li, Sun and Toh, A highly efficient semismooth Newton augmented Lagrangian method (2018).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.cone import project_cone
from perp.kernels.friction_laws import MOST_ROWS, OPEN, RELAXED, bounds, linearise_relaxed, violation
from perp.kernels.small_systems import solve_small
from perp.kernels.tree_elimination import newton_step
from perp.kernels.tree_state import (
    clear_row,
    copy_rows,
    evaluate,
    hold_row,
    impulse_step,
    keep_equations,
    weigh_rows,
)
from perp.problems.set_kernels import COULOMB, ROLLING

# Weights: the first, the least, and what is left after a centre has moved.
_FIRST, _LEAST, _SHRINK = 1e-3, 1e-5, 0.1
# Directions that a cone closes are held to this share of the weight.
_SOFT = 1e-8
# A centre moves when what is left of its own problem is this share of what is left of the whole.
_INNER = 0.5
# A step whose slope at the end is this share of that at its begin is at the minimum; searches for it.
_FLAT, _SEARCHES = 0.3, 12


@part
def is_convex(p, w, k):
    """Whether island k has only bounds and relaxed cones, and measures velocities along what it pushes."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        if p.kind[c] >= COULOMB and p.kind[c] < RELAXED:
            return False
    return True


@part
def _weight(p, w, c, sigma):
    """σ d of a constraint."""
    if p.kind[c] < COULOMB:
        return sigma * w.mobility[c, 0]
    return sigma * max(w.mobility[c, 0], w.mobility[c, 1])


@part
def _project(p, w, c, weight, u, y):
    """σ d P of constraint c at velocities u into y; returns the rows."""
    i = p.start[c]
    size = p.start[c + 1] - i
    for r in range(size):
        y[r] = weight * w.centre[i + r] - u[i + r]
    if p.kind[c] < COULOMB:
        low, high = bounds(p.kind[c], p.parameter[c])
        y[0] = min(max(y[0], weight * low), weight * high)
    else:
        rolling = p.parameter[c, 1] if p.kind[c] == ROLLING + RELAXED else -1.0
        project_cone(size, p.parameter[c, 0], rolling, y)
    return size


@part
def _equations(p, w, k, sigma, room):
    """The equations of the constraints of island k; False where one's are singular."""
    g, F, A = room[0], room[1], room[2 : 2 + MOST_ROWS]
    B, C = room[8:14, :MOST_ROWS], room[14:20, :MOST_ROWS]
    x, u, centre = p.impulse, p.row_velocity, w.centre
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, kind, weight = p.start[c], p.kind[c], _weight(p, w, c, sigma)
        if kind < COULOMB:
            low, high = bounds(kind, p.parameter[c])
            y = weight * centre[i] - u[i]
            if y <= weight * low or y >= weight * high:
                w.K[c, 0, 0] = 0.0
                w.f[i] = x[i] - (low if y <= weight * low else high)
                clear_row(p, w, c, 0)
            else:
                hold_row(p, w, c, 0, p.compliance[i] + weight, u[i] + weight * (x[i] - centre[i]))
            continue
        size = p.start[c + 1] - i
        room[21, 0] = room[21, 1] = weight
        state = linearise_relaxed(kind, p.parameter[c], size, room[21], centre[i:], u[i:], g, (F, B, C))
        if state == OPEN:
            w.K[c, 0, 0] = 0.0
            for r in range(size):
                w.f[i + r] = x[i + r]
                clear_row(p, w, c, r)
            continue
        # σ d (Π' + ε)⁻¹ Δλ + Δu = −σ d (Π' + ε)⁻¹ (λ − P)
        for r in range(size):
            for s in range(size):
                A[r, s], A[r, size + s] = C[r, s], weight if r == s else 0.0
            A[r, r] += _SOFT * sigma
            A[r, 2 * size] = F[r] + weight * (x[i + r] - centre[i + r])
        if not solve_small(A, size, size + 1, 0.0):
            return False
        for r in range(size):
            for s in range(size):
                A[r, s], A[r, size + s] = A[r, size + s], 1.0 if r == s else 0.0
            A[r, r] += p.compliance[i + r]
        if not keep_equations(p, w, c, A, size):
            return False
        weigh_rows(p, w, c)
    return True


@part
def _slope(p, w, k, sigma, far, y):
    """Slope of the augmented Lagrangian `far` along the step, whose begin and end are in the workspace."""
    total, u = 0.0, w.pulled
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, weight = p.start[c], _weight(p, w, c, sigma)
        for r in range(i, p.start[c + 1]):
            u[r] = w.dual[r] + far * (p.row_velocity[r] - w.dual[r])
        size = _project(p, w, c, weight, u, y)
        for r in range(size):
            x = w.before[i + r] + far * (p.impulse[i + r] - w.before[i + r])
            total += (p.row_velocity[i + r] - w.dual[i + r]) * (x - y[r] / weight)
    return total


@part
def _search(p, w, k, sigma, y):
    """How far the minimum of the augmented Lagrangian is along the step: Illinois' rule on its slope."""
    low, high = 0.0, 1.0
    at_low = first = _slope(p, w, k, sigma, low, y)
    at_high = _slope(p, w, k, sigma, high, y)
    if not first < 0.0 or at_high <= -_FLAT * first:
        return 1.0
    for _ in range(_SEARCHES):
        far = low - at_low * (high - low) / (at_high - at_low)
        slope = _slope(p, w, k, sigma, far, y)
        if abs(slope) <= -_FLAT * first:
            return far
        if slope > 0.0:
            high, at_high, at_low = far, slope, 0.5 * at_low
        else:
            low, at_low, at_high = far, slope, 0.5 * at_high
    return low if low > 0.0 else high


@part
def _judge(p, w, k, sigma, room):
    """Worst residual and merit of island k, and the merit of its augmented Lagrangian."""
    worst = merit = inner = 0.0
    g, x, u = room[0], p.impulse, p.row_velocity
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        size, weight = p.start[c + 1] - i, _weight(p, w, c, sigma)
        value, square = violation(p.kind[c], p.parameter[c], size, w.mobility[c], x[i:], u[i:], p.unit[i:], g)
        if not value <= worst:
            worst = value
        merit += square
        _project(p, w, c, weight, u, g)
        for r in range(size):
            inner += ((weight * x[i + r] - g[r]) / (sigma * p.unit[i + r])) ** 2
    return worst, merit, inner


@part
def convex_newton(p, w, k, plan, limit, goal, room):
    """Newton steps on a convex island from its impulses until its worst row is at most `goal`.

    Returns whether it is, how many steps, and the worst row.
    """
    copy_rows(p, w, k, p.impulse, w.centre)
    sigma, worst = _FIRST, w.outcome[k, 0]
    for step in range(1, limit + 1):
        if not _equations(p, w, k, sigma, room):
            return False, step, worst
        newton_step(p, w, plan)
        copy_rows(p, w, k, p.impulse, w.before)
        copy_rows(p, w, k, p.row_velocity, w.dual)
        for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
            c = w.island_constraint[a]
            for i in range(p.start[c], p.start[c + 1]):
                p.impulse[i] += impulse_step(p, w, c, i)
        evaluate(p, w, k, k + 1)
        far = _search(p, w, k, sigma, room[0])
        if far < 1.0:
            for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
                c = w.island_constraint[a]
                for i in range(p.start[c], p.start[c + 1]):
                    p.impulse[i] = w.before[i] + far * (p.impulse[i] - w.before[i])
            evaluate(p, w, k, k + 1)
        worst, merit, inner = _judge(p, w, k, sigma, room)
        if worst <= goal:
            return True, step, worst
        if not math.isfinite(merit):
            return False, step, worst
        if inner <= _INNER * _INNER * merit:
            copy_rows(p, w, k, p.impulse, w.centre)
            sigma = max(_SHRINK * sigma, _LEAST)
    return False, limit, worst
