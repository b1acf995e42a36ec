"""One Newton step of a contact problem in canonical form.

The derivative of constraint c is B_c dx_c + C_c Σ_c' W_cc' dx_c', with B and C from `linearise` and σ d added
to the diagonal of W so that a singular W is no obstacle. Open constraints know their dx at once and drop out;
the others are eliminated block by block along the order of `elimination`, row by row, with the forward
substitution on the way. Pivoting happens inside the diagonal blocks only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.solvers.contact.linearise import CLOSED, linearise, linearise_row
from perp.solvers.contact.linearise_relaxed import linearise_relaxed
from perp.solvers.contact.sweep import TINY


@njit(cache=True, nogil=True)
def _invert(block, size, floor, out, work):
    """The inverse of a block of up to five rows by Gauss–Jordan with row pivoting.

    False when it had to be perturbed.
    """
    healthy = True
    for r in range(size):
        for s in range(size):
            work[r, s] = block[r * size + s]
            work[r, size + s] = 1.0 if r == s else 0.0
    for k in range(size):
        best = k
        for r in range(k + 1, size):
            if abs(work[r, k]) > abs(work[best, k]):
                best = r
        if best != k:
            for s in range(2 * size):
                work[k, s], work[best, s] = work[best, s], work[k, s]
        if abs(work[k, k]) <= floor:
            work[k, k] = floor if work[k, k] >= 0.0 else -floor
            healthy = False
        pivot = 1.0 / work[k, k]
        for s in range(2 * size):
            work[k, s] *= pivot
        for r in range(size):
            if r != k and work[r, k] != 0.0:
                factor = work[r, k]
                for s in range(2 * size):
                    work[r, s] -= factor * work[k, s]
    for r in range(size):
        for s in range(size):
            out[r * size + s] = work[r, size + s]
    return healthy


@njit(cache=True, nogil=True)
def _assemble_row(c, start, sigma, d, first, column, at, diagonal, data, closed, B, C, dx, row, stride, rhs):
    """Row c of the Newton matrix into the blocks of `row`, and its right-hand side (−F is there already)."""
    _i, size = start[c], start[c + 1] - start[c]
    for k in range(first[c], first[c + 1]):
        o, p = column[k], at[k]
        j = start[o]
        width = start[o + 1] - j
        if closed[o]:
            base = o * stride
            for r in range(size):
                for s in range(width):
                    total = 0.0
                    for m in range(size):
                        total += C[r, m] * data[p + m * width + s]
                    row[base + r * width + s] += total
        else:
            for m in range(size):
                total = 0.0
                for s in range(width):
                    total += data[p + m * width + s] * dx[j + s]
                for r in range(size):
                    rhs[r] -= C[r, m] * total
    base = c * stride
    for r in range(size):
        for s in range(size):
            row[base + r * size + s] += B[r, s] + sigma * d[c] * C[r, s]


@njit(cache=True, nogil=True)
def _eliminate(c, size, v, height, stride, row, inverse, values, upper, filled, list_, start, y, rhs, L):
    """Subtract the multiple of row v of U that clears block (c, v)."""
    base = v * stride
    zero = True
    for r in range(size * height):
        if row[base + r] != 0.0:
            zero = False
            break
    if zero:
        return
    for r in range(size):
        for s in range(height):
            total = 0.0
            for m in range(height):
                total += row[base + r * height + m] * inverse[base + m * height + s]
            L[r * height + s] = total
    if size == 3 and height == 3:
        a, b, c_, d, e, f, g, h, i = L[0], L[1], L[2], L[3], L[4], L[5], L[6], L[7], L[8]
        for k in range(upper[v], filled[v]):
            w = list_[k]
            p, t = k * stride, w * stride
            if start[w + 1] - start[w] == 3:
                # constant indices into short views: no test for negative ones is left in the inner loop
                V, R = values[p : p + 9], row[t : t + 9]
                v0, v1, v2 = V[0], V[3], V[6]
                R[0] -= a * v0 + b * v1 + c_ * v2
                R[3] -= d * v0 + e * v1 + f * v2
                R[6] -= g * v0 + h * v1 + i * v2
                v0, v1, v2 = V[1], V[4], V[7]
                R[1] -= a * v0 + b * v1 + c_ * v2
                R[4] -= d * v0 + e * v1 + f * v2
                R[7] -= g * v0 + h * v1 + i * v2
                v0, v1, v2 = V[2], V[5], V[8]
                R[2] -= a * v0 + b * v1 + c_ * v2
                R[5] -= d * v0 + e * v1 + f * v2
                R[8] -= g * v0 + h * v1 + i * v2
            else:
                width = start[w + 1] - start[w]
                for s in range(width):
                    v0, v1, v2 = values[p + s], values[p + width + s], values[p + 2 * width + s]
                    row[t + s] -= a * v0 + b * v1 + c_ * v2
                    row[t + width + s] -= d * v0 + e * v1 + f * v2
                    row[t + 2 * width + s] -= g * v0 + h * v1 + i * v2
    else:
        for k in range(upper[v], filled[v]):
            w = list_[k]
            width = start[w + 1] - start[w]
            p, t = k * stride, w * stride
            for r in range(size):
                for s in range(width):
                    total = 0.0
                    for m in range(height):
                        total += L[r * height + m] * values[p + m * width + s]
                    row[t + r * width + s] -= total
    j = start[v]
    for r in range(size):
        for m in range(height):
            rhs[r] -= L[r * height + m] * y[j + m]


@njit(cache=True, nogil=True)
def largest_size(start):
    """Rows of the largest constraint, at least one."""
    largest = 1
    for c in range(start.size - 1):
        largest = max(largest, start[c + 1] - start[c])
    return largest


@njit(cache=True, nogil=True)
def solve_linearised(blocks, factors, rho, sigma, F, B, C, closed, dx):
    """Solves B_c dx_c + C_c ((W + σ ρ) dx)_c = −F_c for the closed constraints, with dx given for the others.

    Returns:
        How many diagonal blocks were singular and had to be perturbed.
    """
    start, first, column, at = blocks.start, blocks.first, blocks.column, blocks.at
    diagonal, data = blocks.diagonal, blocks.data
    order, upper, upper_index, lower, lower_index = factors
    count = start.size - 1
    largest = B.shape[1]
    stride = largest * largest
    y = np.empty(dx.size)
    values = np.empty(upper_index.size * stride)
    list_ = np.empty(upper_index.size, np.int64)
    filled = upper[:count].copy()
    inverse, row = np.empty(count * stride), np.zeros(count * stride)
    rhs, L, work = np.empty(largest), np.empty(stride), np.empty((largest, 2 * largest))
    perturbed = 0
    for step in range(count):
        c = order[step]
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        for r in range(size):
            rhs[r] = -F[i + r]
        _assemble_row(
            c, start, sigma, rho, first, column, at, diagonal, data, closed, B[c], C[c], dx, row, stride, rhs
        )
        for k in range(lower[c], lower[c + 1]):
            v = lower_index[k]
            if closed[v]:
                height = start[v + 1] - start[v]
                _eliminate(
                    c, size, v, height, stride, row, inverse, values, upper, filled, list_, start, y, rhs, L
                )
                for r in range(stride):
                    row[v * stride + r] = 0.0
        base = c * stride
        if not _invert(row[base:], size, 1e-14 * rho[c], inverse[base:], work):
            perturbed += 1
        for r in range(stride):
            row[base + r] = 0.0
        end = upper[c]
        for k in range(upper[c], upper[c + 1]):
            w = upper_index[k]
            if closed[w]:
                list_[end] = w
                for r in range(stride):
                    values[end * stride + r] = row[w * stride + r]
                    row[w * stride + r] = 0.0
                end += 1
        filled[c] = end
        for r in range(size):
            y[i + r] = rhs[r]
    for step in range(count - 1, -1, -1):
        c = order[step]
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        for k in range(upper[c], filled[c]):
            j = start[list_[k]]
            width = start[list_[k] + 1] - j
            for r in range(size):
                for s in range(width):
                    y[i + r] -= values[k * stride + r * width + s] * dx[j + s]
        for r in range(size):
            total = 0.0
            for s in range(size):
                total += inverse[c * stride + r * size + s] * y[i + s]
            dx[i + r] = total
    return perturbed


@njit(cache=True, nogil=True)
def newton_step(blocks, factors, rho, sigma, x, u, dx):
    """The Newton direction at x with velocities u into dx.

    Args:
        blocks: The problem.
        factors: What `elimination.eliminate` returned.
        rho: Scale of each constraint for choosing between open, stick and slip.
        sigma: Weight of the proximal term, relative to rho.
        x: Impulses.
        u: Velocities.
        dx: The answer.

    Returns:
        How many diagonal blocks were singular and had to be perturbed.
    """
    start, low, high, mu, mu_r = blocks.start, blocks.low, blocks.high, blocks.mu, blocks.mu_r
    count = start.size - 1
    largest = largest_size(start)
    F = np.empty(x.size)
    B, C = np.zeros((count, largest, largest)), np.zeros((count, largest, largest))
    closed, point, change = np.zeros(count, np.bool_), np.empty(5), np.ones(5)
    for c in range(count):
        i = start[c]
        size = start[c + 1] - i
        if mu[c] < 0.0:
            state = linearise_row(low[c], high[c], rho[c], x, u, i, F, B[c], C[c])
        elif blocks.relaxed:
            change[1], change[2] = max(blocks.t1[c], TINY), max(blocks.t2[c], TINY)
            state = linearise_relaxed(size, mu[c], mu_r[c], change, rho[c], x, u, i, F, B[c], C[c], point)
        else:
            state = linearise(
                size, mu[c], mu_r[c], blocks.t1[c], blocks.t2[c], rho[c], x, u, i, F, B[c], C[c]
            )
        closed[c] = state == CLOSED
        if not closed[c]:
            for r in range(size):
                dx[i + r] = -F[i + r] / rho[c]
    return solve_linearised(blocks, factors, rho, sigma, F, B, C, closed, dx)
