"""Triangular factors of a principal block, kept up to date while its index set changes.

A symmetric positive definite block is kept as UᵀU with U upper triangular in the leading rows of a square
workspace: every inner loop runs along a row, which is contiguous. Appending an index costs one triangular
solve, removing one a sweep of Givens rotations, both O(k²). A nonsymmetric block is factored as PLU.

Reference: Golub and Van Loan, Matrix Computations, sections 4.2 and 6.5.
"""

from __future__ import annotations

from perp.compilation.kernel import kernel, part

# Sums may be reordered and fused so that loops become vector instructions; NaN and infinity keep their
# meaning.
_SUMS = {"reassoc", "contract", "nsz"}
pivot_kernel, pivot_part = kernel(fastmath=_SUMS), part(fastmath=_SUMS)
# A pivot below this fraction of the diagonal it came from is round-off: the block is singular to working
# precision. 64 rows of accumulated unit round-off.
SINGULAR = 1.5e-14


@pivot_part
def dot(x, y):
    """The inner product of two vectors of the same size."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@pivot_part
def add_multiple(x, a, y):
    """Add a y to x in place."""
    for i in range(x.size):
        x[i] += a * y[i]


@pivot_part
def _take_four(U, first, i, k):
    """Take multiples of the four rows from `first` on off row i, from its diagonal to column k."""
    x = U[i, i:k]
    p, q, r, s = U[first, i:k], U[first + 1, i:k], U[first + 2, i:k], U[first + 3, i:k]
    a, b, c, d = p[0], q[0], r[0], s[0]
    for j in range(x.size):
        x[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j]


@pivot_part
def add_rows(x, M, rows, factors, k):
    """Add Σ factors[a] M[rows[a]] over the first k rows to x, eight at a time; x may be a leading part.

    Rows are indexed, not sliced: a slice costs as much as a short row.
    """
    n = x.size
    a = 0
    while a + 7 < k:
        r0, r1, r2, r3 = rows[a], rows[a + 1], rows[a + 2], rows[a + 3]
        r4, r5, r6, r7 = rows[a + 4], rows[a + 5], rows[a + 6], rows[a + 7]
        f0, f1, f2, f3 = factors[a], factors[a + 1], factors[a + 2], factors[a + 3]
        f4, f5, f6, f7 = factors[a + 4], factors[a + 5], factors[a + 6], factors[a + 7]
        for i in range(n):
            x[i] += (f0 * M[r0, i] + f1 * M[r1, i] + f2 * M[r2, i] + f3 * M[r3, i]) + (
                f4 * M[r4, i] + f5 * M[r5, i] + f6 * M[r6, i] + f7 * M[r7, i]
            )
        a += 8
    if a + 3 < k:
        r0, r1, r2, r3 = rows[a], rows[a + 1], rows[a + 2], rows[a + 3]
        f0, f1, f2, f3 = factors[a], factors[a + 1], factors[a + 2], factors[a + 3]
        for i in range(n):
            x[i] += f0 * M[r0, i] + f1 * M[r1, i] + f2 * M[r2, i] + f3 * M[r3, i]
        a += 4
    while a < k:
        r0, f0 = rows[a], factors[a]
        for i in range(n):
            x[i] += f0 * M[r0, i]
        a += 1


@pivot_part
def cholesky(U, k, diagonal):
    """Factor the leading k×k block in place (upper triangle); returns −1, or the first singular row.

    Rows are eliminated four at a time: the rows below are read and written once for four pivots.
    `diagonal`, shape (≥ k,), is workspace.
    """
    for i in range(k):
        diagonal[i] = U[i, i]
    start = 0
    while start < k:
        end = min(start + 4, k)
        for i in range(start, end):
            row = U[i, i:k]
            for j in range(start, i):
                add_multiple(row, -U[j, i], U[j, i:k])
            pivot = row[0]
            if not pivot > SINGULAR * abs(diagonal[i]):
                return i
            scale = 1.0 / pivot**0.5
            for j in range(row.size):
                row[j] *= scale
        if end < k:
            for i in range(end, k):
                _take_four(U, start, i, k)
        start = end
    return -1


@pivot_part
def solve_transposed(U, k, x):
    """Solve Uᵀ y = x in place."""
    for i in range(k):
        x[i] /= U[i, i]
        add_multiple(x[i + 1 : k], -x[i], U[i, i + 1 : k])


@pivot_part
def solve_upper(U, k, x):
    """Solve U y = x in place."""
    for i in range(k - 1, -1, -1):
        x[i] = (x[i] - dot(U[i, i + 1 : k], x[i + 1 : k])) / U[i, i]


@pivot_part
def append(U, k, column, pivot):
    """Grow the factor by one index, by U⁻ᵀ times its matrix column and its Schur complement > 0."""
    for i in range(k):
        U[i, k] = column[i]
    U[k, k] = pivot**0.5


@pivot_part
def remove(U, k, p):
    """Shrink the factor by the index in place p: its column goes, rotations make it triangular again."""
    for i in range(p):
        row = U[i]
        for j in range(p, k - 1):
            row[j] = row[j + 1]
    for i in range(p, k - 1):
        # the row one below the diagonal of the shifted factor is rotated into this one
        upper, lower = U[i], U[i + 1]
        a, b = upper[i + 1], lower[i + 1]
        length = (a * a + b * b) ** 0.5
        c, s = a / length, b / length
        x, y = upper[i:k], lower[i + 1 : k]
        for j in range(y.size):
            above, below = x[j + 1], y[j]
            x[j] = c * above + s * below
            y[j] = c * below - s * above


@pivot_part
def lu(A, k, order):
    """Factor the leading k×k block in place with row exchanges; returns −1, or the first singular column."""
    for i in range(k):
        best, largest = i, abs(A[i, i])
        for r in range(i + 1, k):
            if abs(A[r, i]) > largest:
                best, largest = r, abs(A[r, i])
        order[i] = best
        if not largest > 0.0:
            return i
        if best != i:
            for j in range(k):
                A[i, j], A[best, j] = A[best, j], A[i, j]
        scale = 1.0 / A[i, i]
        pivot_row = A[i, i + 1 : k]
        for r in range(i + 1, k):
            factor = A[r, i] * scale
            A[r, i] = factor
            add_multiple(A[r, i + 1 : k], -factor, pivot_row)
    return -1


@pivot_part
def lu_solve(A, k, order, x):
    """Solve with the factors of `lu` in place."""
    for i in range(k):
        r = order[i]
        x[i], x[r] = x[r], x[i]
    for i in range(1, k):
        x[i] -= dot(A[i, :i], x[:i])
    solve_upper(A, k, x)
