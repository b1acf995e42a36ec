"""Compiled: the equations of a step solved for all changes at once, or backwards for one gradient.

Freedoms that no equation joins are solved apart, so that many bodies cost as much as each of them. With
Y = U_v G_v⁻¹ and W = Y Jᵀ + Σ the rows that can move obey

    (B + C W) dλ = −C (U_θ − Y G_θ) dθ − D dp

Redundant rows leave impulses that are not unique; the change of least norm has the velocities of all.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.islands import islands
from perp.derivatives.laws import LOWER, OPEN, REST, UPPER, law
from perp.derivatives.smoothing import path_law, path_point

# Pivots below this share of the largest mean redundant rows; singular values below the other are dropped.
_PIVOT, _RANK = 1e-11, 1e-9


@kernel(nogil=True, error_model="numpy")
def _numbers(of, k):
    """The numbers i with of[i] == k."""
    out, n = np.empty(of.size, np.int64), 0
    for i in range(of.size):
        if of[i] == k:
            out[n] = i
            n += 1
    return out[:n]


@kernel(nogil=True, error_model="numpy")
def _block(A, rows, columns):
    out = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        for j in range(columns.size):
            out[i, j] = A[rows[i], columns[j]]
    return out


@kernel(nogil=True, error_model="numpy")
def _mapped(A, dofs, map_, triples):
    """A times the block of a kinematic map: three columns a rotation."""
    out = A.copy()
    for j in triples:
        at = np.searchsorted(dofs, j)
        if at < dofs.size and dofs[at] == j:
            for i in range(A.shape[0]):
                for c in range(3):
                    out[i, at + c] = 0.0
                    for k in range(3):
                        out[i, at + c] += A[i, at + k] * map_[j + k, j + c]
    return out


@kernel(nogil=True, error_model="numpy")
def _local_laws(e, constraints, rows, W, smoothing):
    """Modes and laws of an island at its answer, or at its point of the central path; its rows that move.

    Returns:
        Number of the rows among `rows` that can move, and whether the path was found.
    """
    diagonal, at = np.empty(3), 0
    units, fine = np.empty(constraints.size), True
    for n in range(constraints.size):
        c = constraints[n]
        size = e.start[c + 1] - e.start[c]
        diagonal[0] = abs(W[at, at])
        diagonal[1] = diagonal[2] = diagonal[0]
        if size > 1:
            diagonal[1] = diagonal[2] = 0.5 * (
                abs(W[at + 1, at + 1]) + abs(W[at + min(size, 3) - 1, at + min(size, 3) - 1])
            )
        if size > 3:
            diagonal[2] = 0.5 * (abs(W[at + 3, at + 3]) + abs(W[at + size - 1, at + size - 1]))
        for k in range(3):
            diagonal[k] = diagonal[k] if diagonal[k] > 0.0 else 1.0
        a, b = e.start[c], e.start[c + 1]
        units[n] = smoothing * (1e6 * e.near[c]) ** 2 / diagonal[0]
        e.mode[c], e.margin[c] = law(
            e.kind[c], e.parameter[c], size, diagonal, e.impulse[a:b], e.velocity[a:b], False, e.near[c],
            e.B[c], e.C[c], e.D[c],
        )  # fmt: skip
        at += size
    if smoothing > 0.0:
        x, u = np.empty(rows.size), np.empty(rows.size)
        for i in range(rows.size):
            x[i], u[i] = e.impulse[rows[i]], e.velocity[rows[i]]
        start, at = np.zeros(constraints.size + 1, np.int64), 0
        for n in range(constraints.size):
            at += e.start[constraints[n] + 1] - e.start[constraints[n]]
            start[n + 1] = at
        kind, parameter = e.kind[constraints], e.parameter[constraints]
        fine = path_point(kind, start, parameter, W, u - W @ x, units, x, u)
        for n in range(constraints.size):
            c = constraints[n]
            path_law(
                kind[n], parameter[n], x[start[n] : start[n + 1]], u[start[n] : start[n + 1]], units[n],
                e.B[c], e.C[c], e.D[c], np.empty(6),
            )  # fmt: skip
    moves, at = np.zeros(rows.size, np.bool_), 0
    for n in range(constraints.size):
        c = constraints[n]
        mode, size = e.mode[c], e.start[c + 1] - e.start[c]
        still = smoothing == 0.0 and (mode == REST or mode == LOWER or mode == UPPER or mode == OPEN)
        for i in range(size):
            moves[at + i] = not still
        at += size
    return moves, fine


@kernel(nogil=True, error_model="numpy")
def _law_matrices(e, constraints, rows):
    """B and C of an island as matrices."""
    B, C, at = np.zeros((rows.size, rows.size)), np.zeros((rows.size, rows.size)), 0
    for c in constraints:
        size = e.start[c + 1] - e.start[c]
        for i in range(size):
            for j in range(size):
                B[at + i, at + j], C[at + i, at + j] = e.B[c, i, j], e.C[c, i, j]
        at += size
    return B, C


@kernel(nogil=True, error_model="numpy")
def _law_columns(e, constraints, rows):
    """D dp of an island by the asked parameters."""
    out, at = np.zeros((rows.size, e.G.shape[1])), 0
    for c in constraints:
        size = e.start[c + 1] - e.start[c]
        for k in range(6):
            for m in range(out.shape[1]):
                if e.dp[c, k, m] != 0.0:
                    for i in range(size):
                        out[at + i, m] += e.D[c, i, k] * e.dp[c, k, m]
        at += size
    return out


@kernel(nogil=True, error_model="numpy")
def _inverse(A):
    """A⁻¹, or the pseudo-inverse where A is singular; whether it is."""
    n = A.shape[0]
    scaled, scale = np.empty((n, n)), np.empty(n)
    for i in range(n):
        largest = 1e-300
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
        scale[i] = 1.0 / largest
        for j in range(n):
            scaled[i, j] = A[i, j] * scale[i]
    left, right = scaled.copy(), np.zeros((n, n))
    regular, top = True, 0.0
    for i in range(n):
        right[i, i] = scale[i]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(left[i, k]) > abs(left[best, k]):
                best = i
        size = abs(left[best, k])
        top = max(top, size)
        if not size > _PIVOT * top:
            regular = False
            break
        if best != k:
            for j in range(n):
                left[k, j], left[best, j] = left[best, j], left[k, j]
                right[k, j], right[best, j] = right[best, j], right[k, j]
        pivot = 1.0 / left[k, k]
        for j in range(k, n):
            left[k, j] *= pivot
        for j in range(n):
            right[k, j] *= pivot
        for i in range(n):
            f = left[i, k]
            if i != k and f != 0.0:
                for j in range(k, n):
                    left[i, j] -= f * left[k, j]
                for j in range(n):
                    right[i, j] -= f * right[k, j]
    if regular:
        return right, False
    u, s, vt = np.linalg.svd(scaled)
    for k in range(n):
        s[k] = 1.0 / s[k] if s[k] > _RANK * s[0] else 0.0
    out = (vt.T * s) @ u.T
    for j in range(n):
        for i in range(n):
            out[i, j] *= scale[j]
    return out, True


@kernel(nogil=True, error_model="numpy")
def _factors(e, dofs, constraints, smoothing):
    """What both ways need of an island: its rows, G_v⁻¹, Y, J, W, C, (B + C W)⁻¹ and which rows move."""
    n = dofs.size
    rows = np.empty(e.J.shape[0], np.int64)
    m = 0
    for c in constraints:
        for i in range(e.start[c], e.start[c + 1]):
            rows[m] = i
            m += 1
    rows = rows[:m]
    forces, ends = _block(e.Gp, dofs, dofs), _block(e.Up, rows, dofs)
    inverse = np.linalg.inv(_block(e.Gv, dofs, dofs) + e.h * _mapped(forces, dofs, e.Q, e.triples))
    Y = (_block(e.Uv, rows, dofs) + e.h * _mapped(ends, dofs, e.Q, e.triples)) @ inverse
    J = _block(e.J, rows, dofs)
    W = Y @ J.T
    for i in range(m):
        W[i, i] += e.compliance[rows[i]]
    moves, fine = _local_laws(e, constraints, rows, W, smoothing)
    B, C = _law_matrices(e, constraints, rows)
    free = np.flatnonzero(moves)
    A = _block(B + C @ W, free, free)
    solved, redundant = _inverse(A)
    return rows, inverse, Y, J, W, B, C, free, moves, solved, redundant, fine, n


@kernel(nogil=True, error_model="numpy")
def _sides(e, dofs, rows):
    """G_θ and U_θ of an island: by its coordinates, its velocities, activations, controls, parameters."""
    forces, ends = _block(e.Gp, dofs, dofs), _block(e.Up, rows, dofs)
    n, na, nu, k = dofs.size, e.Ga.shape[1], e.Gu.shape[1], e.G.shape[1]
    G, U = np.empty((n, 2 * n + na + nu + k)), np.empty((rows.size, 2 * n + na + nu + k))
    G[:, :n] = _block(e.Gq, dofs, dofs) + _mapped(forces, dofs, e.P, e.triples)
    G[:, n : 2 * n] = _block(e.Go, dofs, dofs)
    U[:, :n] = _block(e.Uq, rows, dofs) + _mapped(ends, dofs, e.P, e.triples)
    U[:, n : 2 * n] = _block(e.Uo, rows, dofs)
    a = 2 * n
    for part in range(3):
        width = na if part == 0 else (nu if part == 1 else k)
        left = e.Ga if part == 0 else (e.Gu if part == 1 else e.G)
        right = e.Ua if part == 0 else (e.Uu if part == 1 else e.U)
        for j in range(width):
            for i in range(n):
                G[i, a + j] = left[dofs[i], j]
            for i in range(rows.size):
                U[i, a + j] = right[rows[i], j]
        a += width
    return G, U


@kernel(nogil=True, error_model="numpy")
def forward(e, smoothing, whole, impulse):
    """State of the end and impulses by everything.

    Args:
        e: The equations; modes and margins are filled in.
        smoothing: κ, or zero for the derivative itself.
        whole: Out, shape (2 nv + na, 2 nv + na + nu + parameters).
        impulse: Out, shape (rows, same).

    Returns:
        Whether rows are redundant, and whether all points of the central path were found.
    """
    nv, na, nu = e.Gq.shape[0], e.Ga.shape[1], e.Gu.shape[1]
    shared = na + nu + e.G.shape[1]
    of, place, count = islands(e)
    any_redundant, all_fine = False, True
    for k in range(count):
        dofs, constraints = _numbers(of, k), _numbers(place, k)
        rows, inverse, Y, J, W, B, C, free, moves, solved, redundant, fine, n = _factors(
            e, dofs, constraints, smoothing
        )
        any_redundant, all_fine = any_redundant or redundant, all_fine and fine
        G, U = _sides(e, dofs, rows)
        drive = -G
        if rows.size:
            right = U - Y @ G
            D = _law_columns(e, constraints, rows)
            dx = np.zeros(right.shape)
            for i in range(rows.size):
                if not moves[i] and B[i, i] != 0.0:
                    for j in range(D.shape[1]):
                        dx[i, 2 * n + na + nu + j] = -D[i, j] / B[i, i]
            right += W @ dx
            right = -(C @ right)
            right[:, 2 * n + na + nu :] -= D
            moved = solved @ _rows(right, free)
            for i in range(free.size):
                dx[free[i]] = moved[i]
            drive += J.T @ dx
            _scatter(impulse, rows, dx, dofs, nv, shared)
        dv = inverse @ drive
        dq = e.h * dv
        for j in e.triples:
            at = np.searchsorted(dofs, j)
            if at < n and dofs[at] == j:
                dq[at : at + 3] = e.h * (e.Q[j : j + 3, j : j + 3].copy() @ dv[at : at + 3].copy())
        for i in range(n):
            for j in range(n):
                dq[i, j] += e.P[dofs[i], dofs[j]]
        # M⁺ dv⁺ = (E_v + h E_p Q) dv̄ + (E_q + E_p P) dq + …
        spread, bent = np.linalg.inv(_block(e.end_mass, dofs, dofs)), _block(e.end_p, dofs, dofs)
        final = (spread @ (_block(e.end_v, dofs, dofs) + e.h * _mapped(bent, dofs, e.Q, e.triples))) @ dv
        final[:, :n] += spread @ (_block(e.end_q, dofs, dofs) + _mapped(bent, dofs, e.P, e.triples))
        if shared:
            final[:, 2 * n :] += spread @ _ends(e, dofs)
        _scatter(whole, dofs, dq, dofs, nv, shared)
        _scatter(whole, nv + dofs, final, dofs, nv, shared)
    whole[2 * nv :, 2 * nv : 2 * nv + na] = e.act_a
    whole[2 * nv :, 2 * nv + na : 2 * nv + na + nu] = e.act_u
    return any_redundant, all_fine


@kernel(nogil=True, error_model="numpy")
def _ends(e, dofs):
    """What M⁺ dv⁺ has of activations, controls and parameters."""
    na, nu = e.Ga.shape[1], e.Gu.shape[1]
    out = np.empty((dofs.size, na + nu + e.Z.shape[1]))
    for i in range(dofs.size):
        j = dofs[i]
        for m in range(na):
            out[i, m] = -e.change[j] * e.extra_a[j, m]
        for m in range(nu):
            out[i, na + m] = -e.change[j] * e.extra_u[j, m]
        for m in range(e.Z.shape[1]):
            out[i, na + nu + m] = e.Z[j, m]
    return out


@kernel(nogil=True, error_model="numpy")
def _rows(A, rows):
    out = np.empty((rows.size, A.shape[1]))
    for i in range(rows.size):
        out[i] = A[rows[i]]
    return out


@kernel(nogil=True, error_model="numpy")
def _scatter(out, rows, block, dofs, nv, shared):
    """Lines of an island into those of the whole: its coordinates, its velocities, what all have."""
    n = dofs.size
    for i in range(rows.size):
        for j in range(n):
            out[rows[i], dofs[j]] = block[i, j]
            out[rows[i], nv + dofs[j]] = block[i, n + j]
        for j in range(shared):
            out[rows[i], 2 * nv + j] = block[i, 2 * n + j]


@kernel(nogil=True, error_model="numpy")
def backward(e, smoothing, gradient, out):
    """A gradient by the state of the end into one by state, controls and parameters of the start.

    Args:
        e: The equations; modes and margins are filled in.
        smoothing: κ, or zero for the derivative itself.
        gradient: Shape (2 nv + na,).
        out: Out, shape (2 nv + na + nu + parameters,).

    Returns:
        As `forward`.
    """
    nv, na, nu = e.Gq.shape[0], e.Ga.shape[1], e.Gu.shape[1]
    of, place, count = islands(e)
    any_redundant, all_fine = False, True
    out[:] = 0.0
    for k in range(count):
        dofs, constraints = _numbers(of, k), _numbers(place, k)
        rows, inverse, Y, J, W, B, C, free, moves, solved, redundant, fine, n = _factors(
            e, dofs, constraints, smoothing
        )
        any_redundant, all_fine = any_redundant or redundant, all_fine and fine
        y = np.linalg.solve(_block(e.end_mass, dofs, dofs).T.copy(), gradient[nv + dofs])
        by_end = gradient[dofs] + _block(e.end_p, dofs, dofs).T @ y
        by_v = _block(e.end_v, dofs, dofs).T @ y + e.h * (_block(e.Q, dofs, dofs).T @ by_end)
        z = inverse.T @ by_v
        by_q = _block(e.end_q, dofs, dofs).T @ y + _block(e.P, dofs, dofs).T @ by_end
        G, U = _sides(e, dofs, rows)
        total = -(G.T @ z)
        if rows.size:
            by_x = J @ z
            s = np.zeros(rows.size)
            moved = solved.T @ by_x[free]
            for i in range(free.size):
                s[free[i]] = moved[i]
            rho = -(C.T @ s)
            total += U.T @ rho - G.T @ (Y.T @ rho)
            # what rests at a bound follows it
            by_x += W.T @ rho
            D = _law_columns(e, constraints, rows)
            for i in range(rows.size):
                weight = s[i] if moves[i] else (by_x[i] / B[i, i] if B[i, i] != 0.0 else 0.0)
                for j in range(D.shape[1]):
                    total[2 * n + na + nu + j] -= weight * D[i, j]
        for i in range(n):
            j = dofs[i]
            out[j] += total[i] + by_q[i]
            out[nv + j] += total[n + i]
        if out.size > 2 * nv:
            out[2 * nv :] += total[2 * n :] + _ends(e, dofs).T @ y
    out[2 * nv : 2 * nv + na] += e.act_a.T @ gradient[2 * nv :]
    out[2 * nv + na : 2 * nv + na + nu] += e.act_u.T @ gradient[2 * nv :]
    return any_redundant, all_fine
