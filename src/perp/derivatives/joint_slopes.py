"""Compiled: motors and rows of joints into the equations of a step; see `stepping.joint_rows`.

Motors have the derivatives of their affine law, limits and couplings those of their values, at the start and
at the end.
"""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.equations import row_correction
from perp.derivatives.joint_changes import add_row, add_value, row_slopes
from perp.dynamics.measuring import row_of
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import DRIVE, HOLD
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
    TENDON_UPPER,
    UPPER,
    YIELD,
)
from perp.stepping.freedom_rows import motor_entries
from perp.stepping.joint_rows import motor_signal
from perp.stepping.pauses import recovery_of
from perp.stepping.world import JOINTS

_STEP = 1e-6


@part
def joint_slopes(w, t, e):
    """All joints and motors of the world after its step, by its tree, into the equations."""
    rows = np.full(w.scene.motor_output.size, -1)
    n, nv = w.scene.law.size, w.v.size
    # values and Jacobians at the end; poses that are moved and put back; room for a row
    value, row = np.empty(n), np.empty((n, 12))
    if n:
        evaluate_rows(
            w.scene.links, w.scene.geometry, w.end.x, w.end.quat, w.end.R, w.table_value, value, row
        )
    poses = w.start.x.copy(), w.start.quat.copy(), w.start.R.copy()
    room = row, poses, np.empty(2, np.int64), np.zeros((2, 3)), np.empty((12, 12)), np.empty((4, nv))
    _rows_of(w, MOTOR, rows)
    for i in range(w.scene.motor_output.size):
        _motor(w, t, e, room, i, rows[i])
    if not w.scene.cut:
        _scalar_rows(w, e)
    _between_bodies(w, t, e, room)


@part
def _rows_of(w, group, out):
    """Row of the problem of each line of a group, or −1."""
    out[:] = -1
    for k in range(w.count[JOINTS]):
        if w.group[k] == group:
            out[w.index[k]] = k


@part
def _motor(w, t, e, room, i, k):
    """An affine actuator, as a force or as row k."""
    s, p, place, h = w.scene, w.problem, w.start, w.h
    n, length = motor_entries(w, place, i, w.table_value)
    c, raw = motor_signal(w, i), w.control[s.motor_control[i]]
    by_control = 1.0 if s.motor_low[i] < raw < s.motor_high[i] else 0.0
    g, b = s.motor_gain[i], s.motor_bias[i]
    by_length, by_speed = g[1] * c + b[1], g[2] * c + b[2] - s.motor_damping[i]
    F, dF = g[0] * c + b[0] + by_length * length, g[0] + g[1] * length
    dK = -h * h * g[1] - h * g[2]
    explicit = -h * h * by_length - h * by_speed <= 0.0
    if explicit:
        rate = 0.0
        for m in range(n):
            # motors that were added in Python have no law of speeds here
            if w.freedom[m] < place.qvel.size:
                rate += w.entry[m] * place.qvel[w.freedom[m]]
        F, dF, dK = F + by_speed * rate, dF + g[2] * rate, 0.0
    low, high = s.motor_least[i], s.motor_most[i]
    impulse = p.impulse[k] if k >= 0 else h * min(max(F, low), high)
    _, by_old, by_v, here = room[5]
    room[5][:] = 0.0
    for m in range(n):
        line = row_of(s, w.freedom[m])
        if line >= 0:
            _line(w, t, e, room, line, (w.entry[m], impulse, True))
        else:
            by_v[w.freedom[m]] = here[w.freedom[m]] = w.entry[m]
    if k >= 0:
        _motor_row(w, t, e, room, i, k, (F, dF, dK, by_length, by_control))
        return
    share = 1.0 if low < F < high else 0.0
    free = n == 1 and not s.cut and not explicit and low == -np.inf and high == np.inf
    for j in range(w.v.size):
        if here[j] == 0.0:
            continue
        # G holds −h m F + m² K v̄
        by, extra = -h * here[j] * dF * share, here[j] ** 2 * dK if free else 0.0
        _by_control(w, e, i, e.Ga[j], e.Gu[j], by + extra * p.velocity[j], by_control)
        if extra != 0.0:
            _by_control(w, e, i, e.extra_a[j], e.extra_u[j], extra, by_control)
        for o in range(w.v.size):
            e.Gq[j, o] -= h * share * here[j] * by_length * here[o]
            if explicit:
                e.Gq[j, o] -= h * share * by_speed * here[j] * by_old[o]
                e.Go[j, o] -= h * share * by_speed * here[j] * by_v[o]


