"""Compiled mean arms: impulses that do the work of the way, for contacts that would feed a body that turns.

An impulse that acts where the contact was at the start feeds a body that turns far within a step. With the
arm averaged over the turn the way of a carried point is h (v + ω × r̄) exactly, so that a contact that closes
takes energy whatever the step.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.dynamics.motion import turn_coefficients
from perp.dynamics.motions import body_velocities
from perp.stepping.contact_rows import refill
from perp.stepping.feeding import contact_work, noise
from perp.stepping.smooth import kinetic_energy
from perp.stepping.world import JOINTS

# Work of contacts beyond this share of the kinetic energy is worth solving the step again.
_GAIN = 1e-9


@part
def average_arms(w):
    """Whether contacts of an island did positive work; they then act with the arms of the way it went."""
    p, work, s, start = w.problem, w.workspace, w.scene, w.start
    joints, changed = w.count[JOINTS], False
    allowed = _GAIN * kinetic_energy(w, p.free_velocity)
    for k in range(w.solve_info[0]):
        work_done = contact_work(w, k, True)
        if not work_done > allowed or not work_done > allowed + noise(w, k):
            continue
        if not changed:
            body_velocities(s, start, p.velocity, w.twist, w.body_velocity)
        changed = True
        for a in range(work.island_constraint_start[k], work.island_constraint_start[k + 1]):
            c = work.island_constraint[a] - joints
            if c >= 0 and not w.left_out[c]:
                _average(w, c)
                refill(w, c)
    return changed


@part
def _average(w, c):
    """Where the impulse of contact c acts: r̄ in place of the arm of each carried point."""
    place = w.start
    for side in range(2):
        b = place.body[c, side]
        if b < 0:
            continue
        sign = -1.0 if side == 0 else 1.0
        u, x, p = w.body_velocity[b], place.x[b], w.carried[c, side]
        wx, wy, wz = w.h * u[3], w.h * u[4], w.h * u[5]
        first, second = turn_coefficients(wx, wy, wz)
        sx, sy, sz = p[0] - x[0], p[1] - x[1], p[2] - x[2]
        cx, cy, cz = wy * sz - wz * sy, wz * sx - wx * sz, wx * sy - wy * sx
        inward = sign * place.round[c, side]
        n = place.frame[c, 0]
        w.acts[c, side, 0] = p[0] - inward * n[0] + first * cx + second * (wy * cz - wz * cy)
        w.acts[c, side, 1] = p[1] - inward * n[1] + first * cy + second * (wz * cx - wx * cz)
        w.acts[c, side, 2] = p[2] - inward * n[2] + first * cz + second * (wx * cy - wy * cx)
