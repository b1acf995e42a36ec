"""The end of a step: how well its rows hold, its energies and momenta, what there is to say about it."""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.dynamics.measuring import measure, row_of
from perp.dynamics.motions import body_velocities
from perp.dynamics.place import go_to
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import HOLD
from perp.dynamics.scalar_tables import COUPLE, ROTOR, TABLE
from perp.kernels.arrays import fill
from perp.kernels.borrowed import onward
from perp.kernels.friction_laws import violation
from perp.kernels.tree_state import measure_rows
from perp.stepping.feeding import gains
from perp.stepping.recalled import remember
from perp.stepping.second_look import excess, immobile, overlap
from perp.stepping.world import CLEAN, CONTACTS, JOINTS, LATE, LEFT_OUT, ROTORS

# Positions in `info` and `figure`.
NEWTON, SOLVES, ROUNDS, LOOKS, UNSOLVED = range(LEFT_OUT)
BOUNCES, WANTED, CAUSE, PULLED, DEPENDENT = range(LEFT_OUT + 1, 11)
FOUND = 12
RESIDUAL, JOINT_RESIDUAL, CONTACT_RESIDUAL, FRICTION_RESIDUAL, PENETRATION, JOINT_ERROR, TRAVEL = range(7)
KINETIC, POTENTIAL, LINEAR, ANGULAR = 7, 8, 9, 12
WORST_ROW, EXCESS, OPEN, GAINED = 15, 16, 17, 18
# Causes after which a step is none: numbers overflow, contacts fill mujoco's memory (see `course.advance`).
FAILED, FULL = 6, 7
# Of `GAINED`, as long as nobody has looked.
UNKNOWN = -1.0
# Overlap at the end that a step may leave beyond what it should, as a share of the largest body.
OVERLAP_ALLOWED = 5e-4
# Joints that velocity level may leave open, as a share of the largest body.
OPEN_ALLOWED = 0.05
# A body that moves a million times its own size in a step has been pushed by mistake.
LARGEST_TRAVEL = 1e6
# What a solve may leave of the tolerance: the rest is for the curvature of the rows.
SHARE = 0.1


@part
def start_rotors(w, place):
    """Rates of rotors whose bodies do not move as the last step said, from their velocities."""
    s = w.scene
    if not s.cut:
        return
    known = False
    for r in range(s.rotor_dof.size):
        i = row_of(s, s.rotor_dof[r])
        same = w.count[ROTORS] != 0
        for side in range(2):
            b = s.links[i, 1 + side]
            for k in range(6):
                same = same and (b < 0 or w.rotor_v[6 * b + k] == w.v[6 * b + k])
        if same:
            continue
        if not known:
            known = True
            evaluate_rows(
                s.links, s.geometry, place.x, place.quat, place.R, w.turns, w.table_value_end, w.table_row_end
            )
        rate = 0.0
        for side in range(2):
            b = s.links[i, 1 + side]
            for k in range(6):
                if b >= 0:
                    rate += w.table_row_end[i, 6 * side + k] * w.v[6 * b + k]
        w.rotor_rate[r] = rate


@part
def judge(w):
    """Residuals of the step by block, in their own units, and the worst over its scale."""
    p, work, g = w.problem, w.workspace, np.empty(8)
    joints, worst = w.count[JOINTS], 0.0
    for c in range(p.count[0]):
        i = p.start[c]
        size = p.start[c + 1] - i
        measure_rows(p, c)
        value, _ = violation(
            p.kind[c], p.parameter[c], size, work.mobility[c], onward(p.impulse, i),
            onward(p.row_velocity, i), onward(p.unit, i), g,
        )  # fmt: skip
        value *= SHARE * w.tolerance
        if not value <= worst:
            worst, w.figure[WORST_ROW] = value, c
        if c < joints:
            w.figure[JOINT_RESIDUAL] = max(w.figure[JOINT_RESIDUAL], value * w.length)
        else:
            normal = abs(min(work.mobility[c, 0] * (p.impulse[i] + p.parameter[c, 5]), p.row_velocity[i]))
            w.figure[CONTACT_RESIDUAL] = max(w.figure[CONTACT_RESIDUAL], w.h * normal)
            w.figure[FRICTION_RESIDUAL] = max(w.figure[FRICTION_RESIDUAL], value * w.speed)
    w.figure[RESIDUAL] = worst


