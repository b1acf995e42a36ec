"""Smooth part of a step: derivatives of its momentum balance and of the velocity of its end, compiled.

Trees:   G = M (v̄ − v) + E v̄ − h f + (h/2) c(q, v̄) − Jᵀ λ = 0,      E what is added to the diagonal of M
         M⁺ (v⁺ − v̄) + E (v⁺ − v̄) + (h/2) c(q⁺, v̄) = 0
Both are inverse dynamics with the velocity √(h/2) v̄, whose derivatives are exact (`tree_dynamics`).

Cut bodies: with L(a) = I x, (1 + I⁻¹ exp(−h â) I) x = 2 a, the spin part is
         R L(Rᵀ ω̄) − R I Rᵀ ω − h τ − (Jᵀ λ) = 0,   ω⁺ = R⁺ I⁻¹ R⁺ᵀ R L(Rᵀ ω̄)

Turns that a step takes in parts (`stepping.fast_turns`) are a map from the velocity u after all impulses to
v̄ and v⁺. Differences of that map give the derivative of its inverse u(q, v̄), and then
         G = (M + E) u − M v − h f − Jᵀ λ
"""

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.elimination import eliminate
from perp.derivatives.spatial import turn_matrices
from perp.derivatives.tree_dynamics import add_carried, inverse_dynamics
from perp.dynamics.libmujoco import mj_integratePos
from perp.dynamics.place import complete, go_to
from perp.dynamics.row_kernels import cross
from perp.stepping.course import DRIFTS
from perp.stepping.fast_turns import drift_in_parts, parts_of_body, spin_in_parts
from perp.stepping.smooth import drift

# Steps of differences of turns that are taken in parts, as a share of their speed and in radians.
_STEP = 1e-5
# Newton steps for the spin before a turn in parts, from where it was with other moments of inertia.
_NEWTON = 3
# Solves for δ from which a step may have ended before it settled.
_FEW = 3


@part
def smooth_slopes(w, t, e):
    """The smooth part into the equations, with wrenches that are given."""
    if w.scene.cut:
        _cut_bodies(w, e)
    else:
        _trees(w, t, e)
    _wrenches(w, t, e)


@part
def _trees(w, t, e):
    s, v, nv = w.scene, w.problem.velocity, w.v.size
    scale = math.sqrt(0.5 * w.h)
    scaled, change, weight = np.empty(nv), np.empty(nv), np.empty(3)
    for j in range(nv):
        scaled[j], change[j] = scale * v[j], v[j] - w.v[j]
        e.Gq[j, j] += w.h * t.spring[j]
        e.Gv[j, j] += w.extra[j]
        e.end_v[j, j] += w.extra[j]
    for k in range(3):
        weight[k] = w.h * s.gravity[k]
    _add_mass(s, w.start.M, -1.0, e.Go)
    _add_mass(s, w.start.M, 1.0, e.Gv)
    if w.parts > 1 and not t.round:
        for j in range(nv):
            scaled[j], change[j] = 0.0, v[j] - w.delta[j] - w.v[j]
        _turn_in_parts(w, e)
        inverse_dynamics(t, e.S, w.start, (scaled, change, weight), e.Gq, e.Gv, (1.0, 0.0))
        return
    _add_mass(s, w.end.M, 1.0, e.end_v)
    inverse_dynamics(t, e.S, w.start, (scaled, change, weight), e.Gq, e.Gv, (1.0, scale))
    inverse_dynamics(t, e.E, w.end, (scaled, e.change, np.zeros(3)), e.end_p, e.end_v, (-1.0, -scale))


