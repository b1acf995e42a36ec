"""Algebra over trees: the factor of each tree's mass, and factors of its block of the Newton matrix.

M = Lᵀ L a tree, L lower: freedoms are eliminated from the leaves to the root, so that entries between
freedoms on different branches stay zero and are skipped. The Newton matrix M + Jᵀ K L is unsymmetric where
contacts slip: its blocks are factored with row pivoting.
"""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel

# Pivots below this share of the largest entry of their block are replaced by it.
_PIVOT = 1e-14


@kernel(nogil=True, error_model="numpy")
def factor_mass(n, mass, at, L):
    """L of M = Lᵀ L for the block of n² numbers from `at`; False where M is not positive definite.

    Its diagonal holds the inverses of the pivots.
    """
    for k in range(at, at + n * n):
        L[k] = mass[k]
    for k in range(n - 1, -1, -1):
        row = at + k * n
        pivot = L[row + k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        L[row + k] = inverse
        for j in range(k):
            L[row + j] *= inverse
        for i in range(k):
            weight = L[row + i]
            if weight != 0.0:
                target = at + i * n
                for j in range(i + 1):
                    L[target + j] -= weight * L[row + j]
    return True


@kernel(nogil=True, error_model="numpy")
def half_solve(n, L, at, x, first):
    """y with Lᵀ y = x, in place in x[first …]; yᵀ y is then xᵀ M⁻¹ x."""
    for i in range(n - 1, -1, -1):
        if x[first + i] != 0.0:
            row = at + i * n
            y = x[first + i] * L[row + i]
            x[first + i] = y
            for j in range(i):
                x[first + j] -= L[row + j] * y


@kernel(nogil=True, error_model="numpy")
def mobility_of_six(L, at, x, first):
    """xᵀ M⁻¹ x of a free body, x all six entries from `first`: the same in registers."""
    y5 = x[first + 5] * L[at + 35]
    y4 = (x[first + 4] - L[at + 34] * y5) * L[at + 28]
    y3 = (x[first + 3] - L[at + 33] * y5 - L[at + 27] * y4) * L[at + 21]
    y2 = (x[first + 2] - L[at + 32] * y5 - L[at + 26] * y4 - L[at + 20] * y3) * L[at + 14]
    y1 = x[first + 1] - L[at + 31] * y5 - L[at + 25] * y4 - L[at + 19] * y3 - L[at + 13] * y2
    y1 *= L[at + 7]
    y0 = x[first] - L[at + 30] * y5 - L[at + 24] * y4 - L[at + 18] * y3 - L[at + 12] * y2 - L[at + 6] * y1
    y0 *= L[at]
    return y0 * y0 + y1 * y1 + y2 * y2 + y3 * y3 + y4 * y4 + y5 * y5


@kernel(nogil=True, error_model="numpy")
def solve_mass(n, L, at, x, first):
    """M⁻¹ x in place in x[first …]."""
    half_solve(n, L, at, x, first)
    for i in range(n):
        row = at + i * n
        total = x[first + i]
        for j in range(i):
            total -= L[row + j] * x[first + j]
        x[first + i] = total * L[row + i]


@kernel(nogil=True, error_model="numpy")
def factor_block(n, A, at, pivot, first):
    """P A = L U of the block of n² numbers from `at`, in place; rows exchanged into pivot[first …].

    The diagonal holds the inverses of the pivots.
    """
    largest = 0.0
    for k in range(at, at + n * n):
        largest = max(largest, abs(A[k]))
    floor = _PIVOT * largest if largest > 0.0 else 1.0
    for k in range(n):
        best, size = k, abs(A[at + k * n + k])
        for r in range(k + 1, n):
            entry = abs(A[at + r * n + k])
            if entry > size:
                best, size = r, entry
        pivot[first + k] = best
        row = at + k * n
        if best != k:
            other = at + best * n
            for s in range(n):
                A[row + s], A[other + s] = A[other + s], A[row + s]
        inverse = 1.0 / (A[row + k] if abs(A[row + k]) > floor else floor)
        A[row + k] = inverse
        for r in range(k + 1, n):
            target = at + r * n
            if A[target + k] != 0.0:
                weight = A[target + k] * inverse
                A[target + k] = weight
                for s in range(k + 1, n):
                    A[target + s] -= weight * A[row + s]


@kernel(nogil=True, error_model="numpy")
def solve_block(n, A, at, pivot, first, x, x_first):
    """A⁻¹ x in place, with the factors of `factor_block`."""
    for k in range(n):
        best = pivot[first + k]
        if best != k:
            x[x_first + k], x[x_first + best] = x[x_first + best], x[x_first + k]
    for i in range(n):
        row, total = at + i * n, x[x_first + i]
        for j in range(i):
            total -= A[row + j] * x[x_first + j]
        x[x_first + i] = total
    for i in range(n - 1, -1, -1):
        row, total = at + i * n, x[x_first + i]
        for j in range(i + 1, n):
            total -= A[row + j] * x[x_first + j]
        x[x_first + i] = total * A[row + i]


@kernel(nogil=True, error_model="numpy")
def solve_block_transposed(n, A, at, pivot, first, x):
    """A⁻ᵀ x in place: the row xᵀ A⁻¹."""
    for i in range(n):
        row = at + i * n
        y = x[i] * A[row + i]
        x[i] = y
        if y != 0.0:
            for j in range(i + 1, n):
                x[j] -= y * A[row + j]
    for i in range(n - 1, -1, -1):
        row, y = at + i * n, x[i]
        if y != 0.0:
            for j in range(i):
                x[j] -= y * A[row + j]
    for k in range(n - 1, -1, -1):
        best = pivot[first + k]
        if best != k:
            x[k], x[best] = x[best], x[k]
