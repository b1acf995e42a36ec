"""Compiled: the equations of a step backwards, for one gradient; see `implicit`.

With y = M⁺⁻ᵀ g_v, z = K⁻ᵀ (E_vᵀ y + h Qᵀ (g_q + E_pᵀ y)) and s, ρ of the rows that can move

    [B + C W]ᵀ s = J z,   ρ = −Cᵀ s,   ζ = z + K⁻ᵀ Vᵀ ρ

the gradient by θ is U_θᵀ ρ − G_θᵀ ζ: one elimination of Kᵀ, and no matrix of the step.
"""

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.derivatives.elimination import add_rows, eliminate, solve_rows
from perp.derivatives.implicit import (
    add_line,
    add_part,
    by_laws,
    moving,
    numbers,
    path_laws,
    rotations_of,
    rows_of,
    solve_end,
)


@part
def _by_end(e, dofs, gradient, out):
    """A gradient by state of the end into one by θ without v̄, in `out`, and one by v̄, which is returned."""
    n, nv, na, nu = dofs.size, e.Gq.shape[0], e.Ga.shape[1], e.Gu.shape[1]
    y, by_q, by_v, by_start = np.empty((n, 1)), np.empty(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        by_q[i], y[i, 0] = gradient[dofs[i]], gradient[nv + dofs[i]]
    solve_end(e, dofs, y)
    for i in range(n):
        f, d = y[i, 0], dofs[i]
        if f == 0.0:
            continue
        add_part(e.end_p, d, f, dofs, by_q)
        add_part(e.end_v, d, f, dofs, by_v)
        add_part(e.end_q, d, f, dofs, by_start)
        add_line(e.extra_a, d, -f * e.change[d], out[2 * nv :])
        add_line(e.extra_u, d, -f * e.change[d], out[2 * nv + na :])
        add_line(e.Z, d, f, out[2 * nv + na + nu :])
    for j in range(n):
        by_v[j] += e.h * by_q[j]
        out[dofs[j]] += by_start[j] + by_q[j]
    rotations = rotations_of(e, dofs)
    for b in range(rotations.size):
        at = rotations[b]
        if at >= 0:
            for c in range(3):
                by_v[at + c] -= e.h * by_q[at + c]
                out[dofs[at] + c] -= by_q[at + c]
                for r in range(3):
                    by_v[at + c] += e.h * e.Q[b, r, c] * by_q[at + r]
                    out[dofs[at] + c] += e.P[b, r, c] * by_q[at + r]
    return by_v


@part
def _add_transposed(e, matrices, line, factor, dofs, through, out):
    """out += factor × line of (by q, by q⁺, by v, by activations, by controls, by parameters).

    What goes by q⁺ is kept in `through`, for P.
    """
    by_q, by_p, by_o, by_a, by_u, by_parameter = matrices
    nv, na, nu = e.Gq.shape[0], e.Ga.shape[1], e.Gu.shape[1]
    # freedoms of other islands between those of this one have zeros
    for j in range(dofs[0], dofs[-1] + 1):
        through[j] += factor * by_p[line, j]
        out[j] += factor * by_q[line, j]
        out[nv + j] += factor * by_o[line, j]
    add_line(by_a, line, factor, out[2 * nv :])
    add_line(by_u, line, factor, out[2 * nv + na :])
    add_line(by_parameter, line, factor, out[2 * nv + na + nu :])


@part
def _island(e, k, smoothing, gradient, through, out):
    """The part of one island; whether all was found."""
    dofs, constraints = numbers(e.island, k), numbers(e.place, k)
    rows, first = rows_of(e, constraints)
    n, m, nv = dofs.size, rows.size, e.Gq.shape[0]
    by_v = _by_end(e, dofs, gradient, out)
    K, V = moving(e, dofs, rows)
    X, zeta = np.empty((n, 1 + m)), np.empty(n)
    for i in range(n):
        X[i, 0] = by_v[i]
        for j in range(m):
            X[i, 1 + j] = V[j, i]
        for j in range(i):
            K[i, j], K[j, i] = K[j, i], K[i, j]
    fine = eliminate(K, X)
    for i in range(n):
        zeta[i] = X[i, 0]
    rho = np.zeros(m)
    if m:
        # a row b of J has few entries: s_b and column b of W at once
        J, T, s = np.empty((m, n)), np.zeros((m, 1 + m)), np.zeros((m, 1))
        for b in range(m):
            for j in range(n):
                J[b, j] = e.J[rows[b], dofs[j]]
            add_rows(J, b, n, 1.0, X, T)
            T[b, 1 + b] += e.compliance[rows[b]]
            s[b, 0] = T[b, 0]
        W = T[:, 1:].T.copy()
        if smoothing > 0.0:
            fine = path_laws(e, constraints, rows, first, W, smoothing) and fine
        solve_rows(by_laws(e, constraints, first, W), s, True)
        at = 2 * nv + e.Ga.shape[1] + e.Gu.shape[1]
        for c in range(constraints.size):
            size = first[c + 1] - first[c]
            for i in range(size):
                f = s[first[c] + i, 0]
                for j in range(size):
                    rho[first[c] + j] -= e.C[constraints[c], i, j] * f
                for q in range(6):
                    weight = f * e.D[constraints[c], i, q]
                    if weight != 0.0:
                        for j in range(e.dp.shape[2]):
                            out[at + j] -= weight * e.dp[constraints[c], q, j]
        for i in range(n):
            for j in range(m):
                zeta[i] += X[i, 1 + j] * rho[j]
    for i in range(n):
        _add_transposed(e, (e.Gq, e.Gp, e.Go, e.Ga, e.Gu, e.G), dofs[i], -zeta[i], dofs, through, out)
    for i in range(m):
        _add_transposed(e, (e.Uq, e.Up, e.Uo, e.Ua, e.Uu, e.U), rows[i], rho[i], dofs, through, out)
    return fine


@kernel(nogil=True)
def backward(e, smoothing, gradient, out):
    """A gradient by the state of the end into one by state, controls and parameters of the start, `out`.

    `smoothing` is κ, or zero for the derivative itself. Returns whether all points of the central path were
    found and all matrices are regular.
    """
    nv, na = e.Gq.shape[0], e.Ga.shape[1]
    fine, through = True, np.zeros(nv)
    out[:] = 0.0
    for k in range(e.islands):
        fine = _island(e, k, smoothing, gradient, through, out) and fine
    for j in range(nv):
        out[j] += through[j]
    for b in range(e.triples.size):
        j = e.triples[b]
        for c in range(3):
            out[j + c] -= through[j + c]
            for r in range(3):
                out[j + c] += e.P[b, r, c] * through[j + r]
    for i in range(na):
        add_line(e.act_a, i, gradient[2 * nv + i], out[2 * nv :])
        add_line(e.act_u, i, gradient[2 * nv + i], out[2 * nv + na :])
    return fine
