"""Compiled joint rows of a step: collected at its start, and their values and Jacobians at its end.

    HOLD    c + Σ f = 0                    joints between bodies, equalities of coordinates and tendons
    LIMIT   c ≥ 0 ⊥ f ≥ 0                  limits within reach of the step
    DRIVE   λ = h F₀ − K (J v⁺), clipped   motors with a limit, dry friction (K = ∞), springs and dampers
            of tendons and between bodies, rotors of cut joints

A drive is implicit and needs no stability limit: with K = h² kp + h kd a spring with its damper has
F₀ = −kp (c − target), so damping damps and never turns into a stiffness.

Springs and dampers of coordinates, and motors without a force limit on one freedom, are no rows: their
gains are added to the diagonal of M.
"""

from __future__ import annotations

import numpy as np

from perp.collision.finding import place_shapes
from perp.compilation.kernel import part
from perp.dynamics.measuring import measure, measure_rates, push, row_of
from perp.dynamics.motions import body_entries, pair_columns, turn_entries
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import DRIVE, HOLD, LIMIT
from perp.dynamics.scalar_tables import (
    BALL,
    COUPLE,
    ELASTIC,
    LOWER,
    MOTOR,
    ROTOR,
    RUB,
    TABLE,
    TENDON_LOWER,
    TENDON_RUB,
    TENDON_UPPER,
    UPPER,
    YIELD,
)
from perp.problems.sets import BOX, FREE, NONNEGATIVE
from perp.stepping.freedom_rows import (
    ball_gap,
    coupled,
    coupling_entries,
    motor_entries,
    put_row,
    put_single,
    spread,
    tendon_entries,
)
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
def see_start(w):
    """Values and Jacobians of the rows between bodies at the start; mujoco's coordinates of cut bodies."""
    s, place = w.scene, w.start
    if not s.law.size:
        return
    evaluate_rows(s.links, s.geometry, place.x, place.quat, place.R, w.turns, w.table_value, w.table_row)
    if s.measured.shape[0]:
        measure(s, place, w.table_value, w.entry)
        measure_rates(s, place, w.table_row, w.v)
        place_shapes(s, place)


@part
def collect_rows(w):
    """The joint rows of a step.

    Gains and forces of motors that need none are added to `extra` and `force`.
    """
    w.count[JOINTS] = 0
    w.problem.row_begin[0] = 0
    # joint by joint: solves take hundreds of iterations more often where all laws come behind all joints
    for e in range(w.scene.sequence.shape[0]):
        group, i = w.scene.sequence[e, 0], w.scene.sequence[e, 1]
        if group == TABLE:
            _hold(w, i)
        elif group == LOWER:
            _limit(w, i)
        else:
            _law(w, group, i)
    if w.scene.tendons:
        _tendons(w)
    for e in range(w.scene.couple.shape[0]):
        _coupling(w, e)
    _motors(w)


@part
def _hold(w, i):
    s, p, place = w.scene, w.problem, w.start
    child, parent = s.links[i, 1], s.links[i, 2]
    k, at = _add(w, TABLE, i, HOLD, w.table_value[i])
    n = pair_columns(s, child, parent, False, at, p.column)
    p.row_begin[k + 1] = at + n
    for e in range(at, at + n):
        p.value[e] = 0.0
    body_entries(s, place, child, parent, w.table_row[i], (p.column, at, n), p.value)


@part
def _limit(w, i):
    s, dof = w.scene, w.scene.limit_dof[i]
    row = row_of(s, dof)
    q = w.table_value[row] if row >= 0 else w.q[s.limit_at[i]]
    reach = np.inf if row >= 0 else _NEAR + _STEPS * w.h * abs(w.v[dof])
    if q - s.limit_low[i] < reach:
        k, at = _add(w, LOWER, i, LIMIT, q - s.limit_low[i])
        put_single(w, k, at, dof, 1.0)
    if s.limit_high[i] - q < reach:
        k, at = _add(w, UPPER, i, LIMIT, s.limit_high[i] - q)
        put_single(w, k, at, dof, -1.0)


