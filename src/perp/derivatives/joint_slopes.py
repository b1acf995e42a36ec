"""Compiled: motors and rows of joints into the equations of a step; see `stepping.joint_rows`.

Motors have the derivatives of their affine law, limits and couplings those of their values, at the start and
at the end.
"""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.equations import row_correction
from perp.derivatives.joint_changes import add_row, add_value, row_slopes
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import ARMATURE, DAMPING, DRIVE, FORCE, HOLD, LIMIT, STIFFNESS, TARGET
from perp.dynamics.scalar_tables import (
    BALL,
    COUPLE,
    ELASTIC,
    LOWER,
    MOTOR,
    TABLE,
    TENDON_LOWER,
    TENDON_UPPER,
    UPPER,
)
from perp.stepping.joint_rows import motor_signal
from perp.stepping.pauses import recovery_of
from perp.stepping.world import JOINTS

_STEP = 1e-6


@part
def joint_slopes(w, t, e, motor_row, motor_slope, motor_rate):
    """All joints and motors.

    Motors of cut joints have a line in the table of rows, what their law asks for by their control, and
    whether that is a rate.
    """
    row_of = np.full(max(w.scene.law.size, w.scene.motor_output.size), -1)
    if not w.scene.cut:
        _rows_of(w, MOTOR, row_of)
        for i in range(w.scene.motor_output.size):
            _motor(w, e, i, row_of[i])
        _scalar_rows(w, e)
    _rows_of(w, TABLE, row_of)
    _between_bodies(w, t, e, row_of)
    for i in range(motor_row.size):
        _cut_motor(w, t, e, i, motor_row[i], row_of[motor_row[i]], motor_slope[i], motor_rate[i])


@part
def _rows_of(w, group, out):
    """Row of the problem of each line of a group, or −1."""
    out[:] = -1
    for k in range(w.count[JOINTS]):
        if w.group[k] == group:
            out[w.index[k]] = k


@part
def _motor(w, e, i, k):
    """An affine actuator, as a force or as row k."""
    s, p, place, h = w.scene, w.problem, w.start, w.h
    line = s.motor_output[i]
    a, n = place.moment_begin[line], place.moment_count[line]
    if k < 0 and n == 0:
        return
    c, raw = motor_signal(w, i), w.control[s.motor_control[i]]
    by_control = 1.0 if s.motor_low[i] < raw < s.motor_high[i] else 0.0
    g, b, length = s.motor_gain[i], s.motor_bias[i], place.motor_length[line]
    by_length, by_speed = g[1] * c + b[1], g[2] * c + b[2] - s.motor_damping[i]
    F, dF = g[0] * c + b[0] + by_length * length, g[0] + g[1] * length
    K, dK = -h * h * by_length - h * by_speed, -h * h * g[1] - h * g[2]
    explicit = K <= 0.0
    if explicit:
        rate = 0.0
        for m in range(a, a + n):
            rate += place.moment[m] * w.v[place.moment_column[m]]
        F, dF, K, dK = F + by_speed * rate, dF + g[2] * rate, 0.0, 0.0
    if k >= 0:
        for m in range(a, a + n):
            e.Uq[k, place.moment_column[m]] -= h * by_length * place.moment[m] / K
        slack = (h * F - p.impulse[k]) / (K * K)
        _by_control(w, e, i, e.Ua[k], e.Uu[k], -h * dF / K + slack * dK, by_control)
        return
    low, high = s.motor_least[i], s.motor_most[i]
    share = 1.0 if low < F < high else 0.0
    free = n == 1 and low == -np.inf and high == np.inf
    for m in range(a, a + n):
        j, moment = place.moment_column[m], place.moment[m]
        # G holds −h m F + m² K v̄
        by = -h * moment * dF * share + moment * moment * dK * p.velocity[j]
        _by_control(w, e, i, e.Ga[j], e.Gu[j], by, by_control)
        if free and dK != 0.0:
            _by_control(w, e, i, e.extra_a[j], e.extra_u[j], moment * moment * dK, by_control)
        for o in range(a, a + n):
            other = place.moment_column[o]
            e.Gq[j, other] -= h * share * by_length * moment * place.moment[o]
            if explicit:
                e.Go[j, other] -= h * share * by_speed * moment * place.moment[o]


@part
def _by_control(w, e, i, by_act, by_input, by, share):
    """A derivative by what motor i sees: its control, its activation, or that of the end."""
    s = w.scene
    held = s.motor_held[i]
    if held < 0:
        by_input[s.motor_control[i]] += by * share
    elif not s.motor_early[i]:
        by_act[held] += by
    else:
        for k in range(by_act.size):
            by_act[k] += by * e.act_a[held, k]
        for k in range(by_input.size):
            by_input[k] += by * e.act_u[held, k]


