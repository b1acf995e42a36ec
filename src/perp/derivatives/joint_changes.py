"""Compiled: rows of joints between bodies by the motions of their bodies.

Rows of `row_kernels` have a value and a Jacobian over (v, ω) of child and parent. How the Jacobian changes
with the poses is taken from differences of its closed form, twelve small motions a row.
"""

import numpy as np

from perp.compilation.kernel import part
from perp.derivatives.spatial import cross_motion, dot
from perp.derivatives.tree_dynamics import add_carried
from perp.dynamics.row_kernels import cross, evaluate_rows

_STEP = 1e-5


@part
def _nudge(x, quat, R, b, k, step, pose):
    """Move body b by a small motion about its own centre; `pose` keeps where it was."""
    pose[:3], pose[3:7] = x[b], quat[b]
    for r in range(3):
        for c in range(3):
            pose[7 + 3 * r + c] = R[b, r, c]
    if k >= 3:
        x[b, k - 3] += step
        return
    # exp(δ e_k) from the left
    half = 0.5 * step
    s, c = np.sin(half), np.cos(half)
    w, p = quat[b, 0], quat[b, 1:4].copy()
    i, j = (k + 1) % 3, (k + 2) % 3
    quat[b, 0] = c * w - s * p[k]
    quat[b, 1 + k] = c * p[k] + s * w
    quat[b, 1 + i] = c * p[i] - s * p[j]
    quat[b, 1 + j] = c * p[j] + s * p[i]
    S, C = np.sin(step), np.cos(step)
    for m in range(3):
        a, d = R[b, i, m], R[b, j, m]
        R[b, i, m], R[b, j, m] = C * a - S * d, S * a + C * d


@part
def _back(x, quat, R, b, pose):
    x[b], quat[b] = pose[:3], pose[3:7]
    for r in range(3):
        for c in range(3):
            R[b, r, c] = pose[7 + 3 * r + c]


@part
def row_slopes(links, geometry, x, quat, R, last, size, out):
    """Derivatives of one row's Jacobian by small motions about the centres of its bodies, shape (12, 12).

    Columns: turning and moving of the child, then of the parent. `links`, `geometry` and `last` are lines of
    the row; poses of the bodies are changed and put back; steps are in proportion to `size` [m].
    """
    pose = np.empty(16)
    value, plus, minus = np.empty(1), np.empty((1, 12)), np.empty((1, 12))
    for side in range(2):
        b = links[0, 1 + side]
        for k in range(6):
            if b < 0:
                out[:, 6 * side + k] = 0.0
                continue
            step = _STEP * (1.0 if k < 3 else size)
            _nudge(x, quat, R, b, k, step, pose)
            evaluate_rows(links, geometry, x, quat, R, last, value, plus)
            _back(x, quat, R, b, pose)
            _nudge(x, quat, R, b, k, -step, pose)
            evaluate_rows(links, geometry, x, quat, R, last, value, minus)
            _back(x, quat, R, b, pose)
            for r in range(12):
                out[r, 6 * side + k] = (plus[0, r] - minus[0, r]) / (2.0 * step)


@part
def add_row(t, e, link, impulse, rated, out):
    """Add a row between bodies to the derivatives: forces of its impulse and, where asked for, its rate.

    `link` has the last freedoms of child and parent or −1, their centres (2, 3), the row's Jacobian over (v,
    ω) of both (12,), and `row_slopes`; `out` are rates by q for the moving velocity and that of the start,
    and by velocity.
    """
    parent, before, S, Gq = t.parent, t.before, e.S, e.Gq
    ends, centres, row, slopes = link
    by_q, by_old, by_v = out
    W, x, y, d = np.empty((2, 6)), np.empty(3), np.empty(3), np.empty(12)
    dW, dT, u = np.empty(6), np.empty(6), np.empty(6)
    for side in range(2):
        if ends[side] < 0:
            continue
        f = row[6 * side : 6 * side + 6]
        cross(centres[side], f[:3], x)
        for r in range(3):
            W[side, r], W[side, 3 + r] = impulse * (x[r] + f[3 + r]), impulse * f[r]
        add_carried(t, S, (ends[side], -1, -1), -W[side], Gq)
    for first in range(2):
        j = ends[first]
        while j >= 0:
            # motion of body `first` about its centre
            c = centres[first]
            for k in range(3):
                u[k] = S[j, k]
            cross(S[j], c, x)
            for k in range(3):
                u[3 + k] = S[j, 3 + k] + x[k]
            for r in range(12):
                d[r] = 0.0
                for k in range(6):
                    d[r] += slopes[r, 6 * first + k] * u[k]
            for side in range(2):
                if ends[side] < 0:
                    continue
                f, g = row[6 * side : 6 * side + 6], d[6 * side : 6 * side + 6]
                cross(centres[side], g[:3], x)
                for r in range(3):
                    dW[r], dW[3 + r] = impulse * (x[r] + g[3 + r]), impulse * g[r]
                if side == first:
                    cross(u[3:6], f[:3], y)
                    for r in range(3):
                        dW[r] += impulse * y[r]
                k = ends[side]
                while k >= 0:
                    Gq[k, j] -= dot(S[k], dW)
                    k = parent[k]
                if not rated:
                    continue
                for which in range(2):
                    T = e.T if which == 0 else e.T_old
                    V = T[ends[side]]
                    cross(V, centres[side], x)
                    total = 0.0
                    for r in range(3):
                        total += g[r] * (V[3 + r] + x[r]) + g[3 + r] * V[r]
                    if side == first:
                        # velocity of the centre at rates that are held
                        cross(V, u[3:6], y)
                        for r in range(3):
                            total += f[r] * y[r]
                        if t.carry[j]:
                            for k in range(6):
                                dW[k] = V[k] - T[before[j], k]
                            cross_motion(S[j], dW, dT)
                            cross(dT, centres[side], x)
                            for r in range(3):
                                total += f[r] * (dT[3 + r] + x[r]) + f[3 + r] * dT[r]
                    if which == 0:
                        by_q[j] += total
                    else:
                        by_old[j] += total
            if rated:
                f = row[6 * first : 6 * first + 6]
                for r in range(3):
                    by_v[j] += f[r] * u[3 + r] + f[3 + r] * u[r]
            j = parent[j]


@part
def add_value(S, parent, ends, centres, row, out):
    """Value of a row by the coordinates of a place: out[j] += its Jacobian."""
    x = np.empty(3)
    for side in range(2):
        f, j = row[6 * side : 6 * side + 6], ends[side]
        while j >= 0:
            cross(S[j], centres[side], x)
            for r in range(3):
                out[j] += f[r] * (S[j, 3 + r] + x[r]) + f[3 + r] * S[j, r]
            j = parent[j]
