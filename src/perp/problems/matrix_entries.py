"""One form of a matrix for compiled code, whether it is dense or sparse, and products with it.

A = (entries, indices, indptr) are compressed rows. A dense matrix has its entries row by row and no `indices`
and `indptr`; which of the two it is does not change in a loop, and is asked once before it.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.validation import Matrix, Vector, freeze, is_sparse

_NONE = freeze(np.empty(0, dtype=np.int32))


def entries_of(M: Matrix) -> tuple[Vector, Vector, Vector]:
    """A square matrix in the form above, without a copy."""
    return (M.data, M.indices, M.indptr) if is_sparse(M) else (M.reshape(-1), _NONE, _NONE)


@part
def row_ends(A, n, i):
    """Where the entries of row i begin and end; n is the number of columns."""
    if A[2].size:
        return np.int64(A[2][i]), np.int64(A[2][i + 1])
    return i * n, (i + 1) * n


@part
def column(A, k, first):
    """The column of entry k in a row whose entries begin at `first`."""
    return np.int64(A[1][k]) if A[2].size else k - first


@part
def diagonal_entry(A, n, i):
    """Entry (i, i), zero where there is none."""
    first, last = row_ends(A, n, i)
    if not A[2].size:
        return A[0][first + i]
    for k in range(first, last):
        if A[1][k] == i:
            return A[0][k]
    return 0.0


@part
def rows_of(start, c):
    """The rows of constraint c; its own number where every constraint has one row (`start` is empty)."""
    return (start[c], start[c + 1]) if start.size else (c, c + 1)


@kernel(nogil=True)
def slack(A, q, z, w):
    """The slack w = A z + q row by row, with four partial sums where dense: the same bits for any threads."""
    (data, indices, indptr), n = A, q.size
    for i in range(n):
        s0 = s1 = s2 = s3 = 0.0
        if indptr.size:
            for k in range(indptr[i], indptr[i + 1]):
                s0 += data[k] * z[indices[k]]
            w[i] = s0 + q[i]
            continue
        row, j = i * n, 0
        while j + 3 < n:
            s0 += data[row + j] * z[j]
            s1 += data[row + j + 1] * z[j + 1]
            s2 += data[row + j + 2] * z[j + 2]
            s3 += data[row + j + 3] * z[j + 3]
            j += 4
        while j < n:
            s0 += data[row + j] * z[j]
            j += 1
        w[i] = ((s0 + s1) + (s2 + s3)) + q[i]
