"""Compiled: work of contacts, and whether a step would gain energy from them.

Impulses change v to v′; the scene then moves with v̄ = v′ + δ, which has the way of the step (`smooth`). An
impulse does its work on the mean of the velocities before and after it, without δ: a body that turns by
radians a step has a mean spin far below its spin.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.dynamics.rows import DRIVE
from perp.stepping.contact_rows import bounces
from perp.stepping.world import JOINTS


@part
def contact_work(w, k, turn):
    """Work of the contacts of island k that neither bounce, spring nor move on a belt [J].

    With `turn` that on the way of the step, else that on the velocities without δ; less what those may do
    that undo overlap.
    """
    p, work, joints, total = w.problem, w.workspace, w.count[JOINTS], 0.0
    back = 0.0 if turn else 1.0
    for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
        constraint = work.island_constraint[a]
        c, first = constraint - joints, p.start[constraint]
        if c < 0 or p.impulse[first] <= 0.0 or w.left_out[c]:
            continue
        if w.bounce[c] > 0.0 and bounces(w, c):
            continue
        belt = w.start.surface[c]
        if p.compliance[first] > 0.0 or belt[0] != 0.0 or belt[1] != 0.0 or belt[2] != 0.0:
            continue
        if w.start.gap[c] < -w.start.accuracy[c]:
            total -= p.impulse[first] * w.recovery
        for i in range(first, p.start[constraint + 1]):
            mean = 0.0
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                j = p.column[e]
                mean += p.value[e] * (0.5 * (p.velocity[j] + p.free_velocity[j]) - back * w.delta[j])
            total += p.impulse[i] * mean
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
def contacts_feed(w, share):
    """Whether an island gains more than this share of its kinetic energy from its contacts."""
    work, joints = w.workspace, w.count[JOINTS]
    for k in range(w.solve_info[0]):
        bouncing, passive = False, True
        for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
            c = work.island_constraint[a] - joints
            if c < 0:
                passive = passive and w.law[c + joints] != DRIVE
            elif not w.left_out[c]:
                passive = passive and w.start.gap[c] >= -w.start.accuracy[c]
                bouncing = bouncing or (w.bounce[c] > 0.0 and bounces(w, c))
        gain, kinetic = power(w, k)
        if not (bouncing and passive):
            gain = contact_work(w, k, False)
        if gain > 0.0 and gain > share * kinetic + noise(w, k):
            return True
    return False
