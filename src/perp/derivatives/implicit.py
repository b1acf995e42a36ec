"""Compiled: the equations of a step solved for all changes at once, or backwards for one gradient.

Islands are solved apart, so that many bodies cost as much as each of them. With K = G_v + h G_p Q,
V = U_v + h U_p Q and the rows that can move

    dv̄ = K⁻¹ (Jᵀ dλ − G_θ dθ),   [B + C (V K⁻¹ Jᵀ + Σ)] dλ = −C (U_θ − V K⁻¹ G_θ) dθ − D dp

and backwards with K⁻ᵀ: one elimination of K with as many right sides as there are columns and rows, or with
one and the rows. Redundant rows leave impulses that are not unique; the change of least norm has the
velocities of all.
"""

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.derivatives.elimination import add_row, add_rows, eliminate, leaves_still, solve_rows
from perp.derivatives.smoothing import path_law, path_point


@part
def numbers(of, k):
    """The numbers i with of[i] == k."""
    out, n = np.empty(of.size, np.int64), 0
    for i in range(of.size):
        if of[i] == k:
            out[n] = i
            n += 1
    return out[:n]


@part(fastmath={"contract"})
def add_part(A, row, factor, dofs, out):
    """out += factor A[row] over the freedoms of an island, which most often follow each other."""
    n, first = dofs.size, dofs[0]
    if dofs[n - 1] - first == n - 1:
        for j in range(n):
            out[j] += factor * A[row, first + j]
    else:
        for j in range(n):
            out[j] += factor * A[row, dofs[j]]


@part
def add_line(A, row, factor, out):
    """out += factor A[row], for what all islands have."""
    for j in range(A.shape[1]):
        out[j] += factor * A[row, j]


@part
def rotations_of(e, dofs):
    """Where the rotations of the scene begin among the freedoms of an island, -1 for those of others."""
    out = np.full(e.triples.size, -1)
    for b in range(e.triples.size):
        at = np.searchsorted(dofs, e.triples[b])
        if at < dofs.size and dofs[at] == e.triples[b]:
            out[b] = at
    return out


@part
def _add_mapped(A, row, factor, dofs, rotations, blocks, out):
    """out += factor A[row] X, X the kinematic map on the freedoms of an island."""
    add_part(A, row, factor, dofs, out)
    for n in range(rotations.size):
        at = rotations[n]
        if at < 0:
            continue
        for c in range(3):
            total = -A[row, dofs[at] + c]
            for k in range(3):
                total += A[row, dofs[at] + k] * blocks[n, k, c]
            out[at + c] += factor * total


@part
def _add_product(A, B, out):
    """out += A B."""
    for i in range(A.shape[0]):
        add_rows(A, i, A.shape[1], 1.0, B, out)


@part
def rows_of(e, constraints):
    """Rows of an island, and where those of each constraint begin among them."""
    first = np.zeros(constraints.size + 1, np.int64)
    for n in range(constraints.size):
        first[n + 1] = first[n] + e.start[constraints[n] + 1] - e.start[constraints[n]]
    rows = np.empty(first[-1], np.int64)
    for n in range(constraints.size):
        for i in range(first[n + 1] - first[n]):
            rows[first[n] + i] = e.start[constraints[n]] + i
    return rows, first


@part
def moving(e, dofs, rows):
    """K and V of an island."""
    n, m, rotations = dofs.size, rows.size, rotations_of(e, dofs)
    K, V = np.zeros((n, n)), np.zeros((m, n))
    for i in range(n):
        add_part(e.Gv, dofs[i], 1.0, dofs, K[i])
        _add_mapped(e.Gp, dofs[i], e.h, dofs, rotations, e.Q, K[i])
    for i in range(m):
        add_part(e.Uv, rows[i], 1.0, dofs, V[i])
        _add_mapped(e.Up, rows[i], e.h, dofs, rotations, e.Q, V[i])
    return K, V


@part
def path_laws(e, constraints, rows, first, W, smoothing):
    """Laws of an island at its point of the central path; whether that was found."""
    x, u, units = np.empty(rows.size), np.empty(rows.size), np.empty(constraints.size)
    for i in range(rows.size):
        x[i], u[i] = e.impulse[rows[i]], e.velocity[rows[i]]
    kind, parameter = e.kind[constraints], e.parameter[constraints]
    for n in range(constraints.size):
        c = constraints[n]
        units[n] = smoothing * (1e6 * e.near[c]) ** 2 / e.mobility[c, 0]
    fine = path_point(kind, first, parameter, W, u - W @ x, units, x, u)
    for n in range(constraints.size):
        a, b, c = first[n], first[n + 1], constraints[n]
        path_law(kind[n], parameter[n], x[a:b], u[a:b], units[n], (e.B[c], e.C[c], e.D[c]))
    return fine


