"""Compiled: linear systems of the equations of a step, of freedoms and of rows that may be redundant."""

import numpy as np

from perp.compilation.kernel import part

# Pivots below this share of the largest mean redundant rows.
_PIVOT = 1e-10
# Pivots below this share are searched for in all that is left.
_DOUBTFUL = 1e-3
# Redundant rows agree to this share of what they ask for; below the other one nothing is to be left out.
_AGREE, _SAME = 1e-6, 1e-10
# Impulses of the null space move nothing to this share: contacts that barely slide leave little open.
_STILL = 1e-9
# Terms below this share of the largest are round-off of zero.
_SMALL = 1e-3
# A freedom is eliminated in its turn unless its pivot is smaller than this share of its column.
_TURN = 0.01


@part(fastmath={"contract"})
def add_row(X, to, factor, row, width):
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
                add_row(A, i, f, k, k)
                add_row(X, i, f, k, width)
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
        Whether those that depend on each other agree, and the null space: rank, order of the unknowns, how
        the first `rank` of them change with the others.
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
    off = 0.0
    rank, rows, order = _factorise(A)
    null = _null_space(A, rank, False)
    if rank < n:
        # what rows that depend on each other cannot agree on is left out
        kept = X.copy()
        # y = L⁻ᵀ e for the lines behind `rank`: yᵀ A = 0
        _shorten(rank, rows, _null_space(A.T.copy(), rank, True), X)
        off = _distance(kept, X)
    found = _substituted(A, rank, rows, X)
    for k in range(n):
        for j in range(width):
            X[order[k], j] = found[k, j] if k < rank else 0.0
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
def _factorise(A):
    """P A Q = L U in place, with L's ones left out; pivots are the largest of their row and column.

    Reference: Poole and Neal, The rook's pivoting strategy (2000).

    Returns:
        Rank; which row and which unknown the lines and columns are. Of U only the first `rank` lines are.
    """
    n = A.shape[0]
    rows, columns, top = np.arange(n), np.arange(n), 0.0
    for k in range(n):
        row, column, pivot = _rook(A, k, k)
        if not pivot > _DOUBTFUL * top:
            # nothing larger may be left: rank is told by all that is left
            for i in range(k, n):
                if _largest(A, i, k) > pivot:
                    row, column, pivot = i, _at_largest(A, i, k), _largest(A, i, k)
        top = max(top, pivot)
        if not pivot > _PIVOT * top:
            return k, rows, columns
        if row != k:
            rows[k], rows[row] = rows[row], rows[k]
            for j in range(n):
                A[k, j], A[row, j] = A[row, j], A[k, j]
        if column != k:
            columns[k], columns[column] = columns[column], columns[k]
            for i in range(n):
                A[i, k], A[i, column] = A[i, column], A[i, k]
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                f = A[i, k] / A[k, k]
                A[i, k] = f
                _subtract(A, i, f, k, k + 1)
    return n, rows, columns


@part
def _rook(A, k, column):
    """Row, column and size of an entry from k on that is the largest of its row and of its column."""
    row, pivot = k, -1.0
    while True:
        best, size = row, -1.0
        for i in range(k, A.shape[0]):
            if abs(A[i, column]) > size:
                best, size = i, abs(A[i, column])
        if not size > pivot:
            return row, column, pivot
        row, pivot = best, size
        if not _largest(A, row, k) > pivot:
            return row, column, pivot
        column = _at_largest(A, row, k)
        pivot = abs(A[row, column])


@part
def _at_largest(A, i, first):
    """Where the largest entry of a row is, from a column on."""
    best = first
    for j in range(first + 1, A.shape[1]):
        if abs(A[i, j]) > abs(A[i, best]):
            best = j
    return best


@part(fastmath={"contract"})
def _subtract(A, to, factor, row, first):
    """A[to] -= factor A[row] from a column on."""
    for j in range(first, A.shape[1]):
        A[to, j] -= factor * A[row, j]


@part
def _null_space(U, rank, unit):
    """How the first `rank` unknowns change with the others where U x = 0, shape (rank, n - rank).

    Only the upper triangle counts; with `unit` its diagonal is that of the identity.
    """
    n = U.shape[0]
    null = np.empty((rank, n - rank))
    for k in range(rank - 1, -1, -1):
        for j in range(n - rank):
            total = -U[k, rank + j]
            for i in range(k + 1, rank):
                total -= U[k, i] * null[i, j]
            null[k, j] = total if unit else total / U[k, k]
    return null


@part
def _substituted(A, rank, rows, X):
    """The first `rank` unknowns of A x = X where the others are zero, shape (rank, width)."""
    width = X.shape[1]
    out = np.empty((rank, width))
    for k in range(rank):
        for j in range(width):
            out[k, j] = X[rows[k], j]
        add_rows(A, k, k, -1.0, out, out)
    for k in range(rank - 1, -1, -1):
        for i in range(k + 1, rank):
            if A[k, i] != 0.0:
                add_row(out, k, -A[k, i], i, width)
        f = 1.0 / A[k, k]
        for j in range(width):
            out[k, j] *= f
    return out


@part
def _shorten(rank, order, null, X):
    """Take out of X what lies along the null space of a matrix."""
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
