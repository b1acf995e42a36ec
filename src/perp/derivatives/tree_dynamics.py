"""Compiled derivatives of inverse dynamics of trees, exact and in closed form.

With motions S_j about the origin, everything behind freedom j is carried along rigidly when q_j changes. Let
V and A be velocity and acceleration of a body, V₀ and A₀ those before the joint of j, I its inertia,
F = I A + V ×* I V. Carried along are V − V₀ and the part of A that stems from behind the joint, so that

    ∂V/∂q_j = S_j × V + v′,   ∂A/∂q_j = S_j × A + v′ × (V − V₀) − S_j × A₀,   v′ = −S_j × V₀

and with H x = x ×* I V + V ×* I x + I (x × V), summed over what is behind a freedom like I and F,

    ∂τ_k/∂q_j = S_k · [I (−S_j × A₀ − v′ × V₀) + H v′]                k behind j
    ∂τ_k/∂q_j = S_k · [S_j ×* F + I (−S_j × A₀ − v′ × V₀) + H v′]     k before j, sums over what is behind j
    ∂τ_k/∂v_j = S_k · [I (−S_j × (V₀ + V₁)) + H S_j]                  V₁ the velocity behind the joint of j

The three rates of a rotation are one joint: each turns the axes of all of them.

Reference: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms (2018).
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.spatial import apply, cross_force, cross_motion, dot, inertia_about_origin


@part
def twists(S, parent, v, out):
    """Velocity of what is behind each freedom, shape (nv, 6)."""
    for j in range(S.shape[0]):
        for k in range(6):
            out[j, k] = S[j, k] * v[j] + (out[parent[j], k] if parent[j] >= 0 else 0.0)


@part
def inverse_dynamics(t, S, place, motion, by_q, by_v, factors):
    """Add derivatives of M a + c(q, v) − weights by q and v, times two factors, to matrices (nv, nv).

    Args:
        t: The tree, see `equations.Tree`.
        S: Motions of the freedoms about the origin, shape (nv, 6).
        place: Where the bodies are.
        motion: Velocities, accelerations, and the acceleration of gravity, shape (3,).
        by_q: Out.
        by_v: Out.
        factors: Of both.
    """
    nv, parent, before = S.shape[0], t.parent, t.before
    v, a, gravity = motion
    V, A = np.zeros((nv + 1, 6)), np.zeros((nv + 1, 6))
    # the last line is that of the world
    for k in range(3):
        A[nv, 3 + k] = -gravity[k]
    x, y, z = np.empty(6), np.empty(6), np.empty(6)
    for j in range(nv):
        cross_motion(V[before[j]], S[j], x)
        for k in range(6):
            V[j, k] = V[parent[j], k] + S[j, k] * v[j]
            A[j, k] = A[parent[j], k] + S[j, k] * a[j] + x[k] * v[j]
    behind, F = _behind(t, place, V, A)
    # what I and H are applied to, side by side: by q, then by v
    to_q, to_v, near = np.empty((nv, 12)), np.empty((nv, 12)), np.empty(12)
    for j in range(nv):
        B = before[j]
        cross_motion(V[B], S[j], y)
        cross_motion(y, V[B], z)
        cross_motion(S[j], A[B], x)
        for k in range(6):
            to_q[j, k], to_q[j, 6 + k], to_v[j, 6 + k] = -x[k] - z[k], y[k], S[j, k]
            z[k] = V[B, k] + V[t.last[j], k]
        cross_motion(z, S[j], to_v[j])
    for j in range(nv):
        # what is behind freedom j feels a motion of freedom k by I_j S_j and H_jᵀ S_j alone
        for i in range(12):
            near[i] = 0.0
        for m in range(6):
            f = S[j, m]
            for i in range(12):
                near[i] += f * behind[j, m, i]
        k = t.last[j]
        while k >= 0:
            by_q[j, k] += factors[0] * _dot12(near, to_q[k])
            by_v[j, k] += factors[1] * _dot12(near, to_v[k])
            k = parent[k]
        # what is before the joint feels all that is behind it
        cross_force(S[j], F[j], x)
        for i in range(6):
            x[i] += _dot12(behind[j, i], to_q[j])
            z[i] = _dot12(behind[j, i], to_v[j])
        k = before[j]
        while k >= 0:
            by_q[k, j] += factors[0] * dot(S[k], x)
            by_v[k, j] += factors[1] * dot(S[k], z)
            k = parent[k]


@part(fastmath={"contract", "reassoc"})
def _dot12(a, b):
    total = 0.0
    for i in range(12):
        total += a[i] * b[i]
    return total


@part
def _behind(t, place, V, A):
    """I and H side by side, shape (nv, 6, 12), and F summed over what is behind each freedom."""
    nv = t.parent.size
    out, F = np.zeros((nv, 6, 12)), np.zeros((nv, 6))
    x, y, p = np.empty(6), np.empty(6), np.empty(6)
    one, K = np.empty((6, 6)), np.empty((6, 6))
    for b in range(t.end.size):
        j = t.end[b]
        if j < 0 or t.mass[b] == 0.0:
            continue
        inertia_about_origin(t.mass[b], t.inertia[b], place.ximat[b], place.xipos[b], one)
        apply(one, V[j], p)
        cross_force(V[j], p, x)
        apply(one, A[j], y)
        for k in range(6):
            F[j, k] += x[k] + y[k]
            for i in range(6):
                out[j, i, k] += one[i, k]
        _add_bias(one, V[j], p, K, out[j, :, 6:])
    for j in range(nv - 1, -1, -1):
        i = t.parent[j]
        if i >= 0:
            for r in range(6):
                F[i, r] += F[j, r]
                for k in range(12):
                    out[i, r, k] += out[j, r, k]
    return out, F


@part
def _add_bias(inertia, V, p, K, out):
    """out += H of a body with velocity V and momentum p: x ×* p − (K + Kᵀ) x with K x = I (V × x)."""
    for c in range(3):
        i, j = (c + 1) % 3, (c + 2) % 3
        for k in range(6):
            # V × e_c: of an angular unit vector, then of a linear one
            K[k, 3 + c] = inertia[k, 3 + i] * V[j] - inertia[k, 3 + j] * V[i]
            K[k, c] = inertia[k, i] * V[j] - inertia[k, j] * V[i]
            K[k, c] += inertia[k, 3 + i] * V[3 + j] - inertia[k, 3 + j] * V[3 + i]
        out[i, c], out[j, c] = out[i, c] - p[j], out[j, c] + p[i]
        out[3 + i, c], out[3 + j, c] = out[3 + i, c] - p[3 + j], out[3 + j, c] + p[3 + i]
        out[i, 3 + c], out[j, 3 + c] = out[i, 3 + c] - p[3 + j], out[j, 3 + c] + p[3 + i]
    for k in range(6):
        for c in range(6):
            out[k, c] -= K[k, c] + K[c, k]


@part
def add_carried(t, S, path, W, out):
    """out[k, j] += (S_j × S_k) · W for freedoms of the path of a body: how its force W acts on turned axes.

    Args:
        t: The tree.
        S: Motions.
        path: Last freedom of the body or −1; freedoms before which k and j end, −1 for the root.
        W: Force on the body about the origin, shape (6,).
        out: Shape (nv, nv).
    """
    parent, before, x = t.parent, t.before, np.empty(6)
    k, stop, last = path
    while k >= 0 and k != stop:
        j = t.last[k] if t.siblings else k
        while j >= 0 and j != last:
            cross_motion(S[j], S[k], x)
            out[k, j] += dot(x, W)
            j = parent[j]
            if not t.siblings and j >= 0 and before[j] == before[k]:
                j = before[k]
        k = parent[k]
