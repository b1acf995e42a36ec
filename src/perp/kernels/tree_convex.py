"""The central path from near the answer, for islands whose law is convex: bounds and relaxed cones.

Impulses and velocities of a start are pushed into their cones by a share of what is at work, and Mehrotra's
predictor and corrector (`tree_path`) lead from there to the end of the path: three to ten iterations where
the path from the middle of the cones takes five to fifteen, and plain Newton steps wander. A convex problem
has one end, so that no care is needed on the way; Newton's method ends within a step or two.

References: Mehrotra, On the implementation of a primal-dual interior point method (1992); Skajaa, Andersen
and Ye, Warmstarting the homogeneous and self-dual interior point method (2013).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.cone_scaling import length_of_tail
from perp.kernels.friction_laws import RELAXED, bounds, violation
from perp.kernels.tree_path import _cone, _direction, _distance
from perp.kernels.tree_path_rolling import MOST_FRICTION
from perp.kernels.tree_path_scaling import CONE, INFINITE, G, R
from perp.kernels.tree_state import copy_rows, evaluate
from perp.problems.set_kernels import COULOMB, FREE, ROLLING

# How far a start is pushed into its cones, as a share of the largest velocity without impulses. On Siconos's
# capsules 0.003 to 0.03 take the same time within 10 %.
_INSIDE = 0.01
# The part of the way to the boundary that an iteration may go, and the shortest step; τ where the path ends.
_FRACTION, _SHORTEST, _END = 0.995, 1e-8, 1e-15


@part
def is_convex(p, w, k):
    """Whether island k has only bounds and relaxed cones, and measures velocities along what it pushes."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        if p.kind[c] >= COULOMB and p.kind[c] < RELAXED:
            return False
    return True


@part
def _energy(p, w, k):
    """The largest energy of a row without impulses; zero where a set has no path."""
    begin, end, energy = w.island_constraint_start[k], w.island_constraint_start[k + 1], 0.0
    for a in range(begin, end):
        c = w.island_constraint[a]
        if p.kind[c] % RELAXED == ROLLING and not (p.parameter[c, 0] > 0.0 and p.parameter[c, 1] > 0.0):
            return 0.0
    copy_rows(p, w, k, p.impulse, w.before)
    for a in range(begin, end):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] = 0.0
    evaluate(p, w, k, k + 1)
    for a in range(begin, end):
        c = w.island_constraint[a]
        d = max(w.mobility[c, 0], w.mobility[c, 1])
        for i in range(p.start[c], p.start[c + 1]):
            energy = max(energy, p.row_velocity[i] ** 2 / d)
    copy_rows(p, w, k, w.before, p.impulse)
    evaluate(p, w, k, k + 1)
    return energy


@part
def _begin(p, w, k, energy, small):
    """The start pushed into its cones: impulses, and duals from its velocities."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, d, kind = p.start[c], max(w.mobility[c, 0], w.mobility[c, 1]), p.kind[c]
        push, rate = _INSIDE * math.sqrt(energy / d), _INSIDE * math.sqrt(energy * d)
        u = p.row_velocity[i]
        for r in range(i, p.start[c + 1]):
            w.dual[r], w.upper[r] = p.row_velocity[r], 0.0
        if kind >= COULOMB:
            cones, size, least = 2 if kind % RELAXED == ROLLING else 1, 3, 0.0
            if cones == 1:
                size = _cone(p, c, small)
            for j in range(cones):
                mu = min(p.parameter[c, j], MOST_FRICTION) if cones == 2 else 1.0 / small[CONE, 0]
                first = i + 2 * j
                for r in range(1, size):
                    ratio = small[CONE, r] if cones == 1 else 1.0
                    small[G, r] = p.impulse[first + r] / ratio if ratio > 0.0 else 0.0
                    w.dual[first + r] *= ratio
                    small[R, r] = w.dual[first + r]
                least = max(least, length_of_tail(small[G], 0, size) / mu)
                z = length_of_tail(small[R], 0, size) + rate / mu
                u -= mu * z
                if j == 0:
                    w.dual[i] = z
                else:
                    w.upper[i] = z
            p.impulse[i] = max(p.impulse[i] + p.parameter[c, 5], least + push) - p.parameter[c, 5]
            # what is left of the normal velocity is shared by the cones
            if u > 0.0 and cones == 2:
                w.dual[i] += 0.5 * u / min(p.parameter[c, 0], MOST_FRICTION)
                w.upper[i] += 0.5 * u / min(p.parameter[c, 1], MOST_FRICTION)
            elif u > 0.0:
                w.dual[i] += u * small[CONE, 0]
        elif kind != FREE:
            low, high = bounds(kind, p.parameter[c])
            inside = min(push, 0.1 * (high - low))
            p.impulse[i] = min(max(p.impulse[i], low + inside), high - inside)
            w.dual[i] = max(u, 0.0) + rate if low > -INFINITE else 0.0
            w.upper[i] = max(-u, 0.0) + rate if high < INFINITE else 0.0
    evaluate(p, w, k, k + 1)


@part
def convex_path(p, w, k, plan, limit, goal, small):
    """Lead a convex island along its path until its worst row is at most `goal`; returns the iterations.

    Zero where a set has no path.
    """
    energy, step = _energy(p, w, k), 0
    if not (energy > 0.0 and energy < INFINITE):
        return 0
    _begin(p, w, k, energy, small)
    while step < limit:
        tau = _distance(p, w, k, small)
        if not tau < INFINITE or tau <= _END * energy:
            break
        step += 1
        far = min(_FRACTION * _direction(p, w, k, plan, (0.0, False, False, True), small), 1.0)
        if far >= 0.0:
            aim = (1.0 - far) ** 3 * tau, True, False, False
            far = min(_FRACTION * _direction(p, w, k, plan, aim, small), 1.0)
        if not far > _SHORTEST:
            break
        _advance(p, w, k, far)
        if _worst(p, w, k, small[0]) <= goal:
            break
    return step


@part
def _advance(p, w, k, far):
    """Go `far` along the step of impulses and duals."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] += far * w.step[i]
            w.dual[i] += far * w.dual_step[i]
            w.upper[i] += far * w.upper_step[i]
    evaluate(p, w, k, k + 1)


@part
def _worst(p, w, k, g):
    """Worst residual of island k."""
    worst = 0.0
    x, u = p.impulse, p.row_velocity
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i = p.start[c]
        size = p.start[c + 1] - i
        value, _ = violation(p.kind[c], p.parameter[c], size, w.mobility[c], x[i:], u[i:], p.unit[i:], g)
        if not value <= worst:
            worst = value
    return worst