@part
def _turn_in_parts(w, e):
    """M̃ u and M⁺ v⁺ by v̄ and q, where `e.Gv` holds M̃ of the start so far."""
    nv, q, u, kept = w.v.size, w.q.copy(), np.empty(w.v.size), _end_kept(w)
    speed = 1e-3
    for j in range(nv):
        u[j] = w.problem.velocity[j] - w.delta[j]
        speed = max(speed, abs(u[j]))
    # columns: v̄ and v⁺ by u, then by q
    by_u, by_q, end_u, end_q = (
        np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros((nv, nv))
    )  # fmt: skip
    start, move, most = w.problem.tree_start, np.empty(nv), 0
    for k in range(start.size - 1):
        most = max(most, start[k + 1] - start[k])
    for n in range(2 * most):
        # trees are apart from each other: a freedom of each at once
        k, width = n % most, _STEP * (speed if n < most else 1.0)
        for sign in (1.0, -1.0):
            for j in range(nv):
                move[j] = 0.0
            for i in range(start.size - 1):
                if start[i] + k < start[i + 1]:
                    move[start[i] + k] = sign * width
            if n < most:
                drift_in_parts(w, u + move, w.parts)
            else:
                mj_integratePos(w.scene.model, w.q.ctypes.data, move.ctypes.data, 1.0)
                drift_in_parts(w, u, w.parts)
                w.q[:] = q
            to, final = (by_u, end_u) if n < most else (by_q, end_q)
            f = sign / (2.0 * width)
            for i in range(start.size - 1):
                column = start[i] + k
                for j in range(start[i], start[i + 1]):
                    if column < start[i + 1]:
                        mean = u[j] + w.delta[j] + (move[j] if n < most else 0.0)
                        to[j, column] += f * mean
                        final[j, column] += f * (mean + w.gained[j])
    _bring_back(w, kept)
    mass = np.zeros((nv, nv))
    _add_mass(w.scene, w.end.M, 1.0, mass)
    for j in range(nv):
        mass[j, j] += w.extra[j]
    # u by v̄ and q: du = Φ_u⁻¹ (dv̄ − Φ_q dq)
    both = np.zeros((nv, 2 * nv))
    for i in range(nv):
        both[i, i] = 1.0
        for j in range(nv):
            both[i, nv + j] = -by_q[i, j]
    eliminate(by_u, both)
    u_by_v, u_by_q = both[:, :nv].copy(), both[:, nv:].copy()
    e.Gq[:, :] += e.Gv @ u_by_q
    e.end_q[:, :] += mass @ (end_q + end_u @ u_by_q)
    e.end_v[:, :] = mass @ (end_u @ u_by_v)
    e.Gv[:, :] = e.Gv @ u_by_v


@part
def _end_kept(w):
    """What `drift` changes of the end of a step: turns in parts take it for room."""
    return w.q_end.copy(), w.delta.copy(), w.gained.copy(), w.factor_end.copy(), w.end.qvel.copy(), w.parts


@part
def _bring_back(w, kept):
    w.q_end[:], w.delta[:], w.gained[:], w.factor_end[:] = kept[0], kept[1], kept[2], kept[3]
    in_parts, w.parts = w.parts > 1 and not w.scene.cut, kept[5]
    if in_parts:
        go_to(w.scene, w.end, w.q_end, True)
        complete(w.scene, w.end)
        w.end.qvel[:] = kept[4]


@part
def unsettled(w):
    """How far δ is from that of the step's velocities, as a share of its speed.

    Contacts that open and close from round to round may leave it at that of another round.
    """
    if w.course[DRIFTS] < _FEW:
        return 0.0
    kept, u = _end_kept(w), np.empty(w.v.size)
    for j in range(u.size):
        u[j] = w.problem.velocity[j] - w.delta[j]
    change = drift(w, u, 1e-8)
    _bring_back(w, kept)
    return change * max(1.0, w.scene.size) / w.speed


@part
def _add_mass(s, M, sign, out):
    """mujoco's M, lower triangles by rows, into a dense matrix."""
    for i in range(s.M_begin.size):
        for k in range(s.M_begin[i], s.M_begin[i] + s.M_count[i]):
            j = s.M_column[k]
            out[i, j] += sign * M[k]
            if j != i:
                out[j, i] += sign * M[k]


@part
def _hat(a):
    out = np.zeros((3, 3))
    out[0, 1], out[0, 2], out[1, 2] = -a[2], a[1], -a[0]
    out[1, 0], out[2, 0], out[2, 1] = a[2], -a[1], a[0]
    return out


@part
def _spin_in_parts(moments, x, h, parts):
    """The derivative of the mean spin of a body's own motion by its spin x at the start."""
    out, moved = np.empty((3, 3)), x.copy()
    step = _STEP * math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    inertia = moments[0], moments[1], moments[2]
    for k in range(3):
        moved[k] = x[k] + step
        a, b, c = spin_in_parts(moved[0], moved[1], moved[2], inertia, h, parts)
        moved[k] = x[k] - step
        d, e, f = spin_in_parts(moved[0], moved[1], moved[2], inertia, h, parts)
        moved[k] = x[k]
        out[0, k], out[1, k], out[2, k] = a - d, b - e, c - f
    return out / (2.0 * step)