@part
def _limit_slope(w, k):
    """d(value − allowed)/d(value) of a limit."""
    allowed = 1.0 if w.value[k] + 10.0 * w.h * recovery_of(w, k) < 0.0 else 0.0
    if w.value[k] < 0.0:
        allowed += (1.0 - row_correction(w, k)) * (1.0 - allowed)
    return 1.0 - allowed


@part
def _kept(w, k):
    """Whether an error of a bilateral row is too large to be undone at once."""
    return abs(w.value[k]) >= 10.0 * w.h * recovery_of(w, k)


@part
def _scalar_rows(w, e):
    """Limits, dry friction, tendons and couplings of coordinates."""
    s, p, h = w.scene, w.problem, w.h
    row, moved = np.empty(3), np.empty(4)
    for k in range(w.count[JOINTS]):
        group, i, at, end = w.group[k], w.index[k], p.row_begin[k], p.row_begin[k + 1]
        if group == TABLE:
            continue
        if group == COUPLE:
            _coupling(w, e, k, i)
        elif group == LOWER or group == UPPER or TENDON_LOWER <= group <= TENDON_UPPER or group == BALL:
            # u = (value at the end − allowed) / h
            by_value = _limit_slope(w, k)
            curved = w.joints_at_end and group != LOWER and group != UPPER
            if group == BALL:
                _ball_row(w.q_end, s.ball_at[i], row)
                _ball_force(w, e, i, p.impulse[k], moved)
            for m in range(at, end):
                j, J = p.column[m], p.value[m]
                e.Uq[k, j] += by_value * J / h
                if not curved:
                    e.Uv[k, j] += J
                    continue
                e.Uq[k, j] -= J / h
                if group == BALL:
                    e.Up[k, j] += row[m - at] / h
                else:
                    sign = 1.0 if group == TENDON_LOWER else -1.0
                    e.Up[k, j] += sign * w.end.tendon_J[s.tendon_begin[i] + m - at] / h
        else:
            for m in range(at, end):
                e.Uv[k, p.column[m]] += p.value[m]
                if group == ELASTIC:
                    e.Uq[k, p.column[m]] += h * w.stiffness[k] * p.value[m] / w.gain[k]


@part
def _ball_row(q, at, out):
    side = 1.0 if q[at] >= 0.0 else -1.0
    size = math.sqrt(q[at + 1] ** 2 + q[at + 2] ** 2 + q[at + 3] ** 2)
    for k in range(3):
        out[k] = -side * q[at + 1 + k] / size if size > 1e-12 else (-1.0 if k == 0 else 0.0)


@part
def _ball_force(w, e, i, impulse, moved):
    """The axis that the impulse of a ball joint's limit turns about, by differences of its formula."""
    at, dof, q = w.scene.ball_at[i], w.scene.ball_dof[i], w.q
    plus, minus = np.empty(3), np.empty(3)
    s, c = math.sin(0.5 * _STEP), math.cos(0.5 * _STEP)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        for sign, out in ((1.0, plus), (-1.0, minus)):
            # q exp(± δ e_k)
            moved[0] = c * q[at] - sign * s * q[at + 1 + k]
            moved[1 + k] = c * q[at + 1 + k] + sign * s * q[at]
            moved[1 + a] = c * q[at + 1 + a] + sign * s * q[at + 1 + b]
            moved[1 + b] = c * q[at + 1 + b] - sign * s * q[at + 1 + a]
            _ball_row(moved, 0, out)
        for r in range(3):
            e.Gq[dof + r, dof + k] -= impulse * (plus[r] - minus[r]) / (2.0 * _STEP)


@part
def _coupling(w, e, k, i):
    """An equality of coordinates or tendons."""
    s, p, h = w.scene, w.problem, w.h
    keep = 1.0 if _kept(w, k) else 0.0
    tendons, two, other = s.couple[i, 0], s.couple[i, 3], s.couple[i, 4]
    one, poly = s.couple[i, 2], s.couple_poly[i]
    plain = tendons or two < 0
    for m in range(p.row_begin[k], p.row_begin[k + 1]):
        j, J = p.column[m], p.value[m]
        if w.joints_at_end:
            e.Uq[k, j] -= keep * J / h
            if plain:
                e.Up[k, j] += J / h
        else:
            e.Uv[k, j] += J
            e.Uq[k, j] += row_correction(w, k) * (1.0 - keep) * J / h
    if plain:
        return
    if w.joints_at_end:
        x = w.q_end[two] - s.couple_reference[i, 1]
        slope = poly[1] + x * (2.0 * poly[2] + x * (3.0 * poly[3] + x * 4.0 * poly[4]))
        e.Up[k, one] += 1.0 / h
        e.Up[k, other] -= slope / h
    x = w.q[two] - s.couple_reference[i, 1]
    bend = 2.0 * poly[2] + x * (6.0 * poly[3] + x * 12.0 * poly[4])
    e.Gq[other, other] += bend * p.impulse[k]
    if not w.joints_at_end:
        e.Uq[k, other] -= bend * p.velocity[other]


