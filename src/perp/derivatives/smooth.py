"""Smooth part of a step: derivatives of its momentum balance and of the velocity of its end, compiled.

Trees:   G = M (v̄ − v) + E v̄ − h f + (h/2) c(q, v̄) − Jᵀ λ = 0,      E what is added to the diagonal of M
         M⁺ (v⁺ − v̄) + E (v⁺ − v̄) + (h/2) c(q⁺, v̄) = 0
Both are inverse dynamics with the velocity √(h/2) v̄, whose derivatives are exact (`tree_dynamics`).

Cut bodies: with L(a) = I x, (1 + I⁻¹ exp(−h â) I) x = 2 a, the spin part is
         R L(Rᵀ ω̄) − R I Rᵀ ω − h τ − (Jᵀ λ) = 0,   ω⁺ = R⁺ I⁻¹ R⁺ᵀ R L(Rᵀ ω̄)
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.spatial import turn_matrices
from perp.derivatives.tree_dynamics import add_carried, inverse_dynamics
from perp.dynamics.row_kernels import cross


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
        e.end_mass[j, j] += w.extra[j]
        e.end_v[j, j] += w.extra[j]
    for k in range(3):
        weight[k] = w.h * s.gravity[k]
    _add_mass(s, w.start.M, -1.0, e.Go)
    _add_mass(s, w.start.M, 1.0, e.Gv)
    _add_mass(s, w.end.M, 1.0, e.end_mass)
    _add_mass(s, w.end.M, 1.0, e.end_v)
    inverse_dynamics(t, e.S, w.start, (scaled, change, weight), e.Gq, e.Gv, (1.0, scale))
    inverse_dynamics(t, e.E, w.end, (scaled, e.change, np.zeros(3)), e.end_p, e.end_v, (-1.0, -scale))


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
def spin_momentum(moments, R, spin, h):
    """R L(Rᵀ ω̄), and its derivative by ω̄ at a rotation that is held."""
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    a = R.T @ spin
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
            e.end_mass[at + k, at + k] = e.end_v[at + k, at + k] = e.end_mass[i + k, i + k] = 1.0
        R, Re = w.start.R[b].copy(), w.end.R[b].copy()
        momentum, by_spin = spin_momentum(inertia[b], R, v[i : i + 3], w.h)
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
        add_carried(e.S, t.parent, t.before, t.last, end, force, t.siblings, e.Gq)
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