@part
def by_laws(e, constraints, first, W):
    """B + C W of an island."""
    out = np.zeros(W.shape)
    _add_blocks(e.C, constraints, first, 1.0, W, out)
    for n in range(constraints.size):
        a, size = first[n], first[n + 1] - first[n]
        for i in range(size):
            for k in range(size):
                out[a + i, a + k] += e.B[constraints[n], i, k]
    return out


@part
def _add_blocks(C, constraints, first, sign, X, out):
    """out += sign C X, with a block of C for each constraint."""
    for n in range(constraints.size):
        a, size = first[n], first[n + 1] - first[n]
        for i in range(size):
            for k in range(size):
                f = sign * C[constraints[n], i, k]
                if f != 0.0:
                    for j in range(X.shape[1]):
                        out[a + i, j] += f * X[a + k, j]


@part
def fold_bounds(e):
    """Rows that rest at a bound follow it: their impulses by the asked parameters into the balance.

    Returns these impulses, shape (rows, columns).
    """
    columns = e.G.shape[1]
    out = np.zeros((e.J.shape[0], columns))
    for c in range(e.kind.size):
        if e.moves[c] or e.left_out[c] or columns == 0:
            continue
        for r in range(e.start[c + 1] - e.start[c]):
            i = e.start[c] + r
            for m in range(columns):
                total = 0.0
                for k in range(6):
                    total += e.D[c, r, k] * e.dp[c, k, m]
                if total != 0.0:
                    out[i, m] = -total / e.B[c, r, r]
                    for j in range(e.J.shape[1]):
                        e.G[j, m] -= e.J[i, j] * out[i, m]
    return out


@part
def _sides(e, dofs, rows, constraints, first):
    """−G_θ with columns Jᵀ behind it, and U_θ of an island; D dp.

    Columns are its coordinates, its velocities, activations, controls, parameters.
    """
    n, m, na, nu, k = dofs.size, rows.size, e.Ga.shape[1], e.Gu.shape[1], e.G.shape[1]
    width = 2 * n + na + nu + k
    G, U, D = np.zeros((n, width + m)), np.zeros((m, width)), np.zeros((m, k))
    rotations = rotations_of(e, dofs)
    for i in range(n):
        d = dofs[i]
        add_part(e.Gq, d, -1.0, dofs, G[i])
        add_part(e.Go, d, -1.0, dofs, G[i, n:])
        _add_mapped(e.Gp, d, -1.0, dofs, rotations, e.P, G[i])
        add_line(e.Ga, d, -1.0, G[i, 2 * n :])
        add_line(e.Gu, d, -1.0, G[i, 2 * n + na :])
        add_line(e.G, d, -1.0, G[i, 2 * n + na + nu :])
        for j in range(m):
            G[i, width + j] = e.J[rows[j], d]
    for i in range(m):
        r = rows[i]
        add_part(e.Uq, r, 1.0, dofs, U[i])
        add_part(e.Uo, r, 1.0, dofs, U[i, n:])
        _add_mapped(e.Up, r, 1.0, dofs, rotations, e.P, U[i])
        add_line(e.Ua, r, 1.0, U[i, 2 * n :])
        add_line(e.Uu, r, 1.0, U[i, 2 * n + na :])
        add_line(e.U, r, 1.0, U[i, 2 * n + na + nu :])
    for c in range(constraints.size):
        for q in range(6):
            for j in range(k):
                if e.dp[constraints[c], q, j] != 0.0:
                    for i in range(first[c + 1] - first[c]):
                        D[first[c] + i, j] += e.D[constraints[c], i, q] * e.dp[constraints[c], q, j]
    return G, U, D