@part
def _between_bodies(w, t, e, row_of):
    """Joints that are cut or close loops, with their limits, drives and given forces."""
    s, p, h, n = w.scene, w.problem, w.h, w.scene.law.size
    if n == 0:
        return
    nv, x, quat, R = w.v.size, w.start.x.copy(), w.start.quat.copy(), w.start.R.copy()
    value, row = np.empty(n), np.empty((n, 12))
    evaluate_rows(s.links, s.geometry, w.end.x, w.end.quat, w.end.R, w.table_value, value, row)
    ends, centres, bent = np.empty(2, np.int64), np.zeros((2, 3)), np.empty((12, 12))
    by_q, by_old, by_v, here = np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv)
    for i in range(n):
        law, k = s.law[i], row_of[i]
        if k < 0 and law != FORCE:
            continue
        _sides(w, t, w.start, i, ends, centres)
        impulse = h * s.parameters[i, TARGET] if law == FORCE else p.impulse[k]
        row_slopes(
            s.links[i : i + 1], s.geometry[i : i + 1], x, quat, R, w.table_value[i : i + 1], s.size, bent
        )
        by_q[:], by_old[:], by_v[:], here[:] = 0.0, 0.0, 0.0, 0.0
        add_row(t, e, (ends, centres, w.table_row[i], bent), impulse, k >= 0, (by_q, by_old, by_v))
        if k < 0:
            continue
        add_value(e.S, t.parent, ends, centres, w.table_row[i], here)
        if law == DRIVE:
            _drive(w, t, e, i, k, (by_q, by_old, by_v, here), row[i])
            continue
        ended = 0.0
        if w.joints_at_end:
            ended = 1.0
            _sides(w, t, w.end, i, ends, centres)
            # the value at the end over h
            by_q[:] = 0.0
            add_value(e.E, t.parent, ends, centres, row[i], by_q)
            e.Up[k] += by_q / h
        else:
            e.Uq[k] += by_q
            e.Uv[k] += by_v
        if law == HOLD:
            correction = row_correction(w, k)
            soft = w.row_compliance[s.identity_base[w.group[k]] + w.index[k]] > 0.0
            kept = 1.0 if _kept(w, k) and not soft else 0.0
            e.Uq[k] += ((1.0 - ended) * correction - correction * kept) * here / h
        elif law == LIMIT:
            e.Uq[k] += (_limit_slope(w, k) - ended) * here / h


@part
def _sides(w, t, place, i, ends, centres):
    """Last freedoms and centres of the bodies of a row."""
    for side in range(2):
        b = w.scene.links[i, 1 + side]
        ends[side] = t.body_last[b]
        for r in range(3):
            centres[side, r] = place.x[b, r] if b >= 0 else 0.0


@part
def _drive(w, t, e, i, k, by, row):
    """Row k is a drive: a spring, a damper, a rotor or a motor of a cut joint."""
    par, h, gain, stiffness = w.scene.parameters[i], w.h, w.gain[k], w.stiffness[k]
    by_q, by_old, by_v, here = by
    e.Uq[k] += by_q
    e.Uv[k] += by_v
    if not gain < 1e300:
        return
    e.Uq[k] += h * stiffness * here / gain
    if par[ARMATURE] > 0.0:
        e.Uq[k] -= par[ARMATURE] * by_old / gain
        e.Uo[k] -= par[ARMATURE] * by_v / gain
    if stiffness != 0.0 and w.joints_at_end:
        # a spring between bodies feels the value at the end, not only its rate: k (c⁺ − h J v̄ − c)
        ends, centres, final = np.empty(2, np.int64), np.zeros((2, 3)), np.zeros(w.v.size)
        _sides(w, t, w.end, i, ends, centres)
        add_value(e.E, t.parent, ends, centres, row, final)
        e.Up[k] += h * stiffness / gain * final
        e.Uq[k] -= h * stiffness / gain * (here + h * by_q)
        e.Uv[k] -= h * stiffness / gain * h * by_v


@part
def _cut_motor(w, t, e, i, line, k, slope, rate):
    """Motors of cut joints are rows between bodies whose target, rate or force is given."""
    s, h = w.scene, w.h
    if s.law[line] != FORCE:
        if w.gain[k] < 1e300:
            by = s.parameters[line, DAMPING] if rate else s.parameters[line, STIFFNESS]
            e.Uu[k, i] -= h * by * slope / w.gain[k]
        elif rate:
            e.Uu[k, i] -= slope
        return
    ends, centres, row = np.empty(2, np.int64), np.zeros((2, 3)), np.zeros(w.v.size)
    _sides(w, t, w.start, line, ends, centres)
    add_value(e.S, t.parent, ends, centres, w.table_row[line], row)
    for j in range(w.v.size):
        e.Gu[j, i] -= h * slope * row[j]