@part
def _law(w, group, i):
    """A law of coordinates."""
    s, h = w.scene, w.h
    if group == BALL:
        k, at = _add(w, BALL, i, LIMIT, 0.0)
        w.value[k] = w.linear[k] = ball_gap(w, i, w.q)
        for e in range(3):
            w.freedom[e] = s.ball_dof[i] + e
        put_row(w, k, at, 3)
    elif group == RUB:
        k, at = _add(w, RUB, i, DRIVE, 0.0)
        put_single(w, k, at, s.rub_dof[i], 1.0)
        _drive(w, k, 0.0, 0.0, np.inf, -s.rub_force[i], s.rub_force[i])
    elif group == YIELD:
        c, stiffness = w.table_value[row_of(s, s.yield_dof[i])], s.yield_stiffness[i]
        k, at = _add(w, YIELD, i, DRIVE, c)
        put_single(w, k, at, s.yield_dof[i], 1.0)
        gain = h * h * stiffness + h * s.yield_damping[i]
        _drive(w, k, stiffness * (s.yield_target[i] - c), stiffness, gain, -np.inf, np.inf)
    else:
        inertia = s.rotor_inertia[i]
        k, at = _add(w, ROTOR, i, DRIVE, 0.0)
        put_single(w, k, at, s.rotor_dof[i], 1.0)
        _drive(w, k, inertia / h * w.rotor_rate[i], 0.0, inertia, -np.inf, np.inf)


@part
def _tendons(w):
    s, place, h = w.scene, w.start, w.h
    for t in range(s.tendon_count.size):
        length, rate = place.tendon_length[t], 0.0
        for e in range(s.tendon_begin[t], s.tendon_begin[t] + s.tendon_count[t]):
            rate += place.tendon_J[e] * place.qvel[s.tendon_column[e]]
        reach = _NEAR + _STEPS * h * abs(rate)
        if s.tendon_limited[t] and length - s.tendon_range[t, 0] < reach:
            k, at = _add(w, TENDON_LOWER, t, LIMIT, length - s.tendon_range[t, 0])
            put_row(w, k, at, tendon_entries(w, place, t, 1.0))
        if s.tendon_limited[t] and s.tendon_range[t, 1] - length < reach:
            k, at = _add(w, TENDON_UPPER, t, LIMIT, s.tendon_range[t, 1] - length)
            put_row(w, k, at, tendon_entries(w, place, t, -1.0))
        if s.tendon_loss[t] > 0.0:
            k, at = _add(w, TENDON_RUB, t, DRIVE, 0.0)
            put_row(w, k, at, tendon_entries(w, place, t, 1.0))
            _drive(w, k, 0.0, 0.0, np.inf, -s.tendon_loss[t], s.tendon_loss[t])
        stretch = length - min(max(length, s.tendon_spring[t, 0]), s.tendon_spring[t, 1])
        stiffness = s.tendon_stiffness[t] if stretch != 0.0 else 0.0
        gain = h * h * stiffness + h * s.tendon_damping[t]
        if gain > 0.0:
            k, at = _add(w, ELASTIC, t, DRIVE, length)
            put_row(w, k, at, tendon_entries(w, place, t, 1.0))
            _drive(w, k, -stiffness * stretch, stiffness, gain, -np.inf, np.inf)


@part
def _coupling(w, e):
    value, slope = coupled(w, e, w.start, w.start.qpos if w.scene.cut else w.q)
    k, at = _add(w, COUPLE, e, HOLD, value)
    put_row(w, k, at, coupling_entries(w, e, w.start, slope))


@part
def motor_signal(w, i):
    """What motor i multiplies its gain with: its control within its range, or its activation."""
    s = w.scene
    if s.motor_held[i] >= 0:
        return w.act_end[s.motor_held[i]] if s.motor_early[i] else w.act[s.motor_held[i]]
    return min(max(w.control[s.motor_control[i]], s.motor_low[i]), s.motor_high[i])


