"""Compiled: parameters of a scene as columns of the equations of a step."""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.contact_assembly import GAP
from perp.derivatives.contact_slopes import normal_row
from perp.derivatives.detector import BOX
from perp.derivatives.smooth import spin_momentum
from perp.derivatives.spatial import apply, cross_force, dot, inertia_about_origin
from perp.derivatives.tree_dynamics import spread_motion
from perp.dynamics.row_kernels import cross
from perp.dynamics.scalar_tables import MOTOR, ROTOR, RUB, YIELD
from perp.problems.set_kernels import COULOMB, ELLIPTIC
from perp.stepping.contact_rows import bounces
from perp.stepping.joint_rows import motor_signal
from perp.stepping.world import JOINTS

(FRICTION, TORSION, ROLLING, RESTITUTION, GRAVITY, MASS, INERTIA, COM, DAMPING, STIFFNESS, ARMATURE,
 FRICTIONLOSS, KP, KV, SIZE) = range(15)  # fmt: skip


@part
def parameter_slopes(w, t, e, codes, rest):
    """Columns of all asked parameters.

    Codes, shape (parameters, 5), are kind, what it belongs to (shape, body, freedom, row or motor; −1 for
    all), first column, number of columns, coordinate of a joint, whose spring is at rest at `rest`.
    """
    for n in range(codes.shape[0]):
        kind, which, column, width = codes[n, 0], codes[n, 1], codes[n, 2], codes[n, 3]
        if kind <= RESTITUTION:
            _coefficient(w, t, e, kind, which, column)
        elif kind == GRAVITY:
            _gravity(w, t, e, column)
        elif kind <= COM:
            for k in range(width):
                if w.scene.cut:
                    _cut_body(w, e, kind, which, k, column + k)
                else:
                    _body(w, t, e, kind, which, k, column + k)
        elif kind <= FRICTIONLOSS:
            if w.scene.cut:
                _cut_joint(w, e, kind, which, column)
            else:
                _joint(w, e, kind, which, column, w.q[codes[n, 4]] - rest[n])
        elif kind == SIZE:
            for k in range(width):
                _size(w, t, e, which, k, column + k)
        else:
            _servo(w, e, kind, which, column)


@part
def _row_of(w, group, index):
    for k in range(w.count[JOINTS]):
        if w.group[k] == group and w.index[k] == index:
            return k
    return -1


@part
def _decides(w, t, c, kind, g):
    """Whether a shape decides a contact's coefficient, which is the larger of two (mujoco's rule)."""
    first, second = w.start.geom[c, 0], w.start.geom[c, 1]
    if g < 0:
        return True
    if g != first and g != second:
        return False
    other = first if g == second else second
    if t.geom_priority[g] != t.geom_priority[other]:
        return t.geom_priority[g] > t.geom_priority[other]
    if kind == RESTITUTION:
        return w.scene.geom_restitution[g] >= w.scene.geom_restitution[other]
    return t.geom_friction[g, kind] >= t.geom_friction[other, kind]


@part
def _coefficient(w, t, e, kind, which, column):
    """Friction and restitution of all contacts, or of those that one shape decides."""
    for c in range(e.held.size):
        constraint = w.count[JOINTS] + c
        if w.left_out[c] or not _decides(w, t, c, kind, which):
            continue
        if kind == RESTITUTION:
            restitution = w.start.restitution[c]
            if restitution > 0.0 and bounces(w, c):
                e.U[e.start[constraint], column] += w.bounce[c] / restitution * w.approach[c]
        elif e.kind[constraint] == COULOMB:
            if kind == FRICTION:
                e.dp[constraint, 0, column] += 1.0
        elif e.kind[constraint] == ELLIPTIC:
            first = 0 if kind == FRICTION else (2 if kind == TORSION else 3)
            for k in range(first, first + (1 if kind == TORSION else 2)):
                e.dp[constraint, k, column] += 1.0


@part
def _gravity(w, t, e, column):
    """Weights act at the centres: m and m c, summed over what is behind a freedom."""
    centres, nv = w.start.x if w.scene.cut else w.start.xipos, t.parent.size
    behind = np.zeros((nv, 4))
    for b in range(t.end.size):
        if t.end[b] >= 0:
            behind[t.end[b], 3] += t.mass[b]
            for k in range(3):
                behind[t.end[b], k] += t.mass[b] * centres[b, k]
    for j in range(nv - 1, -1, -1):
        up, S, mc = t.parent[j], e.S[j], behind[j]
        for k in range(3):
            a, b = (k + 1) % 3, (k + 2) % 3
            e.G[j, column + k] -= w.h * (mc[3] * S[3 + k] + mc[b] * S[a] - mc[a] * S[b])
        if up >= 0:
            for k in range(4):
                behind[up, k] += mc[k]


