"""Compiled derivatives of inverse dynamics of trees, exact and in closed form.

With motions S_j about the origin, everything behind freedom j is carried along rigidly when q_j changes. Let
V and A be velocity and acceleration of a body, V₀ and A₀ those before the joint of j, I its inertia,
F = I A + V ×* I V. Carried along are V − V₀ and the part of A that stems from behind the joint, so that

    ∂V/∂q_j = S_j × V + v′,   ∂A/∂q_j = S_j × A + v′ × (V − V₀) − S_j × A₀,   v′ = −S_j × V₀

and with H x = x ×* I V + V ×* I x + I (x × V), summed over what is behind a freedom like I and F,

    ∂τ_k/∂q_j = S_k · [I (−S_j × A₀ − v′ × V₀) + H v′]                k behind j
    ∂τ_k/∂q_j = S_k · [S_j ×* F + I (−S_j × A₀ − v′ × V₀) + H v′]     k before j, sums over what is behind j
    ∂τ_k/∂v_j = S_k · [I (−S_j × (V₀ + V₁)) + H S_j]                  V₁ the velocity behind the joint of j

The three rates of a rotation are one joint: each turns the axes of all of them. With mass m, m c, moments J
about the origin and momentum (n, f) of a body, V = (ω, v), H knows turning alone:

    H (w, ·) = (N w, 2 w × f),   N = −n^ + ω^ J − J ω^ − (mc) vᵀ − v (mc)ᵀ + 2 (mc · v) 1

Reference: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms (2018).
"""

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.spatial import cross_force, cross_motion, dot

# What is behind a freedom, summed: J and m c and m, N and f of H, F; with how many numbers.
_J, _MC, _M, _N, _f, _F, _SUMS = 0, 9, 12, 13, 22, 25, 31


@part
def twists(S, parent, v, out):
    """Velocity of what is behind each freedom, shape (nv, 6)."""
    for j in range(S.shape[0]):
        for k in range(6):
            out[j, k] = S[j, k] * v[j] + (out[parent[j], k] if parent[j] >= 0 else 0.0)


@part
def spread_motion(t, S, motion, V, A):
    """Velocity and acceleration of what is behind each freedom, and of the world in the last line."""
    parent, before, (v, a, gravity), x = t.parent, t.before, motion, np.empty(6)
    for k in range(3):
        A[-1, 3 + k] = -gravity[k]
    for j in range(S.shape[0]):
        cross_motion(V[before[j]], S[j], x)
        for k in range(6):
            V[j, k] = V[parent[j], k] + S[j, k] * v[j]
            A[j, k] = A[parent[j], k] + S[j, k] * a[j] + x[k] * v[j]


@part
def inverse_dynamics(t, S, place, motion, by_q, by_v, factors):
    """Add derivatives of M a + c(q, v) − weights by q and v, times two factors, to matrices (nv, nv).

    Motion has velocities, accelerations and the acceleration of gravity; S are the motions of the freedoms
    about the origin.
    """
    nv, parent, before = S.shape[0], t.parent, t.before
    V, A = np.zeros((nv + 1, 6)), np.zeros((nv + 1, 6))
    spread_motion(t, S, motion, V, A)
    x, y, z = np.empty(6), np.empty(6), np.empty(6)
    behind = _behind(t, place, V, A)
    # what I is applied to and, behind it, the turning that H is applied to: by q, then by v
    to_q, to_v, near = np.empty((nv, 9)), np.empty((nv, 9)), np.empty(9)
    for j in range(nv):
        B = before[j]
        cross_motion(V[B], S[j], y)
        cross_motion(y, V[B], z)
        cross_motion(S[j], A[B], x)
        for k in range(6):
            to_q[j, k] = -x[k] - z[k]
            z[k] = V[B, k] + V[t.last[j], k]
        cross_motion(z, S[j], to_v[j])
        for k in range(3):
            to_q[j, 6 + k], to_v[j, 6 + k] = y[k], S[j, k]
    for j in range(nv):
        # what is behind freedom j feels a motion of freedom k by I_j S_j and H_jᵀ S_j alone
        _nearest(behind[j], S[j], near)
        k = t.last[j]
        while k >= 0:
            by_q[j, k] += factors[0] * _dot9(near, to_q[k])
            by_v[j, k] += factors[1] * _dot9(near, to_v[k])
            k = parent[k]
        # what is before the joint feels all that is behind it
        cross_force(S[j], behind[j, _F:], x)
        _add_applied(behind[j], to_q[j], x)
        for i in range(6):
            z[i] = 0.0
        _add_applied(behind[j], to_v[j], z)
        k = before[j]
        while k >= 0:
            by_q[k, j] += factors[0] * dot(S[k], x)
            by_v[k, j] += factors[1] * dot(S[k], z)
            k = parent[k]


@part(fastmath={"contract", "reassoc"})
def _dot9(a, b):
    total = 0.0
    for i in range(9):
        total += a[i] * b[i]
    return total


