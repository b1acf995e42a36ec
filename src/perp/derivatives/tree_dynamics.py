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

from perp.compilation.kernel import kernel
from perp.derivatives.spatial import apply, cross_force, cross_motion, dot, inertia_about_origin


@kernel(error_model="numpy")
def twists(S, parent, v, out):
    """Velocity of what is behind each freedom, shape (nv, 6)."""
    for j in range(S.shape[0]):
        for k in range(6):
            out[j, k] = S[j, k] * v[j] + (out[parent[j], k] if parent[j] >= 0 else 0.0)


@kernel(error_model="numpy")
def inverse_dynamics(S, parent, before, last, bodies, v, a, gravity, by_q, by_v):
    """Derivatives of M a + c(q, v) − weights by q and v, shape (nv, nv) each.

    Args:
        S: Motions of the freedoms about the origin, shape (nv, 6).
        parent: Freedom before each freedom, or −1.
        before: Freedom before the joint of each freedom, or −1.
        last: Last freedom of the joint of each freedom.
        bodies: Last freedom of each body (−1 for none), mass, moments (n, 3), frame (n, 9), centre (n, 3).
        v: Velocities.
        a: Accelerations.
        gravity: Acceleration of gravity, shape (3,).
        by_q: Out.
        by_v: Out.
    """
    nv = S.shape[0]
    end, mass, moments, frame, centre = bodies
    V, A = np.zeros((nv + 1, 6)), np.zeros((nv + 1, 6))
    # the last line is that of the world
    A[nv, 3:6] = -gravity
    mass_at, H, F = np.zeros((nv, 6, 6)), np.zeros((nv, 6, 6)), np.zeros((nv, 6))
    x, y, z, p, one = np.empty(6), np.empty(6), np.empty(6), np.empty(6), np.empty((6, 6))
    for j in range(nv):
        cross_motion(V[before[j]], S[j], x)
        for k in range(6):
            V[j, k] = V[parent[j], k] + S[j, k] * v[j]
            A[j, k] = A[parent[j], k] + S[j, k] * a[j] + x[k] * v[j]
    for b in range(end.size):
        j = end[b]
        if j < 0 or mass[b] == 0.0:
            continue
        inertia_about_origin(mass[b], moments[b], frame[b], centre[b], one)
        apply(one, V[j], p)
        cross_force(V[j], p, x)
        apply(one, A[j], y)
        for k in range(6):
            F[j, k] += x[k] + y[k]
            for i in range(6):
                mass_at[j, i, k] += one[i, k]
        for c in range(6):
            for k in range(6):
                x[k] = 1.0 if k == c else 0.0
            cross_force(x, p, y)
            for k in range(6):
                H[j, k, c] += y[k]
                z[k] = one[k, c]
            cross_force(V[j], z, y)
            cross_motion(x, V[j], z)
            apply(one, z, x)
            for k in range(6):
                H[j, k, c] += y[k] + x[k]
    for j in range(nv - 1, -1, -1):
        i = parent[j]
        if i >= 0:
            mass_at[i] += mass_at[j]
            H[i] += H[j]
            F[i] += F[j]
    by_q[:, :] = 0.0
    by_v[:, :] = 0.0
    t, s, rate = np.empty(6), np.empty(6), np.empty(6)
    for j in range(nv):
        cross_motion(S[j], V[before[j]], t)
        for k in range(6):
            t[k] = -t[k]
        cross_motion(S[j], A[before[j]], s)
        cross_motion(t, V[before[j]], x)
        for k in range(6):
            s[k] = -s[k] - x[k]
            y[k] = V[before[j], k] + V[last[j], k]
        cross_motion(S[j], y, rate)
        for k in range(6):
            rate[k] = -rate[k]
        _force(mass_at[j], H[j], s, t, x)
        _force(mass_at[j], H[j], rate, S[j], z)
        cross_force(S[j], F[j], y)
        # what is before the joint feels all that is behind it
        k = before[j]
        while k >= 0:
            by_q[k, j] = dot(S[k], x) + dot(S[k], y)
            by_v[k, j] = dot(S[k], z)
            k = parent[k]
        # the joint itself and what is behind it
        k = last[j]
        while k != before[j]:
            by_q[k, j] = dot(S[k], x)
            by_v[k, j] = dot(S[k], z)
            k = parent[k]
        for k in range(last[j] + 1, nv):
            i = parent[k]
            if i == last[j] or (i > last[j] and _behind(parent, k, last[j])):
                _force(mass_at[k], H[k], s, t, x)
                _force(mass_at[k], H[k], rate, S[j], z)
                by_q[k, j] = dot(S[k], x)
                by_v[k, j] = dot(S[k], z)


@kernel(error_model="numpy")
def _force(inertia, H, s, t, out):
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += inertia[i, k] * s[k] + H[i, k] * t[k]
        out[i] = total


@kernel(error_model="numpy")
def _behind(parent, k, j):
    while k > j:
        k = parent[k]
    return k == j


@kernel(error_model="numpy")
def add_carried(S, parent, before, last, end, W, siblings, out):
    """out[k, j] += (S_j × S_k) · W for freedoms of the path of a body: how its force W acts on turned axes.

    Args:
        S: Motions.
        parent: Freedom before each freedom.
        before: Freedom before its joint.
        last: Last freedom of its joint.
        end: Last freedom of the body, or −1.
        W: Force on the body about the origin, shape (6,).
        siblings: Whether rates of a rotation turn their own axes.
        out: Shape (nv, nv).
    """
    x = np.empty(6)
    k = end
    while k >= 0:
        j = last[k] if siblings else k
        while j >= 0:
            cross_motion(S[j], S[k], x)
            out[k, j] += dot(x, W)
            j = parent[j]
            if not siblings and j >= 0 and before[j] == before[k]:
                j = before[k]
        k = parent[k]