@part
def _body(w, t, e, kind, b, k, column):
    """Mass, a moment or the centre of a body of a tree: what its inertia adds to the balance."""
    v, scale, nv = w.problem.velocity, math.sqrt(0.5 * w.h), w.v.size
    scaled, rate, gravity = np.empty(nv), np.empty(nv), np.zeros(3)
    motions_V, motions_A = np.zeros((nv + 1, 6)), np.zeros((nv + 1, 6))
    change, x, y, F = np.empty((6, 6)), np.empty(6), np.empty(6), np.empty(6)
    for end in range(2):
        place, S = (w.start, e.S) if end == 0 else (w.end, e.E)
        _inertia_change(t, place, kind, b, k, change)
        for j in range(nv):
            scaled[j], rate[j] = scale * v[j], w.v_end[j] - v[j] if end else v[j] - w.v[j]
        for r in range(3):
            gravity[r] = 0.0 if end else w.h * w.scene.gravity[r]
        spread_motion(t, S, (scaled, rate, gravity), motions_V, motions_A)
        V, A = motions_V[t.end[b]], motions_A[t.end[b]]
        apply(change, V, x)
        cross_force(V, x, F)
        apply(change, A, y)
        for r in range(6):
            F[r] += y[r]
        j = t.end[b]
        while j >= 0:
            if end == 0:
                e.G[j, column] += dot(S[j], F)
            else:
                e.Z[j, column] -= dot(S[j], F)
            j = t.parent[j]


@part
def _inertia_change(t, place, kind, b, k, out):
    """Derivative of a spatial inertia by mass, a moment, or the centre along an axis of the file's frame."""
    centre, frame, moments = place.xipos[b].copy(), place.ximat[b], np.zeros(3)
    if kind == MASS:
        inertia_about_origin(1.0, moments, frame, centre, out)
        return
    if kind == INERTIA:
        moments[k] = 1.0
        inertia_about_origin(0.0, moments, frame, centre, out)
        return
    # quadratic in the centre: the difference is exact
    step, other = 1e-4, np.empty((6, 6))
    for r in range(3):
        centre[r] += step * place.xmat[b, 3 * r + k]
    inertia_about_origin(t.mass[b], t.inertia[b], frame, centre, out)
    for r in range(3):
        centre[r] -= 2.0 * step * place.xmat[b, 3 * r + k]
    inertia_about_origin(t.mass[b], t.inertia[b], frame, centre, other)
    for i in range(6):
        for j in range(6):
            out[i, j] = (out[i, j] - other[i, j]) / (2.0 * step)


@part
def _cut_body(w, e, kind, b, k, column):
    """Mass or a moment of a cut body; that of moments by differences of the closed form."""
    at, i, v = 6 * b, 6 * b + 3, w.problem.velocity
    if kind == MASS:
        for r in range(3):
            e.G[at + r, column] = v[at + r] - w.v[at + r] - w.h * w.scene.gravity[r]
        return
    R, Re, moments = w.start.R[b].copy(), w.end.R[b].copy(), w.scene.inertia[b].copy()
    before = v[i : i + 3] - w.delta[i : i + 3]
    step = 1e-5 * moments[k]
    for sign in (1.0, -1.0):
        moments[k] += sign * step
        momentum, _ = spin_momentum(moments, R, v[i : i + 3], before, w.h)
        balance = momentum - R @ (moments * (R.T @ w.v[i : i + 3]))
        final = Re @ ((Re.T @ momentum) / moments)
        for r in range(3):
            e.G[i + r, column] += sign * balance[r] / (2.0 * step)
            e.Z[i + r, column] += sign * final[r] / (2.0 * step)
        moments[k] -= sign * step


@part
def _joint(w, e, kind, dof, column, stretch):
    """Damping, stiffness, armature or dry friction of a hinge or slider."""
    h, v, change = w.h, w.problem.velocity[dof], e.change[dof]
    if kind == FRICTIONLOSS:
        for i in range(w.scene.rub_dof.size):
            if w.scene.rub_dof[i] == dof:
                k = _row_of(w, RUB, i)
                e.dp[k, 0, column], e.dp[k, 1, column] = -h, h
    elif kind == DAMPING:
        e.G[dof, column], e.Z[dof, column] = h * v, -h * change
    elif kind == STIFFNESS:
        e.G[dof, column], e.Z[dof, column] = h * h * v + h * stretch, -h * h * change
    else:
        e.G[dof, column], e.Z[dof, column] = v - w.v[dof], -change


@part
def _cut_joint(w, e, kind, line, column):
    """The same as rows between bodies."""
    group = RUB if kind == FRICTIONLOSS else (ROTOR if kind == ARMATURE else YIELD)
    h, k = w.h, _row_of(w, group, line)
    if kind == FRICTIONLOSS:
        e.dp[k, 0, column], e.dp[k, 1, column] = -h, h
        return
    gain, impulse = w.gain[k], w.problem.impulse[k]
    slack = (h * w.drive[k] - impulse) / (gain * gain)
    if kind == ARMATURE:
        e.U[k, column] -= impulse / (gain * gain)
    elif kind == DAMPING:
        e.U[k, column] += slack * h
    else:
        e.U[k, column] += slack * h * h + h * (w.linear[k] - w.scene.yield_target[line]) / gain