@part(fastmath={"contract"})
def _nearest(c, S, out):
    """I S and the turning part of Hᵀ S for the sums c of what is behind a freedom."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        J, N, mc, f = c[_J + 3 * i : _J + 3 * i + 3], c[_N:_f], c[_MC:_M], c[_f:_F]
        out[i] = J[0] * S[0] + J[1] * S[1] + J[2] * S[2] + (mc[j] * S[3 + k] - mc[k] * S[3 + j])
        out[3 + i] = c[_M] * S[3 + i] + (S[j] * mc[k] - S[k] * mc[j])
        out[6 + i] = N[i] * S[0] + N[3 + i] * S[1] + N[6 + i] * S[2]
        out[6 + i] += 2.0 * (f[j] * S[3 + k] - f[k] * S[3 + j])


@part(fastmath={"contract"})
def _add_applied(c, x, out):
    """out += I x and H of the turning behind x, for the sums c of what is behind a freedom."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        J, N = c[_J + 3 * i : _J + 3 * i + 3], c[_N + 3 * i : _N + 3 * i + 3]
        mc, f = c[_MC:_M], c[_f:_F]
        out[i] += J[0] * x[0] + J[1] * x[1] + J[2] * x[2] + (mc[j] * x[3 + k] - mc[k] * x[3 + j])
        out[i] += N[0] * x[6] + N[1] * x[7] + N[2] * x[8]
        out[3 + i] += c[_M] * x[3 + i] + (x[j] * mc[k] - x[k] * mc[j])
        out[3 + i] += 2.0 * (x[6 + j] * f[k] - x[6 + k] * f[j])


@part
def _behind(t, place, V, A):
    """J, m c, m, N, f and F summed over what is behind each freedom, shape (nv, 31)."""
    nv = t.parent.size
    out = np.zeros((nv, _SUMS))
    J, E, n, f, mc = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
    for b in range(t.end.size):
        j, m = t.end[b], t.mass[b]
        if j < 0 or m == 0.0:
            continue
        R, c, moments, w, a, to = place.ximat[b], place.xipos[b], t.inertia[b], V[j], A[j], out[j]
        square, push = c[0] * c[0] + c[1] * c[1] + c[2] * c[2], 0.0
        for i in range(3):
            mc[i] = m * c[i]
            push += mc[i] * w[3 + i]
            for k in range(i + 1):
                total = (m * square if i == k else 0.0) - mc[i] * c[k]
                for r in range(3):
                    total += R[3 * i + r] * R[3 * k + r] * moments[r]
                J[i, k] = J[k, i] = total
        for i in range(3):
            k, r = (i + 1) % 3, (i + 2) % 3
            n[i] = J[i, 0] * w[0] + J[i, 1] * w[1] + J[i, 2] * w[2] + (mc[k] * w[3 + r] - mc[r] * w[3 + k])
            f[i] = m * w[3 + i] + (w[k] * mc[r] - w[r] * mc[k])
            for q in range(3):
                E[i, q] = w[k] * J[r, q] - w[r] * J[k, q]
        to[_M] += m
        for i in range(3):
            k, r = (i + 1) % 3, (i + 2) % 3
            to[_MC + i] += mc[i]
            to[_f + i] += f[i]
            for q in range(3):
                to[_J + 3 * i + q] += J[i, q]
                to[_N + 3 * i + q] += E[i, q] + E[q, i] - mc[i] * w[3 + q] - w[3 + i] * mc[q]
            to[_N + 3 * i + i] += 2.0 * push
            # −n^: entry (k, i) is −n_r, entry (r, i) is n_k
            to[_N + 3 * k + i] -= n[r]
            to[_N + 3 * r + i] += n[k]
            # I A + V ×* (n, f)
            to[_F + i] += J[i, 0] * a[0] + J[i, 1] * a[1] + J[i, 2] * a[2]
            to[_F + i] += (
                (mc[k] * a[3 + r] - mc[r] * a[3 + k])
                + (w[k] * n[r] - w[r] * n[k])
                + (w[3 + k] * f[r] - w[3 + r] * f[k])
            )
            to[_F + 3 + i] += m * a[3 + i] + (a[k] * mc[r] - a[r] * mc[k]) + (w[k] * f[r] - w[r] * f[k])
    for j in range(nv - 1, -1, -1):
        i = t.parent[j]
        if i >= 0:
            for k in range(_SUMS):
                out[i, k] += out[j, k]
    return out


@part
def add_carried(t, S, path, W, out):
    """out[k, j] += (S_j × S_k) · W for freedoms of the path of a body: how its force W acts on turned axes.

    With (S_j × S_k) · W = −S_k · (S_j ×* W), W about the origin. The path has the last freedom of the body or
    −1, and freedoms before which k and j end, −1 for the root.
    """
    parent, x = t.parent, np.empty(6)
    end, stop, last = path
    j = end
    while j >= 0 and j != last:
        cross_force(S[j], W, x)
        # j turns the axes behind its joint, and those of its own joint where these are carried
        k, kept = end, t.before[j] if t.siblings else t.last[j]
        while k > kept and k != stop:
            out[k, j] -= dot(S[k], x)
            k = parent[k]
        j = parent[j]