@part
def _motor_row(w, t, e, room, i, k, law):
    """A motor as row k, whose rates and value by the start are in `room`."""
    s, h, K, (F, dF, dK, by_length, by_control) = w.scene, w.h, w.gain[k], law
    by_q, by_old, by_v, here = room[5]
    gain = s.motor_gain[i]
    if s.cut:
        final = np.zeros(w.v.size)
        n, _ = motor_entries(w, w.start, i, w.table_value)
        for m in range(n):
            _at_end(w, t, e, room, row_of(s, w.freedom[m]), w.entry[m], final)
        _drive(w, e, k, (by_q, by_old, by_v, here), final)
        if not K < 1e300:
            _by_control(w, e, i, e.Ua[k], e.Uu[k], -gain[0], by_control)
            return
    # what holds back by length is a part of the drive of cut bodies
    e.Uq[k] -= h * (max(by_length, 0.0) if s.cut else by_length) * here / K
    bend = w.linear[k] - w.value[k]
    slack = h * (F - w.stiffness[k] * bend) - w.problem.impulse[k]
    by = -h * (dF + (gain[1] * bend if by_length < 0.0 else 0.0)) / K + slack / (K * K) * dK
    _by_control(w, e, i, e.Ua[k], e.Uu[k], by, by_control)


@part
def _line(w, t, e, room, i, law):
    """A row of the table times a factor, added to rates and value in `room`.

    `law` is the factor, the impulse of the sum that it belongs to, and whether its rate is asked for.
    """
    s, (scale, impulse, rated) = w.scene, law
    _, (x, quat, R), ends, centres, bent, out = room
    _sides(w, t, w.start, i, ends, centres)
    row_slopes(s.links[i : i + 1], s.geometry[i : i + 1], x, quat, R, w.table_value[i : i + 1], s.size, bent)
    bent *= scale
    row = scale * w.table_row[i]
    add_row(t, e, (ends, centres, row, bent), impulse, rated, (out[0], out[1], out[2]))
    add_value(e.S, t.parent, ends, centres, row, out[3])


@part
def _at_end(w, t, e, room, i, scale, out):
    """A row of the table times a factor, as its value at the end depends on the coordinates there."""
    row, _, ends, centres, _, _ = room
    _sides(w, t, w.end, i, ends, centres)
    add_value(e.E, t.parent, ends, centres, scale * row[i], out)


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
        if _line_of(w, k)[0] >= 0:
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
def _line_of(w, k):
    """The row of the table that row k is taken from, −1 for none, and its factor."""
    s, group, i = w.scene, w.group[k], w.index[k]
    if group == TABLE:
        return i, 1.0
    if group == LOWER or group == UPPER:
        return row_of(s, s.limit_dof[i]), 1.0 if group == LOWER else -1.0
    if group == RUB:
        return row_of(s, s.rub_dof[i]), 1.0
    if group == YIELD:
        return row_of(s, s.yield_dof[i]), 1.0
    if group == ROTOR:
        return row_of(s, s.rotor_dof[i]), 1.0
    return -1, 1.0


@part
def _between_bodies(w, t, e, room):
    """Joints that are cut or close loops, with their limits and drives."""
    s, p, h = w.scene, w.problem, w.h
    by_q, by_old, by_v, here = room[5]
    final = np.empty(w.v.size)
    for k in range(w.count[JOINTS]):
        i, scale = _line_of(w, k)
        if i < 0:
            continue
        law = w.law[k]
        room[5][:], final[:] = 0.0, 0.0
        _line(w, t, e, room, i, (scale, p.impulse[k], True))
        _at_end(w, t, e, room, i, scale, final)
        if law == DRIVE:
            _drive(w, e, k, (by_q, by_old, by_v, here), final)
            if w.group[k] == ROTOR:
                # its rate at the start is that of the velocities there
                e.Uq[k] -= by_old
                e.Uo[k] -= by_v
            continue
        ended = 0.0
        if w.joints_at_end:
            ended = 1.0
            # the value at the end over h
            e.Up[k] += final / h
        else:
            e.Uq[k] += by_q
            e.Uv[k] += by_v
        if law == HOLD:
            correction = row_correction(w, k)
            soft = w.row_compliance[s.identity_base[w.group[k]] + w.index[k]] > 0.0
            kept = 1.0 if _kept(w, k) and not soft else 0.0
            e.Uq[k] += ((1.0 - ended) * correction - correction * kept) * here / h
        else:
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
def _drive(w, e, k, by, final):
    """Row k is a drive: a spring, a damper, a rotor or a motor between bodies.

    `by` are its rates and its value by the start, `final` its value by the end.
    """
    h, gain, stiffness = w.h, w.gain[k], w.stiffness[k]
    by_q, _, by_v, here = by
    e.Uq[k] += by_q
    e.Uv[k] += by_v
    if not gain < 1e300:
        return
    e.Uq[k] += h * stiffness * here / gain
    if stiffness != 0.0 and w.joints_at_end:
        # a spring between bodies feels the value at the end, not only its rate: k (c⁺ − h J v̄ − c)
        e.Up[k] += h * stiffness / gain * final
        e.Uq[k] -= h * stiffness / gain * (here + h * by_q)
        e.Uv[k] -= h * stiffness / gain * h * by_v