@kernel(nogil=True)
def forward(e, smoothing, whole, impulse):
    """State of the end and impulses by everything.

    Args:
        e: The equations.
        smoothing: κ, or zero for the derivative itself.
        whole: Out, shape (2 nv + na, 2 nv + na + nu + parameters).
        impulse: Out, shape (rows, same).

    Returns:
        Whether rows are redundant, whether velocities are unique all the same, whether redundant rows agree,
        and whether all points of the central path were found and all matrices are regular.
    """
    nv, na, nu = e.Gq.shape[0], e.Ga.shape[1], e.Gu.shape[1]
    shared, redundant, unique, consistent, fine = na + nu + e.G.shape[1], False, True, True, True
    impulse[:, 2 * nv + na + nu :] = e.bound
    for k in range(e.islands):
        dofs, constraints = numbers(e.island, k), numbers(e.place, k)
        rows, first = rows_of(e, constraints)
        n, m, width = dofs.size, rows.size, 2 * dofs.size + shared
        K, V = moving(e, dofs, rows)
        G, U, D = _sides(e, dofs, rows, constraints, first)
        fine = fine and eliminate(K, G)
        dv = G[:, :width].copy()
        if m:
            Z, W = G[:, width:].copy(), np.zeros((m, m))
            _add_product(V, Z, W)
            for i in range(m):
                W[i, i] += e.compliance[rows[i]]
            if smoothing > 0.0:
                fine = fine and path_laws(e, constraints, rows, first, W, smoothing)
            _add_product(V, dv, U)
            dx = np.zeros((m, width))
            _add_blocks(e.C, constraints, first, -1.0, U, dx)
            for i in range(m):
                add_line(D, i, -1.0, dx[i, 2 * n + na + nu :])
            agree, space = solve_rows(by_laws(e, constraints, first, W), dx, False)
            if space[0] < m:
                redundant, consistent = True, consistent and agree
                unique = leaves_still(space, Z) and unique
            _add_product(Z, dx, dv)
            _scatter(impulse, rows, dx, dofs, nv, shared)
        final = _end_of(e, dofs, dv)
        solve_end(e, dofs, final)
        _scatter(whole, nv + dofs, final, dofs, nv, shared)
        _scatter(whole, dofs, _carried(e, dofs, dv), dofs, nv, shared)
    whole[2 * nv :, 2 * nv : 2 * nv + na] = e.act_a
    whole[2 * nv :, 2 * nv + na : 2 * nv + na + nu] = e.act_u
    return redundant, unique, consistent, fine


@part
def _end_of(e, dofs, dv):
    """M⁺ dv⁺: (E_v + h E_p Q) dv̄ + (E_q + E_p P) dq + … of the parameters."""
    n, na, nu = dofs.size, e.Ga.shape[1], e.Gu.shape[1]
    by_v, out, rotations = np.zeros((n, n)), np.zeros(dv.shape), rotations_of(e, dofs)
    for i in range(n):
        d = dofs[i]
        add_part(e.end_v, d, 1.0, dofs, by_v[i])
        add_part(e.end_q, d, 1.0, dofs, out[i])
        _add_mapped(e.end_p, d, e.h, dofs, rotations, e.Q, by_v[i])
        _add_mapped(e.end_p, d, 1.0, dofs, rotations, e.P, out[i])
        add_line(e.extra_a, d, -e.change[d], out[i, 2 * n :])
        add_line(e.extra_u, d, -e.change[d], out[i, 2 * n + na :])
        add_line(e.Z, d, 1.0, out[i, 2 * n + na + nu :])
    _add_product(by_v, dv, out)
    return out


@part
def solve_end(e, dofs, X):
    """X ← M⁺⁻¹ X for the freedoms of an island; freedoms before each of them are among them."""
    if not e.end_factor.size:
        return
    n, width, at = dofs.size, X.shape[1], np.empty(e.Gq.shape[0], np.int64)
    for k in range(n):
        at[dofs[k]] = k
    for k in range(n - 1, -1, -1):
        a = e.end_begin[dofs[k]]
        for m in range(a, a + e.end_count[dofs[k]] - 1):
            add_row(X, at[e.end_column[m]], -e.end_factor[m], k, width)
    for k in range(n):
        a, last = e.end_begin[dofs[k]], e.end_begin[dofs[k]] + e.end_count[dofs[k]] - 1
        f = 1.0 / e.end_factor[last]
        for j in range(width):
            X[k, j] *= f
        for m in range(a, last):
            add_row(X, k, -e.end_factor[m], at[e.end_column[m]], width)


@part
def _carried(e, dofs, dv):
    """P dq + h Q dv̄, in place of dv̄."""
    n, width = dv.shape
    x, rotations = np.empty(3), rotations_of(e, dofs)
    for b in range(rotations.size):
        at = rotations[b]
        if at >= 0:
            for j in range(width):
                for r in range(3):
                    x[r] = dv[at + r, j]
                for r in range(3):
                    dv[at + r, j] = e.Q[b, r, 0] * x[0] + e.Q[b, r, 1] * x[1] + e.Q[b, r, 2] * x[2]
    for i in range(n):
        for j in range(width):
            dv[i, j] *= e.h
        dv[i, i] += 1.0
    for b in range(rotations.size):
        at = rotations[b]
        if at >= 0:
            for r in range(3):
                for c in range(3):
                    dv[at + r, at + c] += e.P[b, r, c] - (1.0 if r == c else 0.0)
    return dv


@part
def _scatter(out, rows, block, dofs, nv, shared):
    """Lines of an island into those of the whole: its coordinates, its velocities, what all have."""
    n = dofs.size
    for i in range(rows.size):
        for j in range(n):
            out[rows[i], dofs[j]] = block[i, j]
            out[rows[i], nv + dofs[j]] = block[i, n + j]
        for j in range(shared):
            out[rows[i], 2 * nv + j] = block[i, 2 * n + j]