@part
def mechanics(w):
    """Energies and momenta at the end."""
    s, place, u, f = w.scene, w.end, w.body_velocity, w.figure
    for b in range(s.mass.size):
        spin0 = spin1 = spin2 = 0.0
        R = place.R[b]
        for k in range(3):
            rate = R[0, k] * u[b, 3] + R[1, k] * u[b, 4] + R[2, k] * u[b, 5]
            f[KINETIC] += 0.5 * s.inertia[b, k] * rate * rate
            spin0 += R[0, k] * s.inertia[b, k] * rate
            spin1 += R[1, k] * s.inertia[b, k] * rate
            spin2 += R[2, k] * s.inertia[b, k] * rate
        x, m = place.x[b], s.mass[b]
        for k in range(3):
            f[KINETIC] += 0.5 * m * u[b, k] * u[b, k]
            f[POTENTIAL] -= m * s.gravity[k] * x[k]
            f[LINEAR + k] += m * u[b, k]
        f[ANGULAR] += spin0 + m * (x[1] * u[b, 2] - x[2] * u[b, 1])
        f[ANGULAR + 1] += spin1 + m * (x[2] * u[b, 0] - x[0] * u[b, 2])
        f[ANGULAR + 2] += spin2 + m * (x[0] * u[b, 1] - x[1] * u[b, 0])
    for j in range(w.v_end.size):
        f[KINETIC] += 0.5 * s.armature[j] * w.v_end[j] ** 2
    for i in range(s.rotor_dof.size):
        f[KINETIC] += 0.5 * s.rotor_inertia[i] * w.rotor_rate[i] ** 2
    for i in range(s.yield_dof.size):
        stretch = w.turns_end[row_of(s, s.yield_dof[i])] - s.yield_target[i]
        f[POTENTIAL] += 0.5 * s.yield_stiffness[i] * stretch**2
    f[POTENTIAL] += _spring_energy(w)


@part
def _spring_energy(w):
    """Energy of the springs of coordinates and tendons at the end [J]."""
    s, q, total = w.scene, w.q_end, 0.0
    for i in range(s.spring_at.size):
        a, reference = s.spring_at[i], s.spring_reference[i]
        stretch = q[a] - reference[0]
        if s.spring_turns[i]:
            cosine = abs(
                q[a] * reference[0]
                + q[a + 1] * reference[1]
                + q[a + 2] * reference[2]
                + q[a + 3] * reference[3]
            )
            stretch = 2.0 * math.acos(min(cosine, 1.0))
        total += 0.5 * s.spring_stiffness[i] * stretch**2
    for t in range(s.tendon_count.size):
        length = w.end.tendon_length[t]
        stretch = length - min(max(length, s.tendon_spring[t, 0]), s.tendon_spring[t, 1])
        total += 0.5 * s.tendon_stiffness[t] * stretch**2
    return total