@part
def _servo(w, e, kind, i, column):
    """A gain of a servo: kp (c − ℓ), or kv on its speed (c − ℓ̇ for a velocity servo)."""
    s, p, place, h = w.scene, w.problem, w.start, w.h
    line, c, gain, bias = s.motor_output[i], motor_signal(w, i), s.motor_gain[i], s.motor_bias[i]
    if kind == KP:
        dF, dK = c - place.motor_length[line], h * h
    else:
        velocity_servo = bias[1] == 0.0 and gain[0] == -bias[2] and gain[0] != 0.0
        dF, dK = (c if velocity_servo else 0.0), h
    k = _row_of(w, MOTOR, i)
    if k >= 0:
        K, bend = w.gain[k], w.linear[k] - w.value[k]
        slack = h * (w.drive[k] - w.stiffness[k] * bend) - p.impulse[k]
        e.U[k, column] += -h * (dF - (bend if kind == KP else 0.0)) / K + slack / (K * K) * dK
        return
    for m in range(place.moment_begin[line], place.moment_begin[line] + place.moment_count[line]):
        j, moment = place.moment_column[m], place.moment[m]
        e.G[j, column] += -h * moment * dF + moment * moment * dK * p.velocity[j]
        e.Z[j, column] -= moment * moment * dK * e.change[j]


@part
def _size(w, t, e, geom, k, column):
    """Radius or half length of a shape: points of its contacts move by dp, their gaps by dgap and dend."""
    place, dp, shift, x = w.start, np.empty(3), np.empty(3), np.empty(3)
    y, moment = np.empty(3), np.empty(3)
    for c in range(e.held.size):
        side = 0 if place.geom[c, 0] == geom else 1
        if w.left_out[c] or place.geom[c, side] != geom:
            continue
        sign, n = -1.0 if side == 0 else 1.0, place.frame[c, 0]
        dgap = dend = -1.0
        if t.geom_type[geom] == BOX:
            corner = dgap = dend = 0.0
            b = place.body[c, side]
            for r in range(3):
                shift[r] = place.geom_xmat[geom, 3 * r + k]
                corner += shift[r] * (w.carried[c, side, r] - place.geom_xpos[geom, r])
            for r in range(3):
                shift[r] = shift[r] if corner > 0.0 else -shift[r]
            # seen at the end: carried along by the body
            for r in range(3):
                x[r] = 0.0
                for m in range(3):
                    x[r] += place.R[b, m, r] * shift[m] if b >= 0 else (shift[m] if m == r else 0.0)
            for r in range(3):
                y[r] = x[r]
                if b >= 0:
                    y[r] = w.end.R[b, r, 0] * x[0] + w.end.R[b, r, 1] * x[1] + w.end.R[b, r, 2] * x[2]
                dgap += sign * n[r] * shift[r]
                dend += sign * n[r] * y[r]
            for r in range(3):
                dp[r] = shift[r] - sign * 0.5 * dgap * n[r]
        else:
            for r in range(3):
                dp[r] = -0.5 * sign * n[r]
        for r in range(3):
            dp[r] += w.height[c] * dgap * n[r]
        _moved_contact(w, t, e, c, (dp, dgap, dend), column, x, moment)


@part
def _moved_contact(w, t, e, c, change, column, x, moment):
    """A contact whose point and gaps change while nothing moves."""
    dp, dgap, dend = change
    place, h, constraint = w.start, w.h, w.count[JOINTS] + c
    at, count = e.start[constraint], min(3, e.start[constraint + 1] - e.start[constraint])
    kind, bounce, share = normal_row(w, c)
    first, second = t.body_last[place.body[c, 0]], t.body_last[place.body[c, 1]]
    push, frame, spin = np.zeros(3), place.frame[c], np.empty(3)
    for old in range(2):
        T = e.T_old if old else e.T
        for r in range(3):
            spin[r] = T[second, r] - T[first, r]
        cross(spin, dp, x)
        for r in range(count):
            along = frame[r, 0] * x[0] + frame[r, 1] * x[1] + frame[r, 2] * x[2]
            if r > 0 and not old:
                e.U[at + r, column] += along
            elif r == 0 and kind != GAP:
                e.U[at, column] += bounce * along if old else along
    if kind == GAP:
        e.U[at, column] += (dend - (1.0 - share) * dgap) / h
    else:
        e.U[at, column] += share * dgap / h
    for r in range(count):
        for k in range(3):
            push[k] += e.impulse[at + r] * frame[r, k]
    cross(dp, push, moment)
    for side in range(2):
        j, sign = (first, 1.0) if side == 0 else (second, -1.0)
        while j >= 0:
            e.G[j, column] += sign * (e.S[j, 0] * moment[0] + e.S[j, 1] * moment[1] + e.S[j, 2] * moment[2])
            j = t.parent[j]
