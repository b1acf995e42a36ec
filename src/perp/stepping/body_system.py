"""One Newton step in the velocities of the bodies: (M + Jᵀ K L) Δu = −Jᵀ A⁻¹ F, one 6 × 6 block per body.

The contact conditions F(λ, y) = 0 have dF = B Δλ + C Δy (`stepping/contact_equations.py`), Δy = L Δu + Σ Δλ.
With a proximal compliance σ d added to Σ the impulses follow from the velocities,

    Δλ = −A⁻¹ (F + C L Δu),   A = B + C (Σ + σ d),   K = A⁻¹ C,

whatever the rank of J: redundant contacts and closed loops share the change evenly. Bodies are eliminated in
the order of least degree, pivoting inside the blocks only. Cost: one pass over the rows and the block
elimination, which for a stack is linear in its height.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.kernels.elimination import eliminate
from perp.problems.set_kernels import BOX, ELLIPTIC, FREE, NONNEGATIVE, ROLLING
from perp.stepping.contact_equations import CLOSED, linearise, linearise_row

LARGEST = 5
_BLOCK = 36
# Pivots below this share of the largest entry of their block are replaced by it.
_PIVOT = 1e-14


@njit(cache=True)
def elimination_order(rows, body_count):
    """Order and structure of the factors over bodies that share a constraint (see `eliminate`)."""
    first = np.zeros(body_count + 1, np.int64)
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        if a >= 0 and b >= 0:
            first[a + 1] += 1
    first = np.cumsum(first)
    column, fill = np.empty(first[body_count], np.int64), first[:body_count].copy()
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        if a >= 0 and b >= 0:
            column[fill[a]] = b
            fill[a] += 1
    return eliminate(first, column)


@njit(cache=True)
def linearised(rows, c, d, impulse, y, F, B, C, x, v):
    """F of constraint c with dF = B Δλ + C Δy; x and v are workspaces of five numbers. Returns its state."""
    i, kind = rows.start[c], rows.kind[c]
    size = rows.start[c + 1] - i
    for r in range(size):
        x[r], v[r] = impulse[i + r], y[i + r]
    if kind == FREE:
        F[0], B[0, 0], C[0, 0] = v[0], 0.0, 1.0
        return CLOSED
    if kind == NONNEGATIVE:
        return linearise_row(0.0, np.inf, d, x, v, 0, F, B, C)
    if kind == BOX:
        return linearise_row(rows.a[c], rows.b[c], d, x, v, 0, F, B, C)
    mu, mu_r, g1, g2 = rows.a[c], -1.0, 1.0, 1.0
    if kind == ELLIPTIC:
        mu = max(rows.a[c], rows.b[c])
        if mu > 0.0:
            g1, g2 = rows.a[c] / mu, rows.b[c] / mu
    if kind != ROLLING:
        return linearise(size, mu, mu_r, g1, g2, d, x, v, 0, F, B, C)
    stretch = rows.length[c]
    for r in range(3, 5):
        x[r] /= stretch
        v[r] *= stretch
    state = linearise(5, mu, rows.b[c] / stretch, 1.0, 1.0, d, x, v, 0, F, B, C)
    for r in range(5):
        for s in range(3, 5):
            B[r, s] /= stretch
            C[r, s] *= stretch
    return state


@njit(cache=True)
def _solve_small(A, size, columns):
    """Gauss–Jordan with row pivoting on [A | right sides], shape (size, size + columns), in place."""
    for k in range(size):
        best = k
        for r in range(k + 1, size):
            if abs(A[r, k]) > abs(A[best, k]):
                best = r
        if best != k:
            for s in range(size + columns):
                A[k, s], A[best, s] = A[best, s], A[k, s]
        pivot = A[k, k]
        if pivot == 0.0:
            return False
        for s in range(size + columns):
            A[k, s] /= pivot
        for r in range(size):
            factor = A[r, k]
            if r != k and factor != 0.0:
                for s in range(size + columns):
                    A[r, s] -= factor * A[k, s]
    return True


@njit(cache=True)
def condense(rows, sigma, island, active, impulse, y, K, f):
    """A⁻¹ C into K and A⁻¹ F into f for the constraints of the active islands; False where A is singular.

    Args:
        rows: The step's rows.
        sigma: Proximal weight of each island.
        island: Of each constraint.
        active: Which islands.
        impulse: λ.
        y: Row velocities.
        K: Out, shape (constraints, 5, 5).
        f: Out, shape (rows,).
    """
    F, B, C = np.empty(LARGEST), np.empty((LARGEST, LARGEST)), np.empty((LARGEST, LARGEST))
    x, v, A = np.empty(LARGEST), np.empty(LARGEST), np.empty((LARGEST, 2 * LARGEST + 1))
    for c in range(rows.kind.size):
        if not active[island[c]]:
            continue
        i = rows.start[c]
        size = rows.start[c + 1] - i
        d = rows.scale[c]
        closed = linearised(rows, c, d, impulse, y, F, B, C, x, v) == CLOSED
        if not closed:
            for r in range(size):
                f[i + r] = F[r] / d if rows.kind[c] != ROLLING or r < 3 else F[r] / B[r, r]
                for s in range(size):
                    K[c, r, s] = 0.0
        else:
            for r in range(size):
                for s in range(size):
                    proximal = sigma[island[c]] * d
                    if s >= 3:
                        proximal /= rows.length[c] * rows.length[c]
                    A[r, s] = B[r, s] + C[r, s] * (rows.compliance[i + s] + proximal)
                    A[r, size + s] = C[r, s]
                A[r, 2 * size] = F[r]
            if not _solve_small(A, size, size + 1):
                return False
            for r in range(size):
                f[i + r] = A[r, 2 * size]
                for s in range(size):
                    K[c, r, s] = A[r, size + s]
    return True


@njit(cache=True)
def accumulate(rows, left, island, active, K, f, pair, diagonal, right):
    """Add the blocks of Jᵀ K L to the diagonal and to `pair`, and −Jᵀ f to the right-hand side.

    Args:
        rows: The step's rows.
        left: L, shape (rows, 12).
        island: Of each constraint.
        active: Which islands.
        K: Per constraint, shape (constraints, 5, 5); a zero corner means that all of it is zero.
        f: Shape (rows,).
        pair: Out, blocks that couple child and parent, both ways, shape (constraints, 72).
        diagonal: Blocks of the bodies, shape (n, 36).
        right: Right-hand side, shape (n, 6).
    """
    KL = np.empty((LARGEST, 12))
    for c in range(rows.kind.size):
        if not active[island[c]]:
            continue
        i = rows.start[c]
        size = rows.start[c + 1] - i
        for side in range(2):
            b = rows.bodies[i, side]
            if b >= 0:
                for r in range(size):
                    for k in range(6):
                        right[b, k] -= rows.jacobian[i + r, 6 * side + k] * f[i + r]
        if K[c, 0, 0] == 0.0:
            pair[c] = 0.0
            continue
        for r in range(size):
            for k in range(12):
                total = 0.0
                for s in range(size):
                    total += K[c, r, s] * left[i + s, k]
                KL[r, k] = total
        for row_side in range(2):
            b = rows.bodies[i, row_side]
            if b < 0:
                continue
            for column_side in range(2):
                if rows.bodies[i, column_side] < 0:
                    continue
                target = (
                    diagonal[b] if row_side == column_side else pair[c, 36 * row_side : 36 * row_side + 36]
                )
                if row_side != column_side:
                    target[:] = 0.0
                for r in range(size):
                    for k in range(6):
                        weight = rows.jacobian[i + r, 6 * row_side + k]
                        if weight != 0.0:
                            for s in range(6):
                                target[6 * k + s] += weight * KL[r, 6 * column_side + s]


@njit(cache=True)
def _invert(block, out, work):
    """Inverse of a 6 × 6 block by Gauss–Jordan with row pivoting."""
    largest = 0.0
    for r in range(6):
        for s in range(6):
            work[r, s] = block[6 * r + s]
            work[r, 6 + s] = 1.0 if r == s else 0.0
            largest = max(largest, abs(work[r, s]))
    for k in range(6):
        best = k
        for r in range(k + 1, 6):
            if abs(work[r, k]) > abs(work[best, k]):
                best = r
        if best != k:
            for s in range(12):
                work[k, s], work[best, s] = work[best, s], work[k, s]
        if abs(work[k, k]) <= _PIVOT * largest:
            work[k, k] = _PIVOT * largest if largest > 0.0 else 1.0
        pivot = 1.0 / work[k, k]
        for s in range(12):
            work[k, s] *= pivot
        for r in range(6):
            factor = work[r, k]
            if r != k and factor != 0.0:
                for s in range(12):
                    work[r, s] -= factor * work[k, s]
    for r in range(6):
        for s in range(6):
            out[6 * r + s] = work[r, 6 + s]


@njit(cache=True)
def solve_blocks(order, upper, upper_index, lower, lower_index, touching, member, rows, pair, diagonal, right,
                 busy, du):  # fmt: skip
    """Solve the block system over the busy bodies; `diagonal` and `right` are used up.

    Args:
        order: See `eliminate`, as the next four.
        upper: Offsets.
        upper_index: Members.
        lower: Offsets.
        lower_index: Members.
        touching: Offsets of the constraints of each body in `member`, shape (n + 1,).
        member: Constraints between two movable bodies, by body.
        rows: The step's rows.
        pair: Off-diagonal blocks of the constraints.
        diagonal: Diagonal blocks, shape (n, 36).
        right: Right-hand side, shape (n, 6).
        busy: Which bodies.
        du: Out, shape (n, 6).
    """
    n = order.size
    inverse, row = np.empty((n, _BLOCK)), np.zeros((n, _BLOCK))
    values = np.empty((upper_index.size, _BLOCK))
    L, work, rhs = np.empty(_BLOCK), np.empty((6, 12)), np.empty(6)
    for step in range(n):
        c = order[step]
        if not busy[c]:
            continue
        for k in range(touching[c], touching[c + 1]):
            constraint = member[k]
            i = rows.start[constraint]
            side = 0 if rows.bodies[i, 0] == c else 1
            other = rows.bodies[i, 1 - side]
            block = row[other]
            for e in range(_BLOCK):
                block[e] += pair[constraint, 36 * side + e]
        for r in range(6):
            rhs[r] = right[c, r]
        own = diagonal[c]
        for k in range(lower[c], lower[c + 1]):
            v = lower_index[k]
            entry, inv = row[v], inverse[v]
            for r in range(6):
                for s in range(6):
                    total = 0.0
                    for m in range(6):
                        total += entry[6 * r + m] * inv[6 * m + s]
                    L[6 * r + s] = total
            entry[:] = 0.0
            for q in range(upper[v], upper[v + 1]):
                w = upper_index[q]
                target = own if w == c else row[w]
                V = values[q]
                for r in range(6):
                    for m in range(6):
                        factor = L[6 * r + m]
                        for s in range(6):
                            target[6 * r + s] -= factor * V[6 * m + s]
            for r in range(6):
                for m in range(6):
                    rhs[r] -= L[6 * r + m] * du[v, m]
        _invert(own, inverse[c], work)
        for k in range(upper[c], upper[c + 1]):
            w = upper_index[k]
            values[k] = row[w]
            row[w] = 0.0
        for r in range(6):
            du[c, r] = rhs[r]
    for step in range(n - 1, -1, -1):
        c = order[step]
        if not busy[c]:
            continue
        for r in range(6):
            rhs[r] = du[c, r]
        for k in range(upper[c], upper[c + 1]):
            w = upper_index[k]
            for r in range(6):
                for s in range(6):
                    rhs[r] -= values[k, 6 * r + s] * du[w, s]
        inv = inverse[c]
        for r in range(6):
            total = 0.0
            for s in range(6):
                total += inv[6 * r + s] * rhs[s]
            du[c, r] = total