@part
def verdict(w):
    """Overlap, joint error and how far coordinates moved."""
    s, place, f = w.scene, w.end, w.figure
    deepest = worst = overlapping = 0.0
    for c in range(place.count[0]):
        if place.gap[c] < 0.0:
            deepest = min(deepest, place.gap[c])
            if w.level[1] and not immobile(w, c):
                # what the start of a run has is undone with patience; what steps have made is overlap
                worst = max(worst, overlap(w, c) if w.count[CLEAN] else excess(w, c))
                overlapping = max(overlapping, overlap(w, c))
    f[PENETRATION], f[EXCESS] = -deepest, worst
    if overlapping <= OVERLAP_ALLOWED * s.size:
        w.count[CLEAN] = 1
    for k in range(w.count[JOINTS]):
        if w.law[k] != HOLD:
            continue
        p, i = w.problem, w.index[k]
        soft = w.row_compliance[s.identity_base[w.group[k]] + i]
        error = soft * p.impulse[k] / w.h
        if w.group[k] == TABLE:
            error += w.turns_end[i]
        elif w.group[k] == COUPLE:
            error += w.linear[k]
            for e in range(p.row_begin[k], p.row_begin[k + 1]):
                error += w.h * p.left[e] * p.velocity[p.column[e]]
        else:
            continue
        f[JOINT_ERROR] = max(f[JOINT_ERROR], abs(error))
        if soft == 0.0:
            f[OPEN] = max(f[OPEN], abs(error))
    far = 0.0
    for b in range(s.mass.size):
        for k in range(3):
            moved = abs(place.x[b, k] - w.start.x[b, k])
            if not moved <= far:
                far = moved
        for k in range(6):
            if not abs(w.body_velocity[b, k]) < np.inf:
                far = np.inf
    f[TRAVEL] = far if far <= LARGEST_TRAVEL * (s.size if 0.0 < s.size < np.inf else 1.0) else np.inf


@part
def finish(w):
    """The state at the end, and what there is to say about the step."""
    judge(w)
    s, place, p = w.scene, w.end, w.problem
    if s.law.size:
        evaluate_rows(
            s.links, s.geometry, place.x, place.quat, place.R, w.table_value, w.turns_end, w.table_row_end
        )
        for k in range(w.count[JOINTS]):
            if w.group[k] == ROTOR:
                rate = 0.0
                for e in range(p.row_begin[k], p.row_begin[k + 1]):
                    rate += p.value[e] * p.velocity[p.column[e]]
                w.rotor_rate[w.index[k]] = rate
        w.rotor_v[:], w.count[ROTORS] = w.v_end, 1
        if s.measured.shape[0]:
            measure(s, place, w.turns_end, w.entry)
    mechanics(w)
    verdict(w)
    w.info[PULLED], w.info[FOUND] = w.count[LATE], w.count[CONTACTS]
    if w.figure[GAINED] == UNKNOWN:
        w.figure[GAINED] = 1.0 if gains(w, 0.0)[1] else 0.0
    # 1 the problem is not solved, 2 rows do not hold at the end, 3 shapes overlap, 4 joints are open, 5 there
    # is energy that nothing gave
    w.info[CAUSE] = 0
    if not w.figure[TRAVEL] < np.inf:
        w.info[CAUSE] = FAILED
    elif not w.figure[RESIDUAL] <= w.tolerance:
        w.info[CAUSE] = 1 if w.info[UNSOLVED] else 2
    elif w.figure[EXCESS] > OVERLAP_ALLOWED * s.size:
        w.info[CAUSE] = 3
    elif w.figure[OPEN] > (OVERLAP_ALLOWED if w.level[0] else OPEN_ALLOWED) * s.size:
        # rows that were left out as dependent count here like all others; what is soft may be anywhere
        w.info[CAUSE] = 4
    elif w.figure[GAINED] > 0.0:
        w.info[CAUSE] = 5
    remember(w)
    if not w.foreign and (w.info[CAUSE] == 1 or w.info[CAUSE] == 2):
        # impulses that satisfy nothing are no start for the next step
        w.old_count[0] = 0
        fill(w.old_joint, 0.0)


@kernel
def energy_at(w):
    """Kinetic and potential energy of the world's state [J]."""
    s, place = w.scene, w.end
    go_to(s, place, w.q, True)
    w.q_end[:], w.v_end[:], w.turns_end[:], w.figure[:] = w.q, w.v, w.turns, 0.0
    if s.measured.shape[0]:
        measure(s, place, w.turns, w.entry)
    body_velocities(s, place, w.v, w.twist, w.body_velocity)
    start_rotors(w, place)
    mechanics(w)
    return w.figure[KINETIC] + w.figure[POTENTIAL]
