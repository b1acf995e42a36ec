"""The central path of exact friction in the velocities of trees: a start where Newton's method wanders.

The law of a constraint is s ∈ K, z ∈ K, s ⊥ z for a second-order cone K or a pair of bounds, and the path has
s ∘ z = τ e, τ → 0. Of a friction set

    s = C⁻¹ λ,   z = C u + (‖z_T‖, 0),   C = diag(1/μ, g)

where ‖z_T‖ is De Saxcé's shift; without it the problem is the convex relaxation. A rolling contact has two
cones (`tree_path_rolling`). With Nesterov–Todd scaling V each constraint gives its impulses by its
velocities as in `tree_newton`,

    Δs = V (r − V Δz),   Δz = T (C (L Δv + Σ Δλ) + gap),   T = [1 z_Tᵀ/‖z_T‖; 0 I]

so that an iteration is the same elimination by trees. Hard impacts on more contacts than freedoms, where
active sets cycle, take fifteen to twenty iterations; Newton's method then ends within a few steps.

References: Acary, Armand, Nguyen and Shpakovych, Second-order cone programming for frictional contact
mechanics using interior point algorithm (2022), for the relaxation; De Saxcé and Feng (1998) for the shift;
Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010), for the scaling.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.cone_scaling import inverse_square, length_of_tail, room, scale, unscale
from perp.kernels.friction_laws import MOST_ROWS, RELAXED, bounds, disc
from perp.kernels.tree_elimination import newton_step, newton_step_again
from perp.kernels.tree_path_rolling import (
    MOST_FRICTION,
    aim_rolling,
    begin_rolling,
    change_rolling,
    load_rolling,
)
from perp.kernels.tree_path_scaling import (
    CONE,
    DS,
    DZ,
    GAP,
    INFINITE,
    MATRIX,
    TURN,
    WORK,
    G,
    R,
    S,
    W,
    Z,
    scaled_goal,
)
from perp.kernels.tree_state import clear_row, evaluate, hold_row, impulse_step, keep_equations, weigh_rows
from perp.problems.set_kernels import COULOMB, FREE, ROLLING

# The part of the way to the boundary that an iteration may go, and the least centring: in haste, with care.
_FRACTION, _CENTRING = (0.995, 0.9), (1e-3, 1e-2)
# τ where the path ends, sooner and later, and where one that begins relaxed becomes exact.
_END, _EXACT = (1e-15, 1e-22), 1e-3
# A step shorter than this is tried again towards the middle of the cones; one that stays short ends the path.
_SHORT, _SHORTEST, _MIDDLE = 0.2, 1e-8, 0.5
# So many steps in a row that are shorter than this end it, too, where impulses are freedoms.
_STUCK, _CREEP = (4, 12), 0.05
# The energy of the first point over the largest of a single normal row, or far away of any row.
_ENERGY = (0.1, 10.0)
# Free rows are held but for this share of their mobility.
_SOFT = 1e-10


@part
def follow_path(p, w, k, plan, attempt, limit, small):
    """Impulses near the end of the path of island k; returns the Newton steps, zero where a set has no path.

    Args:
        p: View of the problem.
        w: View of the workspace.
        k: The island.
        plan: Of its elimination, see `tree_elimination.plan_of`.
        attempt: 0 in haste, 1 with care, 2 with care along the path of the convex relaxation first.
        limit: Iterations at most.
        small: Room for one constraint, as in `friction_laws`.
    """
    care = min(attempt, 1)
    wide = care if p.count[2] else 0
    energy, steps = _begin(p, w, k, wide, small), 0
    part, creeping = _FRACTION[care], 0
    if not (energy > 0.0 and energy < INFINITE):
        return 0
    for _ in range(limit):
        tau = _distance(p, w, k, small)
        if not tau < INFINITE or tau <= _END[wide] * energy:
            break
        exact = attempt < 2 or tau <= _EXACT * energy
        far = min(part * _direction(p, w, k, plan, (0.0, False, exact, True), small), 1.0)
        share = max(_CENTRING[care], (1.0 - far) ** 3)
        if far >= 0.0:
            far = min(part * _direction(p, w, k, plan, (share * tau, True, exact, False), small), 1.0)
        steps += 2
        if far < _SHORT:
            steps += 1
            aim = max(_MIDDLE, share) * tau, False, exact, False
            far = min(part * _direction(p, w, k, plan, aim, small), 1.0)
        creeping = creeping + 1 if far < _CREEP and p.count[2] else 0
        if not far > _SHORTEST or creeping >= _STUCK[care]:
            break
        for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
            c = w.island_constraint[a]
            for i in range(p.start[c], p.start[c + 1]):
                p.impulse[i] += far * w.step[i]
                w.dual[i] += far * w.dual_step[i]
                w.upper[i] += far * w.upper_step[i]
        evaluate(p, w, k, k + 1)
    return steps


@part
def _direction(p, w, k, plan, aim, small):
    """The step for an aim (τ, whether the products of the last step count, whether friction is exact).

    The last part of the aim tells whether the point is another one than that of the last step. Returns how
    far it may go; −1 where the point is not inside the cones.
    """
    if not _aim(p, w, k, aim, small):
        return -1.0
    if aim[3]:
        newton_step(p, w, plan)
    else:
        newton_step_again(p, w, plan)
    return _change(p, w, k, aim, small)


@part
def _cone(p, c, small):
    """C of a friction set, zero for rows without friction; returns the number of its rows."""
    size = p.start[c + 1] - p.start[c]
    _, mu = disc(p.kind[c], p.parameter[c], size, 1, small[G])
    C = small[CONE]
    C[0] = 1.0 / min(mu, MOST_FRICTION) if mu > 0.0 else 1.0
    for r in range(1, size):
        C[r] = small[G, r] if mu > 0.0 else 0.0
    return size


@part
def _begin(p, w, k, wide, small):
    """The first point, in the middle of the cones; returns the energy of its τ."""
    begin, end = w.island_constraint_start[k], w.island_constraint_start[k + 1]
    for a in range(begin, end):
        c = w.island_constraint[a]
        if p.kind[c] % RELAXED == ROLLING and not (p.parameter[c, 0] > 0.0 and p.parameter[c, 1] > 0.0):
            return 0.0
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] = 0.0
    evaluate(p, w, k, k + 1)
    energy = 0.0
    for a in range(begin, end):
        c = w.island_constraint[a]
        d = max(w.mobility[c, 0], w.mobility[c, 1])
        for i in range(p.start[c], p.start[c + 1] if wide else p.start[c] + 1):
            energy = max(energy, p.row_velocity[i] ** 2 / d)
    energy *= _ENERGY[wide]
    for a in range(begin, end):
        c = w.island_constraint[a]
        i, d = p.start[c], max(w.mobility[c, 0], w.mobility[c, 1])
        push, rate = math.sqrt(energy / d), math.sqrt(energy * d)
        for r in range(i, p.start[c + 1]):
            w.dual[r] = w.upper[r] = 0.0
        if p.kind[c] % RELAXED == ROLLING:
            begin_rolling(p, w, c, push, rate)
        elif p.kind[c] >= COULOMB:
            _cone(p, c, small)
            p.impulse[i], w.dual[i] = push - p.parameter[c, 5], rate * small[CONE, 0]
        elif p.kind[c] != FREE:
            low, high = bounds(p.kind[c], p.parameter[c])
            w.dual[i] = rate if low > -INFINITE else 0.0
            w.upper[i] = rate if high < INFINITE else 0.0
            if low > -INFINITE:
                p.impulse[i] = 0.5 * (low + high) if high < INFINITE else low + push
                if high < INFINITE and high > low and p.count[2]:
                    w.dual[i] = w.upper[i] = 2.0 * energy / (high - low)
            elif high < INFINITE:
                p.impulse[i] = high - push
    evaluate(p, w, k, k + 1)
    return energy


@part
def _load(p, w, c, exact, small):
    """C, s, z, T and the gap T (C u − z) of a friction set into the small workspace; returns its rows."""
    size, i = _cone(p, c, small), p.start[c]
    C, s, z, gap = small[CONE], small[S], small[Z], small[GAP]
    for r in range(size):
        x, u = p.impulse[i + r], p.row_velocity[i + r]
        if r == 0:
            x += p.parameter[c, 5]
        s[r] = x / C[r] if C[r] > 0.0 else 0.0
        z[r] = w.dual[i + r]
        gap[r] = C[r] * u - z[r] if C[r] > 0.0 else 0.0
    turn = small[TURN]
    slip = length_of_tail(z, 0, size) if exact and p.kind[c] < RELAXED else 0.0
    gap[0] += slip
    for r in range(1, size):
        turn[r] = z[r] / slip if slip > 0.0 else 0.0
        gap[0] += turn[r] * gap[r]
    return size


@part
def _distance(p, w, k, small):
    """Mean of s · z over the cones and bounds."""
    total = 0.0
    count = 0
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, kind = p.start[c], p.kind[c]
        if kind >= COULOMB:
            if kind % RELAXED == ROLLING:
                size = load_rolling(p, w, c, False, small)
                count += 1
            else:
                size = _load(p, w, c, False, small)
            count += 1
            for r in range(size):
                total += small[S, r] * small[Z, r]
            continue
        low, high = bounds(kind, p.parameter[c])
        if low == high:
            continue
        if low > -INFINITE:
            total += (p.impulse[i] - low) * w.dual[i]
            count += 1
        if high < INFINITE:
            total += (high - p.impulse[i]) * w.upper[i]
            count += 1
    return total / max(count, 1)


@part
def _aim(p, w, k, aim, small):
    """K, f and K L of the constraints for an aim."""
    target, corrected = aim[0], aim[1]
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, kind = p.start[c], p.kind[c]
        if kind % RELAXED == ROLLING:
            if not aim_rolling(p, w, c, aim, small):
                return False
            continue
        if kind >= COULOMB:
            if not _aim_cone(p, w, c, aim, small):
                return False
            continue
        x, u = p.impulse[i], p.row_velocity[i]
        low, high = bounds(kind, p.parameter[c])
        if kind == FREE or (low <= -INFINITE and high >= INFINITE):
            hold_row(p, w, c, 0, p.compliance[i] + _SOFT * w.mobility[c, 0], u)
        elif low == high:
            w.K[c, 0, 0], w.f[i] = 0.0, x - low
            clear_row(p, w, c, 0)
        else:
            stiff, right = p.compliance[i], -u
            if low > -INFINITE:
                stiff += w.dual[i] / (x - low)
                right += _goal(x - low, w.dual[i], target, w.step[i], w.dual_step[i], corrected) + w.dual[i]
            if high < INFINITE:
                stiff += w.upper[i] / (high - x)
                right -= _goal(high - x, w.upper[i], target, -w.step[i], w.upper_step[i], corrected)
                right -= w.upper[i]
            hold_row(p, w, c, 0, stiff, -right)
    return True


@part
def _goal(s, z, target, ds, dz, corrected):
    """The change of z at a bound, but for what the change of s makes of it."""
    return (target - (ds * dz if corrected else 0.0)) / s - z


@part
def _turned(p, w, c, aim, small):
    """Scaling of a friction set and V r into _R; returns the scale η, not a number outside the cones."""
    size = _load(p, w, c, aim[2], small)
    i, target, corrected = p.start[c], aim[0], aim[1]
    if corrected:
        for r in range(size):
            small[DS, r] = w.step[i + r] / small[CONE, r] if small[CONE, r] > 0.0 else 0.0
            small[DZ, r] = w.dual_step[i + r]
    eta = scaled_goal(target, corrected, 0, size, small)
    scale(small[W], eta, 0, size, small[R], MOST_ROWS, small[R], 0)
    return eta


@part
def _aim_cone(p, w, c, aim, small):
    """The same of a friction set; False outside the cones."""
    eta = _turned(p, w, c, aim, small)
    if not eta > 0.0:
        return False
    i, size = p.start[c], p.start[c + 1] - p.start[c]
    C, A, turn = small[CONE], small[MATRIX : MATRIX + MOST_ROWS], small[TURN]
    if p.count[2]:
        unscale(small[W], eta, 0, size, small[R], MOST_ROWS, small[WORK], 0)
    soft = False
    for r in range(size):
        soft = soft or p.compliance[i + r] != 0.0
        total = small[R, r]
        for s in range(size):
            if p.count[2]:
                A[r, s] = inverse_square(small[W], eta, 0, r, s) / (C[r] * C[s])
                A[r, size + s] = 1.0 if r == s else turn[s] * C[s] / C[0] if r == 0 else 0.0
                continue
            square = _square(small[W], eta, r, s)
            total -= square * small[GAP, s]
            if s > 0:
                square += _square(small[W], eta, r, 0) * turn[s]
            A[r, size + s] = C[r] * square * C[s]
        if p.count[2]:
            A[r, 2 * size] = (small[GAP, r] - small[WORK, r]) / C[r]
        else:
            A[r, 2 * size] = -C[r] * total if C[r] > 0.0 else p.impulse[i + r]
    for r in range(size):
        for s in range(size):
            if not p.count[2]:
                A[r, s] = 1.0 if r == s else 0.0
            if soft:
                A[r, s] += A[r, size + s] * p.compliance[i + s]
    if not keep_equations(p, w, c, A, size):
        return False
    if aim[3]:
        weigh_rows(p, w, c)
    return True


@part
def _square(direction, eta, r, s):
    """Entry (r, s) of V² = η² (2 w wᵀ − J)."""
    value = 2.0 * direction[r] * direction[s]
    if r == s:
        value += -1.0 if r == 0 else 1.0
    return value * eta * eta


@part
def _change(p, w, k, aim, small):
    """Changes of impulses and slacks for the change of the velocities; returns how far they may go."""
    far = 2.0
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        begin, end = p.start[c], p.start[c + 1]
        friction = p.kind[c] >= COULOMB
        if p.kind[c] % RELAXED == ROLLING:
            far = min(far, change_rolling(p, w, c, aim, small))
            continue
        if friction:
            _load(p, w, c, aim[2], small)
        for i in range(begin, end):
            step = impulse_step(p, w, c, i)
            if not friction:
                far = min(far, _change_bounds(p, w, c, step, aim[0], aim[1]))
                continue
            rate = p.compliance[i] * step
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                rate += p.left[e] * w.change[p.column[e]]
            r = i - begin
            w.step[i] = step
            w.dual_step[i] = small[CONE, r] * rate + small[GAP, r]
            small[DS, r] = step / small[CONE, r] if small[CONE, r] > 0.0 else 0.0
            small[DZ, r] = w.dual_step[i]
            if r > 0:
                small[DZ, 0] += small[TURN, r] * small[CONE, r] * rate
        if friction:
            size = end - begin
            w.dual_step[begin] = small[DZ, 0]
            far = min(far, room(small[S], small[DS], 0, size), room(small[Z], small[DZ], 0, size))
    return far


@part
def _change_bounds(p, w, c, step, target, corrected):
    """The same of a row with bounds, whose impulse changes by `step`."""
    i, far = p.start[c], math.inf
    low, high = bounds(p.kind[c], p.parameter[c])
    x, last = p.impulse[i], w.step[i]
    w.step[i] = step
    if p.kind[c] == FREE or low == high:
        return far
    if low > -INFINITE:
        s, z = x - low, w.dual[i]
        change = _goal(s, z, target, last, w.dual_step[i], corrected) - z / s * step
        w.dual_step[i] = change
        if step < 0.0:
            far = min(far, s / -step)
        if change < 0.0:
            far = min(far, z / -change)
    if high < INFINITE:
        s, z = high - x, w.upper[i]
        change = _goal(s, z, target, -last, w.upper_step[i], corrected) + z / s * step
        w.upper_step[i] = change
        if step > 0.0:
            far = min(far, s / step)
        if change < 0.0:
            far = min(far, z / -change)
    return far
