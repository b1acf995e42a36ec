"""Compiled: work of contacts, and whether a step gains energy that nothing gives it.

Impulses change v to v′; the scene then moves with v̄ = v′ + δ, which has the way of the step (`smooth`). An
impulse does its work on the mean of the velocities before and after it, without δ: a body that turns by
radians a step has a mean spin far below its spin. Where nothing but weight and passive rows act on an island
its energies at the start and at the end are compared, which sees whatever has gone wrong between them.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.rows import DRIVE, LIMIT
from perp.kernels.borrowed import numbers_of, onward
from perp.stepping.contact_rows import bounces
from perp.stepping.pauses import recovery_of
from perp.stepping.smooth import kinetic_energy
from perp.stepping.world import JOINTS

# Energy that a step may give free bodies, as a share of what they have, and a height in sizes of a body: what
# counts as no overlap may be undone. Free flight itself keeps energy to round-off.
_FREE_SHARE, _LIFT = 1e-3, 1e-5
# The share from which a step is taken again as an impact at its start. That gains nothing but leaves overlap:
# with 1e-3 bodies that roll by half a radian a step sink (`test_energy_of_impacts`, seeds 129 and 204).
_CALM_SHARE = 1e-2
# The same for trees of several bodies and for joints: a double pendulum at tenths of a radian a step gives
# and takes some hundredths, also where it hardly moves.
_JOINTED_SHARE = 5e-2
_FREEDOMS = 6


@part
def contact_work(w, k, turn):
    """Work of the contacts of island k that neither bounce, spring nor move on a belt [J].

    With `turn` that on the way of the step, else that on the velocities without δ; less what those may do
    that undo overlap.
    """
    p, work, joints = w.problem, w.workspace, w.count[JOINTS]
    back = 0.0 if turn else 1.0
    all_count, total, undone = True, 0.0, 0.0
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        constraint = work.island_constraint[a]
        if not _works(w, constraint):
            i = p.start[constraint]
            while all_count and i < p.start[constraint + 1]:
                all_count = p.impulse[i] == 0.0
                i += 1
            continue
        c = constraint - joints
        if w.start.gap[c] < -w.start.accuracy[c]:
            undone += p.impulse[p.start[constraint]] * recovery_of(w, constraint)
    if all_count:
        # Jᵀ λ = M (v − v̂)
        for a in range(work.island_tree_start[k], work.island_tree_start[k + 1]):
            total += _work_on(w, work.island_tree[a], back)
        return total - undone
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        constraint = work.island_constraint[a]
        if not _works(w, constraint):
            continue
        for i in range(p.start[constraint], p.start[constraint + 1]):
            mean = 0.0
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                j = p.column[e]
                mean += p.value[e] * (0.5 * (p.velocity[j] + p.free_velocity[j]) - back * w.delta[j])
            total += p.impulse[i] * mean
    return total - undone


@part
def _works(w, constraint):
    """Whether a constraint is a contact that pushes and neither bounces, springs nor moves on a belt."""
    p, c = w.problem, constraint - w.count[JOINTS]
    first = p.start[constraint]
    if c < 0 or p.impulse[first] <= 0.0 or w.left_out[c] or p.compliance[first] > 0.0:
        return False
    if w.bounce[c] > 0.0 and bounces(w, c):
        return False
    belt = w.start.surface
    return belt[c, 0] == 0.0 and belt[c, 1] == 0.0 and belt[c, 2] == 0.0


@part
def _work_on(w, t, back):
    """Work of all impulses on tree t, as in `contact_work` [J]."""
    p, total = w.problem, 0.0
    first, at = p.tree_start[t], p.mass_start[t]
    n = p.tree_start[t + 1] - first
    v, free, delta = onward(p.velocity, first), onward(p.free_velocity, first), onward(w.delta, first)
    for i in range(n):
        mass, push = onward(p.mass, at + i * n), 0.0
        for j in range(n):
            push += mass[j] * (v[j] - free[j])
        total += push * (0.5 * (v[i] + free[i]) - back * delta[i])
    return total


@part
def power(w, k):
    """Energy that the impulses of island k give beyond the work of all forces [J], and its kinetic energy."""
    p, work = w.problem, w.workspace
    gain = kinetic = 0.0
    for a in range(work.island_tree_start[k], work.island_tree_start[k + 1]):
        t = work.island_tree[a]
        first, at = p.tree_start[t], p.mass_start[t]
        n = p.tree_start[t + 1] - first
        for i in range(first, first + n):
            after = p.velocity[i] - w.delta[i]
            for j in range(first, first + n):
                m = 0.5 * p.mass[at + (i - first) * n + j - first]
                gain += m * (after * (p.velocity[j] - w.delta[j]) - w.v[i] * w.v[j])
                kinetic += m * w.v[i] * w.v[j]
            gain -= w.h * w.force[i] * after
    return gain, kinetic


@part
def noise(w, k):
    """Work that contacts of island k do within the tolerance of their rows [J]."""
    p, work, joints, total = w.problem, w.workspace, w.count[JOINTS], 0.0
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        c = work.island_constraint[a]
        if c >= joints:
            for i in range(p.start[c], p.start[c + 1]):
                total += abs(p.impulse[i]) * p.unit[i]
    return total


@part
def _given(w):
    """Energy that the step gives each tree into `guess`, weights times sizes into `near_velocity`.

    Both [J]; NaN where more than weight acts on a tree. Kinetic energies of the start go into `change` of
    the workspace, numbers of bodies into `coriolis`.
    """
    s, p, gain, bodies, lift, u = w.scene, w.problem, w.guess, w.coriolis, w.near_velocity, w.body_velocity
    kinetic = w.workspace.change
    g = s.gravity
    weight = math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2)
    for t in range(p.tree_start.size - 1):
        kinetic[t] = _kinetic(w, t)
        gain[t], bodies[t], lift[t] = -kinetic[t], 0.0, 0.0
        for j in range(p.tree_start[t], p.tree_start[t + 1]):
            gain[t] += 0.5 * s.armature[j] * w.v_end[j] ** 2
            if w.extra[j] != 0.0 or w.force[j] != w.weight[j]:
                gain[t] = np.nan
    for b in range(s.mass.size):
        t, R, m = w.body_tree[b], numbers_of(w.end.R, b), s.mass[b]
        twist, spin = numbers_of(u, b), onward(numbers_of(u, b), 3)
        bodies[t] += 1.0
        size = s.bound[b] if s.bound[b] > 0.0 else 1.0
        # without weight too, a body that moves by less than its rows hold to is at rest
        lift[t] += m * size * (weight + size * (w.tolerance / w.h) ** 2)
        for k in range(3):
            rate = R[k] * spin[0] + R[3 + k] * spin[1] + R[6 + k] * spin[2]
            gain[t] += 0.5 * (s.inertia[b, k] * rate * rate + m * twist[k] * twist[k])
            gain[t] -= m * g[k] * (w.end.x[b, k] - w.start.x[b, k])


@part
def _is_free(w, t):
    """Whether a tree is one body without joints."""
    return w.coriolis[t] == 1.0 and w.problem.tree_start[t + 1] - w.problem.tree_start[t] == _FREEDOMS


@part
def _allowed(free, kinetic, lift):
    """Energy that a step may give [J]."""
    return _FREE_SHARE * kinetic + _LIFT * lift if free else _JOINTED_SHARE * (kinetic + lift)


@part
def _kinetic(w, t):
    """Kinetic energy of a tree at the start [J]."""
    p, total = w.problem, 0.0
    first, at = p.tree_start[t], p.mass_start[t]
    n = p.tree_start[t + 1] - first
    v = onward(w.v, first)
    for i in range(n):
        mass, moved = onward(p.mass, at + i * n), 0.0
        for j in range(n):
            moved += mass[j] * v[j]
        total += 0.5 * moved * v[i]
    return total


@part
def _undone(w, c):
    """Energy that contact c may give because it undoes overlap of the start [J].

    An impulse λ that changes u⁻ to u gives λ (u + u⁻)/2, and λ against the weights of the step.
    """
    p, first, change = w.problem, w.problem.start[w.count[JOINTS] + c], 0.0
    if w.start.gap[c] >= -w.start.accuracy[c]:
        return 0.0
    for e in range(p.row_begin[first], p.row_begin[first + 1]):
        j = p.column[e]
        change += p.value[e] * (p.velocity[j] - p.free_velocity[j])
    speed = min(w.approach[c] + 0.5 * change, recovery_of(w, w.count[JOINTS] + c), -w.start.gap[c] / w.h)
    return p.impulse[first] * max(speed, 0.0)


@part
def _gain_of(w, k):
    """Energy that nothing gives island k, NaN where something may; what is allowed; what it has.

    And whether it has no joints.
    """
    p, work, joints = w.problem, w.workspace, w.count[JOINTS]
    gain = kinetic = lift = 0.0
    free = True
    for a in range(work.island_tree_start[k], work.island_tree_start[k + 1]):
        t = work.island_tree[a]
        gain, lift, kinetic = gain + w.guess[t], lift + w.near_velocity[t], kinetic + work.change[t]
        free = free and _is_free(w, t)
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        constraint = work.island_constraint[a]
        c = constraint - joints
        if p.compliance[p.start[constraint]] > 0.0:
            gain = np.nan
        if c < 0:
            free = False
            # a drive gives, a limit that was passed and a joint that was open give as they are put right
            off = w.value[constraint] if w.law[constraint] == LIMIT else -abs(w.value[constraint])
            if w.law[constraint] > LIMIT or off < -_LIFT * w.scene.size:
                gain = np.nan
            continue
        if w.left_out[c]:
            continue
        belt = w.start.surface[c]
        if belt[0] != 0.0 or belt[1] != 0.0 or belt[2] != 0.0 or p.parameter[constraint, 5] > 0.0:
            gain = np.nan
        gain -= _undone(w, c)
    allowed = _allowed(free, kinetic, lift)
    return gain, allowed + noise(w, k) if gain > allowed else allowed, kinetic, free


@part
def gains(w, share):
    """Whether contacts feed an island, and whether there is energy that nothing gave.

    Contacts feed where they give more than this share of the kinetic energy, and free bodies where they gain
    any from what the step did. Energy is looked for in contact and in free motion.
    """
    p = w.problem
    _given(w)
    feeds = rises = False
    islands = w.solve_info[0] if p.count[0] else 0
    for k in range(islands):
        given, allowed, kinetic, free = _gain_of(w, k)
        rises = rises or given > allowed
        if free and not math.isnan(given):
            feeds = feeds or given > allowed + _CALM_SHARE * kinetic
        elif not feeds:
            gain = _gain_of_contacts(w, k)
            feeds = gain > 0.0 and gain > share * kinetic + noise(w, k)
    for t in range(p.tree_start.size - 1):
        alone = islands == 0 or w.workspace.island_of[t] < 0
        if alone and w.guess[t] > _allowed(_is_free(w, t), w.workspace.change[t], w.near_velocity[t]):
            rises = True
    return feeds, rises


@part
def _gain_of_contacts(w, k):
    """Energy that the contacts of island k give [J]; of all its impulses where they bounce."""
    work, joints = w.workspace, w.count[JOINTS]
    bouncing, passive = False, True
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        c = work.island_constraint[a] - joints
        if c < 0:
            passive = passive and w.law[c + joints] != DRIVE
        elif not w.left_out[c]:
            passive = passive and w.start.gap[c] >= -w.start.accuracy[c]
            bouncing = bouncing or (w.bounce[c] > 0.0 and bounces(w, c))
    return power(w, k)[0] if bouncing and passive else contact_work(w, k, False)


@part
def is_fed(w, most):
    """Whether an answer has more than `most` of the kinetic energy of the free motion, with no drive."""
    for k in range(w.count[JOINTS]):
        if w.law[k] == DRIVE:
            return False
    p = w.problem
    for j in range(p.velocity.size):
        w.guess[j] = p.velocity[j] - w.delta[j]
    return kinetic_energy(w, w.guess) > most * kinetic_energy(w, w.kick)
