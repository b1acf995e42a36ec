"""Elimination of a block system along the order of `elimination`: factors once, any number of right sides.

The system is B_c dx_c + C_c Σ_c' (W + σ D)_cc' dx_c' = −F_c over the closed constraints c; the dx of the open
ones is known and moved to the right. Rows are eliminated block by block, with pivoting inside the diagonal
blocks only. Costs the sum of the squares of the rows of U.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _invert(block, base, size, floor, out, work):
    """The inverse of the block at `base`, of up to five rows, by Gauss–Jordan with row pivoting.

    False when it had to be perturbed.
    """
    healthy = True
    for r in range(size):
        for s in range(size):
            work[r, s] = block[base + r * size + s]
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
            out[base + r * size + s] = work[r, size + s]
    return healthy


@njit(cache=True, nogil=True)
def _assemble_row(c, start, sigma, d, first, column, at, data, closed, B, C, row, stride):
    """Row c of the matrix into the blocks of `row`."""
    size = start[c + 1] - start[c]
    for k in range(first[c], first[c + 1]):
        o, p = column[k], at[k]
        if closed[o]:
            width = start[o + 1] - start[o]
            base = o * stride
            for r in range(size):
                for m in range(size):
                    factor = C[c, r, m]
                    if factor != 0.0:
                        for s in range(width):
                            row[base + r * width + s] += factor * data[p + m * width + s]
    base = c * stride
    for r in range(size):
        for s in range(size):
            row[base + r * size + s] += B[c, r, s] + sigma * d[c] * C[c, r, s]


@njit(cache=True, nogil=True)
def _eliminate(size, v, height, stride, row, inverse, values, upper, filled, reached, start, L, at):
    """Subtract the multiple L of row v of U that clears the block in its column; L goes to place `at`."""
    base = v * stride
    zero = True
    for r in range(size * height):
        if row[base + r] != 0.0:
            zero = False
            break
    if zero:
        for r in range(size * height):
            L[at + r] = 0.0
        return
    for r in range(size):
        for s in range(height):
            total = 0.0
            for m in range(height):
                total += row[base + r * height + m] * inverse[base + m * height + s]
            L[at + r * height + s] = total
    if size == 3 and height == 3:
        a, b, c_ = L[at], L[at + 1], L[at + 2]
        d, e, f = L[at + 3], L[at + 4], L[at + 5]
        g, h, i = L[at + 6], L[at + 7], L[at + 8]
        for k in range(upper[v], filled[v]):
            w = reached[k]
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
            w = reached[k]
            width = start[w + 1] - start[w]
            p, t = k * stride, w * stride
            for r in range(size):
                for s in range(width):
                    total = 0.0
                    for m in range(height):
                        total += L[at + r * height + m] * values[p + m * width + s]
                    row[t + r * width + s] -= total


@njit(cache=True, nogil=True)
def factorise(blocks, order, rho, sigma, closed, B, C):
    """Factors of the system for `substitute`.

    Args:
        blocks: The problem.
        order: What `elimination.eliminate` returned.
        rho: Scale of each constraint, shape (count,).
        sigma: Weight of the proximal term, relative to rho.
        closed: Which constraints are unknown, shape (count,).
        B: Derivatives by the impulses, shape (count, k, k).
        C: Derivatives by the velocities, shape (count, k, k).

    Returns:
        U by rows (values, the constraints reached, ends of the rows), L, the inverses of the diagonal blocks,
        and how many of these were singular and had to be perturbed.
    """
    start, data = blocks.start, blocks.data
    sequence, upper, upper_index, lower, lower_index = order
    count, stride = start.size - 1, B.shape[1] * B.shape[1]
    values, reached = np.empty(upper_index.size * stride), np.empty(upper_index.size, np.int64)
    multipliers = np.empty(lower_index.size * stride)
    filled = upper[:count].copy()
    inverse, row = np.empty(count * stride), np.zeros(count * stride)
    work = np.empty((B.shape[1], 2 * B.shape[1]))
    perturbed = 0
    for c in sequence:
        if not closed[c]:
            continue
        size = start[c + 1] - start[c]
        _assemble_row(
            c, start, sigma, rho, blocks.first, blocks.column, blocks.at, data, closed, B, C, row, stride
        )
        for k in range(lower[c], lower[c + 1]):
            v = lower_index[k]
            if closed[v]:
                height = start[v + 1] - start[v]
                _eliminate(
                    size, v, height, stride, row, inverse, values, upper, filled, reached, start,
                    multipliers, k * stride,
                )  # fmt: skip
                for r in range(stride):
                    row[v * stride + r] = 0.0
        base = c * stride
        if not _invert(row, base, size, 1e-14 * rho[c], inverse, work):
            perturbed += 1
        for r in range(stride):
            row[base + r] = 0.0
        end = upper[c]
        for k in range(upper[c], upper[c + 1]):
            w = upper_index[k]
            if closed[w]:
                reached[end] = w
                for r in range(stride):
                    values[end * stride + r] = row[w * stride + r]
                    row[w * stride + r] = 0.0
                end += 1
        filled[c] = end
    return values, reached, filled, multipliers, inverse, perturbed


@njit(cache=True, nogil=True)
def substitute(blocks, order, factors, closed, B, C, F, dx):
    """The solution of the system into dx, which holds that of the open constraints already; B is not used."""
    start, first, column, at, data = blocks.start, blocks.first, blocks.column, blocks.at, blocks.data
    sequence, upper, _, lower, lower_index = order
    values, reached, filled, multipliers, inverse, _ = factors
    count, stride = start.size - 1, C.shape[1] * C.shape[1]
    y = np.empty(dx.size)
    for c in sequence:
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        for r in range(size):
            y[i + r] = -F[i + r]
        for k in range(first[c], first[c + 1]):
            o, p = column[k], at[k]
            if closed[o]:
                continue
            j = start[o]
            width = start[o + 1] - j
            for m in range(size):
                total = 0.0
                for s in range(width):
                    total += data[p + m * width + s] * dx[j + s]
                for r in range(size):
                    y[i + r] -= C[c, r, m] * total
        for k in range(lower[c], lower[c + 1]):
            v = lower_index[k]
            if closed[v]:
                j = start[v]
                height = start[v + 1] - j
                p = k * stride
                for r in range(size):
                    for m in range(height):
                        y[i + r] -= multipliers[p + r * height + m] * y[j + m]
    for step in range(count - 1, -1, -1):
        c = sequence[step]
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        for k in range(upper[c], filled[c]):
            j = start[reached[k]]
            width = start[reached[k] + 1] - j
            for r in range(size):
                for s in range(width):
                    y[i + r] -= values[k * stride + r * width + s] * dx[j + s]
        for r in range(size):
            total = 0.0
            for s in range(size):
                total += inverse[c * stride + r * size + s] * y[i + s]
            dx[i + r] = total
