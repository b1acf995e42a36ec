"""Algebra over trees: the factor of each tree's mass, and factors of its block of the Newton matrix.

M = Lᵀ L a tree, L lower: freedoms are eliminated from the leaves to the root, so that entries between
freedoms on different branches stay zero and are skipped. The Newton matrix M + Jᵀ K L, which is unsymmetric
where contacts slip, is eliminated in the same order.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import part
from perp.kernels.borrowed import onward

# Pivots below this share of the largest entry of their block are replaced by it.
_PIVOT = 1e-14


@part
def factor_mass(n, mass, at, L):
    """L of M = Lᵀ L for the block of n² numbers from `at`; False where M is not positive definite.

    Its diagonal holds the inverses of the pivots.
    """
    for k in range(at, at + n * n):
        L[k] = mass[k]
    for k in range(n - 1, -1, -1):
        row = L[at + k * n : at + k * n + k + 1]
        if not row[k] > 0.0:
            return False
        inverse = 1.0 / math.sqrt(row[k])
        row[k] = inverse
        for j in range(k):
            row[j] *= inverse
        for i in range(k):
            weight = row[i]
            if weight != 0.0:
                other = L[at + i * n : at + i * n + i + 1]
                for j in range(i + 1):
                    other[j] -= weight * row[j]
    return True


@part
def half_solve(n, L, at, x, first, count):
    """y with Lᵀ y = x, in place in x[first …]; yᵀ y is then xᵀ M⁻¹ x.

    Only the first `count` numbers of x are not zero, and of y.
    """
    for i in range(count - 1, -1, -1):
        if x[first + i] != 0.0:
            row = at + i * n
            y = x[first + i] * L[row + i]
            x[first + i] = y
            for j in range(i):
                x[first + j] -= L[row + j] * y


@part
def _half_of_six(f, x):
    """The numbers of `half_solve` of a free body, in registers; f and x begin where its are."""
    y5 = x[5] * f[35]
    y4 = (x[4] - f[34] * y5) * f[28]
    y3 = (x[3] - f[33] * y5 - f[27] * y4) * f[21]
    y2 = (x[2] - f[32] * y5 - f[26] * y4 - f[20] * y3) * f[14]
    y1 = (x[1] - f[31] * y5 - f[25] * y4 - f[19] * y3 - f[13] * y2) * f[7]
    y0 = (x[0] - f[30] * y5 - f[24] * y4 - f[18] * y3 - f[12] * y2 - f[6] * y1) * f[0]
    return y0, y1, y2, y3, y4, y5


@part
def mobility_of_six(L, at, x, first):
    """xᵀ M⁻¹ x of a free body, x all six entries from `first`: the same in registers."""
    y0, y1, y2, y3, y4, y5 = _half_of_six(onward(L, at), onward(x, first))
    return y0 * y0 + y1 * y1 + y2 * y2 + y3 * y3 + y4 * y4 + y5 * y5


@part
def _solve_six(f, x):
    """`solve_mass` of a free body; f and x begin where its numbers are."""
    y0, y1, y2, y3, y4, y5 = _half_of_six(f, x)
    y0 *= f[0]
    y1 = (y1 - f[6] * y0) * f[7]
    y2 = (y2 - f[12] * y0 - f[13] * y1) * f[14]
    y3 = (y3 - f[18] * y0 - f[19] * y1 - f[20] * y2) * f[21]
    y4 = (y4 - f[24] * y0 - f[25] * y1 - f[26] * y2 - f[27] * y3) * f[28]
    y5 = (y5 - f[30] * y0 - f[31] * y1 - f[32] * y2 - f[33] * y3 - f[34] * y4) * f[35]
    x[0], x[1], x[2], x[3], x[4], x[5] = y0, y1, y2, y3, y4, y5


@part
def solve_mass(n, L, at, x, first):
    """M⁻¹ x in place in x[first …]."""
    if n == 6:
        _solve_six(onward(L, at), onward(x, first))
        return
    half_solve(n, L, at, x, first, n)
    for i in range(n):
        row = at + i * n
        total = x[first + i]
        for j in range(i):
            total -= L[row + j] * x[first + j]
        x[first + i] = total * L[row + i]


@part
def factor_block(n, A, at):
    """A = U L of the block of n² numbers from `at`, in place: U unit upper, L lower with inverse pivots.

    Freedoms go from the leaves to the root as in `factor_mass`, without exchanges: branches that no
    constraint couples stay apart. Pivots of a sum of M and what sticks are never smaller than those of M;
    where slipping contacts make one vanish, the step that comes of it is judged like any other.
    """
    largest = 0.0
    for k in range(at, at + n * n):
        largest = max(largest, abs(A[k]))
    floor = _PIVOT * largest if largest > 0.0 else 1.0
    for k in range(n - 1, -1, -1):
        row = A[at + k * n : at + k * n + k + 1]
        inverse = 1.0 / (row[k] if abs(row[k]) > floor else floor)
        row[k] = inverse
        for i in range(k):
            if A[at + i * n + k] != 0.0:
                other = A[at + i * n : at + i * n + k + 1]
                weight = other[k] * inverse
                other[k] = weight
                for j in range(k):
                    other[j] -= weight * row[j]


@part
def solve_block(n, A, at, x, first):
    """A⁻¹ x in place in x[first …], with the factors of `factor_block`."""
    for i in range(n - 2, -1, -1):
        row, total = at + i * n, x[first + i]
        for k in range(i + 1, n):
            total -= A[row + k] * x[first + k]
        x[first + i] = total
    for k in range(n):
        row, total = at + k * n, x[first + k]
        for j in range(k):
            total -= A[row + j] * x[first + j]
        x[first + k] = total * A[row + k]


@part(fastmath={"contract"})
def solve_block_rows(n, A, at, rows, width):
    """A⁻¹ times n rows of `width` numbers, in place."""
    for i in range(n - 2, -1, -1):
        for k in range(i + 1, n):
            _add_row(rows, i, k, width, -A[at + i * n + k])
    for k in range(n):
        for j in range(k):
            _add_row(rows, k, j, width, -A[at + k * n + j])
        inverse = A[at + k * n + k]
        for z in range(k * width, (k + 1) * width):
            rows[z] *= inverse


@part(fastmath={"contract"})
def _add_row(rows, i, k, width, weight):
    """Add `weight` times row k to row i."""
    if weight != 0.0:
        target, source = rows[i * width : (i + 1) * width], rows[k * width : (k + 1) * width]
        for z in range(width):
            target[z] += weight * source[z]
