"""Elimination of a block system along the order of `elimination`: factors once, any number of right sides.

The system is B_c dx_c + C_c Σ_c' (W + σ D)_cc' dx_c' = −F_c over the closed constraints c; the dx of the open
ones is known and moved to the right. Rows are eliminated block by block, with pivoting inside the diagonal
blocks only. Costs the sum of the squares of the rows of U.

All blocks are stored as large as the largest, the rest of them zero; with three rows a row of a block has
four places, which is what the processor multiplies at once.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.fours import subtract_product
from perp.kernels.small_systems import solve_small


@kernel(nogil=True, fastmath={"contract"})
def _invert(block, size, pitch, floor, out, work):
    """The inverse of a block of `size` rows by Gauss–Jordan with row pivoting.

    False when it had to be perturbed.
    """
    for r in range(size):
        for s in range(size):
            work[r, s] = block[r * pitch + s]
            work[r, size + s] = 1.0 if r == s else 0.0
    healthy = solve_small(work, size, size, floor)
    for r in range(size):
        for s in range(size):
            out[r * pitch + s] = work[r, size + s]
    return healthy


@kernel(nogil=True, fastmath={"contract"})
def _assemble_row(blocks, c, weight, closed, B, C, row, pitch):
    """Row c of the matrix into the blocks of `row`; `weight` is added to the diagonal of W."""
    start, first, column, at, data = blocks.start, blocks.first, blocks.column, blocks.at, blocks.data
    size, stride = start[c + 1] - start[c], B.shape[1] * pitch
    for k in range(first[c], first[c + 1]):
        o, p = column[k], at[k]
        if closed[o]:
            width = start[o + 1] - start[o]
            if width == 3:
                # constant indices into short views: no test for negative ones is left in the inner loop
                D, R = data[p : p + 3 * size], row[o * stride : (o + 1) * stride]
                for m in range(size):
                    d0, d1, d2 = D[3 * m], D[3 * m + 1], D[3 * m + 2]
                    for r in range(size):
                        factor = C[c, r, m]
                        if factor != 0.0:
                            R[r * pitch] += factor * d0
                            R[r * pitch + 1] += factor * d1
                            R[r * pitch + 2] += factor * d2
                continue
            base = o * stride
            for r in range(size):
                for m in range(size):
                    for s in range(width):
                        row[base + r * pitch + s] += C[c, r, m] * data[p + m * width + s]
    base = c * stride
    for r in range(size):
        for s in range(size):
            row[base + r * pitch + s] += B[c, r, s] + weight * C[c, r, s]


@kernel(nogil=True, fastmath={"contract"})
def _multiplier(block, inverse, size, pitch, L):
    """The multiple L of a row of U that clears `block` in its column; false where that is zero already."""
    zero = True
    for r in range(block.size):
        zero = zero and block[r] == 0.0
    if zero:
        L[:] = 0.0
        return False
    for r in range(size):
        for s in range(pitch):
            total = 0.0
            for m in range(size):
                total += block[r * pitch + m] * inverse[m * pitch + s]
            L[r * pitch + s] = total
    return True


@kernel(nogil=True, fastmath={"contract"})
def _subtract(L, values, reached, size, pitch, row):
    """L times a row of U, whose blocks are `values` in the columns `reached`, taken from `row`."""
    if pitch == 4:
        left = (L[0], L[1], L[2], L[4], L[5], L[6], L[8], L[9], L[10])
        for k in range(reached.size):
            subtract_product(left, values, 12 * k, row, 12 * reached[k])
        return
    stride = size * pitch
    for k in range(reached.size):
        p, t = k * stride, reached[k] * stride
        for r in range(size):
            for s in range(pitch):
                total = 0.0
                for m in range(size):
                    total += L[r * pitch + m] * values[p + m * pitch + s]
                row[t + r * pitch + s] -= total


@kernel(nogil=True, fastmath={"contract"})
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
    start, largest = blocks.start, B.shape[1]
    sequence, upper, upper_index, lower, lower_index = order
    count, pitch = start.size - 1, 4 if largest == 3 else largest
    stride = largest * pitch
    values, reached = np.empty(upper_index.size * stride), np.empty(upper_index.size, np.int64)
    multipliers = np.empty(lower_index.size * stride)
    filled = upper[:count].copy()
    inverse, row = np.zeros(count * stride), np.zeros(count * stride)
    work = np.empty((largest, 2 * largest))
    perturbed = 0
    for c in sequence:
        if not closed[c]:
            continue
        _assemble_row(blocks, c, sigma * rho[c], closed, B, C, row, pitch)
        for k in range(lower[c], lower[c + 1]):
            v = lower_index[k]
            if closed[v]:
                block, L = row[v * stride : (v + 1) * stride], multipliers[k * stride : (k + 1) * stride]
                if _multiplier(block, inverse[v * stride : (v + 1) * stride], largest, pitch, L):
                    begin, end = upper[v], filled[v]
                    _subtract(
                        L, values[begin * stride : end * stride], reached[begin:end], largest, pitch, row
                    )
                    block[:] = 0.0
        own = row[c * stride : (c + 1) * stride]
        size = start[c + 1] - start[c]
        if not _invert(own, size, pitch, 1e-14 * rho[c], inverse[c * stride : (c + 1) * stride], work):
            perturbed += 1
        own[:] = 0.0
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


@kernel(nogil=True, fastmath={"contract"})
def _subtract_row(values, columns, begin, end, closed, x, y, pitch):
    """Takes Σ A_k x_c over the blocks k = begin … end − 1 in closed columns c from y, of `pitch` places.

    Vectors have `pitch` places a constraint here, as rows of blocks have.
    """
    if pitch == 4:
        s0 = s1 = s2 = 0.0
        for k in range(begin, end):
            c = columns[k]
            if closed[c]:
                A, X = values[12 * k : 12 * k + 12], x[4 * c : 4 * c + 4]
                s0 += A[0] * X[0] + A[1] * X[1] + A[2] * X[2]
                s1 += A[4] * X[0] + A[5] * X[1] + A[6] * X[2]
                s2 += A[8] * X[0] + A[9] * X[1] + A[10] * X[2]
        y[0] -= s0
        y[1] -= s1
        y[2] -= s2
        return
    for k in range(begin, end):
        c = columns[k]
        if closed[c]:
            for r in range(pitch):
                for s in range(pitch):
                    y[r] -= values[(k * pitch + r) * pitch + s] * x[c * pitch + s]


@kernel(nogil=True, fastmath={"contract"})
def substitute(blocks, order, factors, closed, B, C, F, dx):
    """The solution of the system into dx, which holds that of the open constraints already."""
    start, first, column, at, data = blocks.start, blocks.first, blocks.column, blocks.at, blocks.data
    sequence, upper, _, lower, lower_index = order
    values, reached, filled, multipliers, inverse, _ = factors
    count, largest = start.size - 1, B.shape[1]
    pitch = 4 if largest == 3 else largest
    y, x = np.zeros(count * pitch), np.zeros(count * pitch)
    for c in sequence:
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        Y = y[c * pitch : (c + 1) * pitch]
        for r in range(size):
            Y[r] = -F[i + r]
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
                    Y[r] -= C[c, r, m] * total
        _subtract_row(multipliers, lower_index, lower[c], lower[c + 1], closed, y, Y, pitch)
    for step in range(count - 1, -1, -1):
        c = sequence[step]
        if not closed[c]:
            continue
        i, size = start[c], start[c + 1] - start[c]
        Y = y[c * pitch : (c + 1) * pitch]
        _subtract_row(values, reached, upper[c], filled[c], closed, x, Y, pitch)
        for r in range(size):
            total = 0.0
            for s in range(size):
                total += inverse[(c * largest + r) * pitch + s] * Y[s]
            x[c * pitch + r] = dx[i + r] = total