@part
def motor_force(w, i, length):
    """Force of motor i at a length where nothing moves, and what it gains with length and with speed."""
    s, c = w.scene, motor_signal(w, i)
    by_length = s.motor_gain[i, 1] * c + s.motor_bias[i, 1]
    by_speed = s.motor_gain[i, 2] * c + s.motor_bias[i, 2] - s.motor_damping[i]
    return s.motor_gain[i, 0] * c + s.motor_bias[i, 0] + by_length * length, by_length, by_speed


@part
def _motors(w):
    """Affine actuators: F = (g₀ + g₁ ℓ + g₂ ℓ̇) c + b₀ + b₁ ℓ + b₂ ℓ̇, implicit where it holds back."""
    s, place, h = w.scene, w.start, w.h
    for i in range(s.motor_output.size):
        n, length = motor_entries(w, place, i, w.table_value)
        F, by_length, by_speed = motor_force(w, i, length)
        K = -h * h * by_length - h * by_speed
        low, high = s.motor_least[i], s.motor_most[i]
        if K <= 0.0:
            K = 0.0
            for e in range(n if by_speed != 0.0 else 0):
                F += by_speed * w.entry[e] * place.qvel[w.freedom[e]]
        if K == 0.0 or (n == 1 and not s.cut and low == -np.inf and high == np.inf):
            F = min(max(F, low), high)
            for e in range(n):
                push(s, w.table_row, w.freedom[e], w.entry[e] * F, w.force)
                if K > 0.0:
                    w.extra[w.freedom[e]] += K * w.entry[e] ** 2
            continue
        if n == 0:
            continue
        k, at = _add(w, MOTOR, i, DRIVE, length)
        put_row(w, k, at, n)
        _drive(w, k, F, max(0.0, -by_length), K, low, high)


@part
def is_curved(w, k):
    """Whether the value of row k is not linear in the velocities of the step."""
    group = w.group[k]
    if group == ELASTIC or group == MOTOR:
        return w.scene.cut != 0
    if group == LOWER or group == UPPER:
        return row_of(w.scene, w.scene.limit_dof[w.index[k]]) >= 0
    return (
        group == TABLE
        or group == YIELD
        or group == BALL
        or group == COUPLE
        or (TENDON_LOWER <= group <= TENDON_UPPER)
    )


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
        if s.measured.shape[0]:
            measure(s, place, w.table_value_end, w.entry)
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
        elif group == LOWER or group == UPPER:
            sign, bound = (1.0, s.limit_low[i]) if group == LOWER else (-1.0, s.limit_high[i])
            value = sign * (w.table_value_end[row_of(s, s.limit_dof[i])] - bound)
            if turned:
                w.freedom[0], w.entry[0] = s.limit_dof[i], sign
                spread(w, place, w.table_row_end, 1, at, out)
        elif group == YIELD:
            value = w.table_value_end[row_of(s, s.yield_dof[i])]
        elif group == BALL:
            value = ball_gap(w, i, w.q_end)
            if turned:
                for e in range(3):
                    out[at + e] = w.entry[e]
        elif group == COUPLE:
            value, slope = coupled(w, i, place, place.qpos if s.cut else w.q_end)
            if turned:
                spread(w, place, w.table_row_end, coupling_entries(w, i, place, slope), at, out)
        elif group == ELASTIC:
            value = place.tendon_length[i]
        elif group == MOTOR:
            value = motor_entries(w, place, i, w.table_value_end)[1]
        else:
            sign = 1.0 if group == TENDON_LOWER else -1.0
            value = sign * (place.tendon_length[i] - s.tendon_range[i, 0 if group == TENDON_LOWER else 1])
            if turned:
                spread(w, place, w.table_row_end, tendon_entries(w, place, i, sign), at, out)
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