@part
def spin_momentum(moments, R, spin, before, h):
    """R L(Rᵀ ω̄), and its derivative by ω̄ at a rotation that is held; R I⁻¹ L is about `before`."""
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    a, x = R.T @ spin, R.T @ before
    parts = parts_of_body(x[0], x[1], x[2], h)
    if parts > 1:
        bent, inertia = _spin_in_parts(moments, x, h, parts), (moments[0], moments[1], moments[2])
        for _ in range(_NEWTON):
            p, q, r = spin_in_parts(x[0], x[1], x[2], inertia, h, parts)
            x += np.linalg.solve(bent, a - np.array([p, q, r]))
        return R @ (moments * x), R @ np.diag(moments) @ np.linalg.solve(bent, R.T.copy())
    turn_matrices(-h * a, turn, left)
    inverse = np.diag(1.0 / moments)
    X = np.eye(3) + inverse @ turn @ np.diag(moments)
    L = moments * np.linalg.solve(X, 2.0 * a)
    # X dx + I⁻¹ d(exp) L = 2 da with d(exp(φ) L) = −(exp(φ) L)^ J dφ, φ = −h a
    bent = h * inverse @ _hat(turn @ L) @ left
    dL = np.diag(moments) @ np.linalg.solve(X, 2.0 * np.eye(3) - bent)
    return R @ L, R @ dL @ R.T


@part
def _cut_bodies(w, e):
    mass, inertia, v, old = w.scene.mass, w.scene.inertia, w.problem.velocity, w.v
    for b in range(mass.size):
        at, i = 6 * b, 6 * b + 3
        for k in range(3):
            e.Gv[at + k, at + k] = mass[b]
            e.Go[at + k, at + k] -= mass[b]
            e.end_v[at + k, at + k] = 1.0
        R, Re = w.start.R[b].copy(), w.end.R[b].copy()
        before = v[i : i + 3] - w.delta[i : i + 3]
        momentum, by_spin = spin_momentum(inertia[b], R, v[i : i + 3], before, w.h)
        spin = R @ np.diag(inertia[b]) @ R.T
        e.Gv[i : i + 3, i : i + 3] = by_spin
        e.Go[i : i + 3, i : i + 3] -= spin
        # a rotation of R by δ: R L(Rᵀ ω̄) turns as a whole, less what ω̄ does not
        carried = -_hat(momentum) + by_spin @ _hat(v[i : i + 3])
        e.Gq[i : i + 3, i : i + 3] += carried + _hat(spin @ old[i : i + 3]) - spin @ _hat(old[i : i + 3])
        spread = Re @ np.diag(1.0 / inertia[b]) @ Re.T
        e.end_v[i : i + 3, i : i + 3] = spread @ by_spin
        e.end_q[i : i + 3, i : i + 3] = spread @ carried
        e.end_p[i : i + 3, i : i + 3] = -_hat(spread @ momentum) + spread @ _hat(momentum)


@part
def _wrenches(w, t, e):
    """External forces are fixed in the world and act at centres of mass that move."""
    h, force, moved, x = w.h, np.empty(6), np.empty(3), np.empty(3)
    for b in range(w.wrench.shape[0]):
        some = False
        for k in range(6):
            some = some or w.wrench[b, k] != 0.0
        if not some:
            continue
        f, centre = w.wrench[b, :3], w.start.x[b]
        cross(centre, f, x)
        for k in range(3):
            force[k], force[3 + k] = -h * (x[k] + w.wrench[b, 3 + k]), -h * f[k]
        end = t.body_last[b]
        add_carried(t, e.S, (end, -1, -1), force, e.Gq)
        j = end
        while j >= 0:
            cross(e.S[j], centre, moved)
            for k in range(3):
                moved[k] += e.S[j, 3 + k]
            cross(moved, f, x)
            k = end
            while k >= 0:
                e.Gq[k, j] -= h * (e.S[k, 0] * x[0] + e.S[k, 1] * x[1] + e.S[k, 2] * x[2])
                k = t.parent[k]
            j = t.parent[j]
