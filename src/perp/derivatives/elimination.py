"""Compiled: linear systems of the equations of a step, of freedoms and of rows that may be redundant."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part

# Pivots below this share of the largest mean redundant rows.
_PIVOT = 1e-10
# Redundant rows agree to this share of what they ask for; below the other one nothing is to be left out.
_AGREE, _SAME = 1e-6, 1e-10
# Impulses of the null space move nothing to this share: contacts that barely slide leave little open.
_STILL = 1e-9
# Terms below this share of the largest are round-off of zero.
_SMALL = 1e-3
# A freedom is eliminated in its turn unless its pivot is smaller than this share of its column.
_TURN = 0.01


@part(fastmath={"contract"})
def _add_row(X, to, factor, row, width):
    """X[to] += factor X[row] over the first columns."""
    for j in range(width):
        X[to, j] += factor * X[row, j]


@part(fastmath={"contract"})
def add_rows(A, i, last, sign, X, out):
    """out[i] += sign Σ A[i, k] X[k] over k < last, skipping zeros of A, two rows at a time."""
    width, other = X.shape[1], -1
    for k in range(last):
        if A[i, k] == 0.0:
            continue
        if other < 0:
            other = k
            continue
        f, g = sign * A[i, other], sign * A[i, k]
        for j in range(width):
            out[i, j] += f * X[other, j] + g * X[k, j]
        other = -1
    if other >= 0:
        f = sign * A[i, other]
        for j in range(width):
            out[i, j] += f * X[other, j]


@part
def eliminate(A, X):
    """X ← A⁻¹ X, A is used up; False where A is singular.

    Freedoms go from the leaves to the root as in `tree_algebra.factor_block`, so that entries between
    branches stay zero and are skipped.
    """
    n, width = A.shape[0], X.shape[1]
    for k in range(n - 1, -1, -1):
        best = k
        for i in range(k):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k and abs(A[k, k]) < _TURN * abs(A[best, k]):
            for j in range(k + 1):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for j in range(width):
                X[k, j], X[best, j] = X[best, j], X[k, j]
        if A[k, k] == 0.0:
            return False
        for i in range(k):
            if A[i, k] != 0.0:
                f = -A[i, k] / A[k, k]
                _add_row(A, i, f, k, k)
                _add_row(X, i, f, k, width)
    for k in range(n):
        add_rows(A, k, k, -1.0, X, X)
        f = 1.0 / A[k, k]
        for j in range(width):
            X[k, j] *= f
    return True


@part
def solve_rows(A, X, backwards):
    """X ← A⁻¹ X for the rows of an island, or A⁺ X where they are redundant.

    Rows are scaled; backwards X ← A⁻ᵀ X, transposed with its scales.

    Returns:
        Whether those that depend on each other agree, and the null space as `_reduce` tells it.
    """
    n, width = A.shape[0], X.shape[1]
    scale = np.empty(n)
    for i in range(n):
        largest = 1e-300
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
        scale[i] = 1.0 / largest
        for j in range(n):
            A[i, j] *= scale[i]
        if not backwards:
            for j in range(width):
                X[i, j] *= scale[i]
    if backwards:
        A = A.T.copy()
    right, off = X.copy(), 0.0
    rank, order, null = _reduce(A.copy(), right)
    if rank < n:
        # what rows that depend on each other cannot agree on is left out
        others, kept = _reduce(A.T.copy(), np.empty((n, 0))), X.copy()
        _shorten(*others, X)
        off = _distance(kept, X)
        if off > _SAME:
            right[:, :] = X
            rank, order, null = _reduce(A, right)
    for k in range(n):
        for j in range(width):
            X[order[k], j] = right[k, j] if k < rank else 0.0
    if rank < n:
        _shorten(rank, order, null, X)
    if backwards:
        for i in range(n):
            for j in range(width):
                X[i, j] *= scale[i]
    return off <= _AGREE, (rank, order, null)


@part
def leaves_still(space, Z):
    """Whether no impulse of a null space moves anything: Z n = 0 for all n of it."""
    rank, order, null = space
    still = True
    total, terms = np.empty(Z.shape[0]), np.empty(Z.shape[0])
    for j in range(null.shape[1]):
        largest = 0.0
        for i in range(Z.shape[0]):
            total[i] = Z[i, order[rank + j]]
            terms[i] = abs(total[i])
            for k in range(rank):
                x = Z[i, order[k]] * null[k, j]
                total[i] += x
                terms[i] += abs(x)
            largest = max(largest, terms[i])
        for i in range(Z.shape[0]):
            still = still and abs(total[i]) <= _STILL * max(terms[i], _SMALL * largest)
    return still


@part
def _distance(X, Y):
    """How far columns of two matrices are from each other, as a share of them; small columns count less."""
    size = worst = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            size = max(size, abs(X[i, j]))
    for j in range(X.shape[1]):
        own = off = 0.0
        for i in range(X.shape[0]):
            own, off = max(own, abs(X[i, j])), max(off, abs(X[i, j] - Y[i, j]))
        if off > 0.0:
            worst = max(worst, off / max(own, _AGREE * size))
    return worst


@part(fastmath={"nnan", "nsz", "reassoc"})
def _largest(A, i, first):
    """The largest entry of a row from a column on."""
    largest = 0.0
    for j in range(first, A.shape[1]):
        largest = max(largest, abs(A[i, j]))
    return largest


@part
def _reduce(left, right):
    """Solutions of left x = right by elimination, those of dependent columns zero; left is used up.

    Pivots are searched in all that is left, which tells the rank.

    Returns:
        Rank; which unknown the first `rank` lines of `right` are, then those that are zero; how the first
        change with these, shape (n, n − rank).
    """
    n, width = right.shape
    order, rank, top = np.arange(n), n, 0.0
    for k in range(n):
        row, column = k, k
        pivot = 0.0
        for i in range(k, n):
            largest = _largest(left, i, k)
            if largest > pivot:
                row, pivot = i, largest
        for j in range(k, n):
            if abs(left[row, j]) == pivot:
                column = j
        top = max(top, pivot)
        if not pivot > _PIVOT * top:
            rank = k
            break
        if row != k:
            for j in range(n):
                left[k, j], left[row, j] = left[row, j], left[k, j]
            for j in range(width):
                right[k, j], right[row, j] = right[row, j], right[k, j]
        if column != k:
            order[k], order[column] = order[column], order[k]
            for i in range(n):
                left[i, k], left[i, column] = left[i, column], left[i, k]
        for i in range(k + 1, n):
            if left[i, k] != 0.0:
                f = -left[i, k] / left[k, k]
                _add_row(left, i, f, k, n)
                _add_row(right, i, f, k, width)
    null = np.empty((n, n - rank))
    for k in range(rank - 1, -1, -1):
        for j in range(n - rank):
            null[k, j] = -left[k, rank + j]
        for i in range(k + 1, rank):
            f = -left[k, i]
            if f != 0.0:
                _add_row(right, k, f, i, width)
                _add_row(null, k, f, i, n - rank)
        f = 1.0 / left[k, k]
        for j in range(width):
            right[k, j] *= f
        for j in range(n - rank):
            null[k, j] *= f
    return rank, order, null


@part
def _shorten(rank, order, null, X):
    """Take out of X what lies along the null space of a matrix, as `_reduce` tells it."""
    n, width = order.size - rank, X.shape[1]
    square, along = np.eye(n), np.empty((n, width))
    for i in range(n):
        for j in range(width):
            along[i, j] = X[order[rank + i], j]
    for k in range(rank):
        for i in range(n):
            f = null[k, i]
            for j in range(n):
                square[i, j] += f * null[k, j]
            for j in range(width):
                along[i, j] += f * X[order[k], j]
    eliminate(square, along)
    for i in range(n):
        for j in range(width):
            X[order[rank + i], j] -= along[i, j]
    for k in range(rank):
        for i in range(n):
            f = null[k, i]
            for j in range(width):
                X[order[k], j] -= f * along[i, j]
