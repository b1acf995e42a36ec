"""Compiled joint rows of a step: collected at its start, and their values and Jacobians at its end.

    HOLD    c + Σ f = 0                    joints between bodies, equalities of coordinates and tendons
    LIMIT   c ≥ 0 ⊥ f ≥ 0                  limits within reach of the step
    DRIVE   λ = h F₀ − K (J v⁺), clipped   motors with a limit, dry friction (K = ∞), springs and dampers
    between
            bodies and of tendons, rotors of cut joints

Springs and dampers of coordinates, and motors without a force limit on one freedom, are no rows: their
gains are added to the diagonal of M.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.motions import body_entries, pair_columns, turn_entries
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import (
    ARMATURE,
    DAMPING,
    DRIVE,
    FORCE,
    FORCE_LIMIT,
    HOLD,
    LIMIT,
    RATE,
    STIFFNESS,
    TARGET,
)
from perp.dynamics.scalar_tables import (
    BALL,
    COUPLE,
    ELASTIC,
    LOWER,
    MOTOR,
    RUB,
    TABLE,
    TENDON_LOWER,
    TENDON_RUB,
    TENDON_UPPER,
    UPPER,
)
from perp.problems.sets import BOX, FREE, NONNEGATIVE
from perp.stepping.pauses import recovery_of
from perp.stepping.world import JOINTS

# Limits this near [rad or m], or within a few steps of travel, are rows.
_NEAR, _STEPS = 0.1, 4.0


@part
def _add(w, group, index, law, value):
    """A new row, whose entries follow; returns its number and where they begin."""
    p, k = w.problem, w.count[JOINTS]
    w.count[JOINTS] = k + 1
    w.group[k], w.index[k], w.law[k], w.value[k], w.linear[k] = group, index, law, value, value
    w.drive[k], w.stiffness[k], w.gain[k] = 0.0, 0.0, np.inf
    p.kind[k] = NONNEGATIVE if law == LIMIT else FREE
    p.start[k], p.start[k + 1] = k, k + 1
    identity = w.scene.identity_base[group] + index
    share = 1.0 if w.joints_at_end else w.row_correction[identity]
    p.compliance[k], p.bias[k] = share * w.row_compliance[identity] / (w.h * w.h), 0.0
    p.impulse[k] = w.h * w.old_joint[identity]
    return k, p.row_begin[k]


@part
def _drive(w, k, force, stiffness, gain, low, high):
    """Make row k a drive; for an infinite gain `force` is the rate that it holds."""
    p = w.problem
    w.drive[k], w.stiffness[k], w.gain[k] = force, stiffness, gain
    p.compliance[k] = 1.0 / gain if gain < 1e300 else 0.0
    if low > -1e300 or high < 1e300:
        p.kind[k] = BOX
        p.parameter[k, 0], p.parameter[k, 1] = w.h * low, w.h * high


@part
def _one(w, k, at, dof, sign):
    p = w.problem
    p.column[at], p.value[at], p.row_begin[k + 1] = dof, sign, at + 1


@part
def _tendon(w, place, k, at, t, sign):
    s, p, n = w.scene, w.problem, w.scene.tendon_count[t]
    for e in range(n):
        p.column[at + e] = s.tendon_column[s.tendon_begin[t] + e]
        p.value[at + e] = sign * place.tendon_J[s.tendon_begin[t] + e]
    p.row_begin[k + 1] = at + n


@part
def collect_rows(w):
    """The joint rows of a step.

    Gains and forces of motors that need none are added to `extra` and `force`.
    """
    w.count[JOINTS] = 0
    w.problem.row_begin[0] = 0
    _between_bodies(w)
    if w.scene.cut:
        return
    _coordinates(w)
    if w.scene.tendons:
        _tendons(w)
    for e in range(w.scene.couple.shape[0]):
        _coupling(w, e)
    _motors(w)


@part
def _between_bodies(w):
    s, p, h, place = w.scene, w.problem, w.h, w.start
    if not s.law.size:
        return
    evaluate_rows(s.links, s.geometry, place.x, place.quat, place.R, w.turns, w.table_value, w.table_row)
    for i in range(s.law.size):
        law, par, c = s.law[i], s.parameters[i], w.table_value[i]
        child, parent = s.links[i, 1], s.links[i, 2]
        if law == FORCE:
            for side in range(2):
                b = child if side == 0 else parent
                if b >= 0:
                    _push(w, b, w.table_row[i, 6 * side : 6 * side + 6], par[TARGET])
            continue
        k, at = _add(w, TABLE, i, law, c)
        n = pair_columns(s, child, parent, False, at, p.column)
        p.row_begin[k + 1] = at + n
        for e in range(at, at + n):
            p.value[e] = 0.0
        body_entries(s, place, child, parent, w.table_row[i], (p.column, at, n), p.value)
        if law == DRIVE:
            damping, rate = par[DAMPING], par[RATE]
            if par[ARMATURE] > 0.0:
                damping, rate = par[ARMATURE] / h, w.rotor_rate[i]
            gain, limit = h * h * par[STIFFNESS] + h * damping, par[FORCE_LIMIT]
            force = rate
            if gain < 1e300:
                force = damping * rate - par[STIFFNESS] * (c - par[TARGET])
            _drive(w, k, force, par[STIFFNESS], gain, -limit, limit)


@part
def _push(w, b, row, force):
    """A force along a row of a body, on the freedoms."""
    s, place, j = w.scene, w.start, w.scene.last_dof[b]
    while j >= 0:
        m, c = place.cdof[j], place.reference[s.dof_reference[j]]
        a = place.x[b]
        x, y, z = a[0] - c[0], a[1] - c[1], a[2] - c[2]
        w.force[j] += force * (
            row[0] * (m[3] + m[1] * z - m[2] * y)
            + row[1] * (m[4] + m[2] * x - m[0] * z)
            + row[2] * (m[5] + m[0] * y - m[1] * x)
            + row[3] * m[0]
            + row[4] * m[1]
            + row[5] * m[2]
        )
        j = s.dof_parent[j]


@part
def _coordinates(w):
    s, p, h = w.scene, w.problem, w.h
    for i in range(s.limit_at.size):
        q, dof = w.q[s.limit_at[i]], s.limit_dof[i]
        reach = _NEAR + _STEPS * h * abs(w.v[dof])
        if q - s.limit_low[i] < reach:
            k, at = _add(w, LOWER, i, LIMIT, q - s.limit_low[i])
            _one(w, k, at, dof, 1.0)
        if s.limit_high[i] - q < reach:
            k, at = _add(w, UPPER, i, LIMIT, s.limit_high[i] - q)
            _one(w, k, at, dof, -1.0)
    for i in range(s.ball_at.size):
        k, at = _add(w, BALL, i, LIMIT, 0.0)
        w.value[k] = w.linear[k] = ball_gap(w, i, w.q, p.value, at)
        for e in range(3):
            p.column[at + e] = s.ball_dof[i] + e
        p.row_begin[k + 1] = at + 3
    for i in range(s.rub_dof.size):
        k, at = _add(w, RUB, i, DRIVE, 0.0)
        _one(w, k, at, s.rub_dof[i], 1.0)
        _drive(w, k, 0.0, 0.0, np.inf, -s.rub_force[i], s.rub_force[i])


@part
def ball_gap(w, i, q, out, at):
    """How far a ball joint is from its largest angle; the row of that into out[at …]."""
    a = w.scene.ball_at[i]
    side = 1.0 if q[a] >= 0.0 else -1.0
    x, y, z = side * q[a + 1], side * q[a + 2], side * q[a + 3]
    size = math.sqrt(x * x + y * y + z * z)
    if size > 1e-12:
        out[at], out[at + 1], out[at + 2] = -x / size, -y / size, -z / size
    else:
        out[at], out[at + 1], out[at + 2] = -1.0, 0.0, 0.0
    return w.scene.ball_limit[i] - 2.0 * math.atan2(size, side * q[a])


@part
def _tendons(w):
    s, place, h = w.scene, w.start, w.h
    for t in range(s.tendon_count.size):
        length, rate = place.tendon_length[t], 0.0
        for e in range(s.tendon_begin[t], s.tendon_begin[t] + s.tendon_count[t]):
            rate += place.tendon_J[e] * w.v[s.tendon_column[e]]
        reach = _NEAR + _STEPS * h * abs(rate)
        if s.tendon_limited[t] and length - s.tendon_range[t, 0] < reach:
            k, at = _add(w, TENDON_LOWER, t, LIMIT, length - s.tendon_range[t, 0])
            _tendon(w, place, k, at, t, 1.0)
        if s.tendon_limited[t] and s.tendon_range[t, 1] - length < reach:
            k, at = _add(w, TENDON_UPPER, t, LIMIT, s.tendon_range[t, 1] - length)
            _tendon(w, place, k, at, t, -1.0)
        if s.tendon_loss[t] > 0.0:
            k, at = _add(w, TENDON_RUB, t, DRIVE, 0.0)
            _tendon(w, place, k, at, t, 1.0)
            _drive(w, k, 0.0, 0.0, np.inf, -s.tendon_loss[t], s.tendon_loss[t])
        stretch = length - min(max(length, s.tendon_spring[t, 0]), s.tendon_spring[t, 1])
        stiffness = s.tendon_stiffness[t] if stretch != 0.0 else 0.0
        gain = h * h * stiffness + h * s.tendon_damping[t]
        if gain > 0.0:
            k, at = _add(w, ELASTIC, t, DRIVE, length)
            _tendon(w, place, k, at, t, 1.0)
            _drive(w, k, -stiffness * stretch, stiffness, gain, -np.inf, np.inf)


@part
def _polynomial(c, x):
    """Value and slope."""
    value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])))
    return value, c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4]))


@part
def _coupled(w, e, place, q):
    """Value of an equality and the slope of its polynomial."""
    s = w.scene
    tendons, one, two = s.couple[e, 0], s.couple[e, 1], s.couple[e, 3]
    x = 0.0
    if two >= 0:
        x = (place.tendon_length[two] if tendons else q[two]) - s.couple_reference[e, 1]
    value, slope = _polynomial(s.couple_poly[e], x)
    y = place.tendon_length[one] if tendons else q[one]
    return y - s.couple_reference[e, 0] - value, slope


@part
def _coupling_entries(w, e, place, slope, at, column, out):
    """Entries of an equality; returns how many."""
    s = w.scene
    one, two, n = s.couple[e, 2], s.couple[e, 4], 0
    if not s.couple[e, 0]:
        if two < 0:
            column[at], out[at] = one, 1.0
            return 1
        first = one < two
        column[at], out[at] = min(one, two), 1.0 if first else -slope
        column[at + 1], out[at + 1] = max(one, two), -slope if first else 1.0
        return 2
    a, b = s.tendon_begin[one], s.tendon_begin[two] if two >= 0 else 0
    a_end, b_end = a + s.tendon_count[one], b + (s.tendon_count[two] if two >= 0 else 0)
    while a < a_end or b < b_end:
        j = min(s.tendon_column[a] if a < a_end else 1 << 60, s.tendon_column[b] if b < b_end else 1 << 60)
        total = 0.0
        if a < a_end and s.tendon_column[a] == j:
            total += place.tendon_J[a]
            a += 1
        if b < b_end and s.tendon_column[b] == j:
            total -= slope * place.tendon_J[b]
            b += 1
        column[at + n], out[at + n] = j, total
        n += 1
    return n


@part
def _coupling(w, e):
    p = w.problem
    value, slope = _coupled(w, e, w.start, w.q)
    k, at = _add(w, COUPLE, e, HOLD, value)
    p.row_begin[k + 1] = at + _coupling_entries(w, e, w.start, slope, at, p.column, p.value)


@part
def motor_signal(w, i):
    """What motor i multiplies its gain with: its control within its range, or its activation."""
    s = w.scene
    if s.motor_held[i] >= 0:
        return w.act_end[s.motor_held[i]] if s.motor_early[i] else w.act[s.motor_held[i]]
    return min(max(w.control[s.motor_control[i]], s.motor_low[i]), s.motor_high[i])


@part
def motor_force(w, place, i):
    """Force of motor i at a place where nothing moves, and what it gains with length and with speed."""
    s, c = w.scene, motor_signal(w, i)
    by_length = s.motor_gain[i, 1] * c + s.motor_bias[i, 1]
    by_speed = s.motor_gain[i, 2] * c + s.motor_bias[i, 2] - s.motor_damping[i]
    length = place.motor_length[s.motor_output[i]]
    return s.motor_gain[i, 0] * c + s.motor_bias[i, 0] + by_length * length, by_length, by_speed


@part
def _motors(w):
    """Affine actuators: F = (g₀ + g₁ ℓ + g₂ ℓ̇) c + b₀ + b₁ ℓ + b₂ ℓ̇, implicit where it holds back."""
    s, p, place, h = w.scene, w.problem, w.start, w.h
    for i in range(s.motor_output.size):
        line = s.motor_output[i]
        a, n = place.moment_begin[line], place.moment_count[line]
        F, by_length, by_speed = motor_force(w, place, i)
        K = -h * h * by_length - h * by_speed
        low, high = s.motor_least[i], s.motor_most[i]
        if K <= 0.0:
            K = 0.0
            for e in range(a, a + n):
                F += by_speed * place.moment[e] * w.v[place.moment_column[e]]
        if K == 0.0 or (n == 1 and low == -np.inf and high == np.inf):
            F = min(max(F, low), high)
            for e in range(a, a + n):
                w.force[place.moment_column[e]] += place.moment[e] * F
                w.extra[place.moment_column[e]] += K * place.moment[e] ** 2
            continue
        if n == 0:
            continue
        k, at = _add(w, MOTOR, i, DRIVE, 0.0)
        for e in range(n):
            p.column[at + e], p.value[at + e] = place.moment_column[a + e], place.moment[a + e]
        p.row_begin[k + 1] = at + n
        _drive(w, k, F, 0.0, K, low, high)


@part
def is_curved(w, k):
    """Whether the value of row k is not linear in the velocities of the step."""
    group = w.group[k]
    return group == TABLE or group == BALL or group == COUPLE or (TENDON_LOWER <= group <= TENDON_UPPER)


@part
def rows_at_end(w, v, left):
    """Constant parts of the rows over the step with velocities v; with `left` rows are taken at its end."""
    s, p, h, place = w.scene, w.problem, w.h, w.end
    if s.law.size:
        evaluate_rows(
            s.links,
            s.geometry,
            place.x,
            place.quat,
            place.R,
            w.table_value,
            w.table_value_end,
            w.table_row_end,
        )
    for k in range(w.count[JOINTS]):
        if not is_curved(w, k):
            continue
        group, i, at = w.group[k], w.index[k], p.row_begin[k]
        n, out = p.row_begin[k + 1] - at, p.left
        turned = left and w.law[k] != DRIVE
        if turned:
            for e in range(at, at + n):
                out[e] = 0.0
        if group == TABLE:
            value = w.table_value_end[i]
            if turned:
                body_entries(
                    s, place, s.links[i, 1], s.links[i, 2], w.table_row_end[i], (p.column, at, n), out
                )
        elif group == BALL:
            value = ball_gap(w, i, w.q_end, w.guess, 0)
            if turned:
                for e in range(3):
                    out[at + e] = w.guess[e]
        elif group == COUPLE:
            value, slope = _coupled(w, i, place, w.q_end)
            if turned:
                _coupling_entries(w, i, place, slope, at, p.column, out)
        else:
            sign = 1.0 if group == TENDON_LOWER else -1.0
            value = sign * (place.tendon_length[i] - s.tendon_range[i, 0 if group == TENDON_LOWER else 1])
            if turned:
                for e in range(n):
                    out[at + e] = sign * place.tendon_J[s.tendon_begin[i] + e]
        if turned:
            if w.stiff:
                p.value[at : at + n] = out[at : at + n]
            turn_entries(s, p.column, at, n, v, h, out)
        moving = 0.0
        for e in range(at, at + n):
            moving += out[e] * v[p.column[e]]
        w.linear[k] = value - h * moving


@part
def joint_biases(w):
    """What the laws add to the velocities of the joint rows."""
    p, h = w.problem, w.h
    for k in range(w.count[JOINTS]):
        value, linear = w.value[k], w.linear[k]
        identity = w.scene.identity_base[w.group[k]] + w.index[k]
        correction = 1.0 if w.joints_at_end else w.corrected * w.row_correction[identity]
        recovery = 0.0
        if w.law[k] != DRIVE:
            # limits are angles as a rule, and no body hops when they are restored: ten times that of contacts
            recovery = 10.0 * recovery_of(w, k)
            # what a soft row has given way to the force of the last step is no error
            value += w.row_compliance[identity] * w.old_joint[identity]
        if w.law[k] == DRIVE:
            if w.gain[k] < 1e300:
                p.bias[k] = -h * (w.drive[k] - w.stiffness[k] * (linear - value)) / w.gain[k]
            else:
                p.bias[k] = -w.drive[k]
        elif w.law[k] == HOLD:
            # an error that is there already is undone no faster than a limit
            kept = value - min(max(value, -h * recovery), h * recovery)
            p.bias[k] = correction * (linear - kept) / h
        else:
            allowed = min(0.0, value + h * recovery)
            if value < 0.0:
                allowed += (1.0 - correction) * (value - allowed)
            p.bias[k] = (linear - allowed) / h
