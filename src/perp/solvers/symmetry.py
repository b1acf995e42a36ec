"""Whether a matrix is symmetric: the one test that solvers and `auto` choose by."""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.problems.validation import Matrix, is_sparse

# Entries of M and Mᵀ that differ by less than this fraction of the largest entry are the same up to
# round-off.
SYMMETRY = 1e-10


def is_symmetric(M: Matrix) -> bool:
    """Whether M, dense or sparse, equals its transpose up to round-off of its largest entry."""
    if is_sparse(M):
        return bool(_sparse_symmetric(M.data, M.indices, M.indptr))
    return bool(_dense_symmetric(M))


@kernel
def _dense_symmetric(M):
    """Whether a dense M is symmetric, in tiles, so that the columns of the other triangle stay in cache."""
    n = M.shape[0]
    largest = difference = 0.0
    for first in range(0, n, 32):
        for second in range(first, n, 32):
            for i in range(first, min(first + 32, n)):
                for j in range(max(second, i), min(second + 32, n)):
                    largest = max(largest, abs(M[i, j]))
                    difference = max(difference, abs(M[i, j] - M[j, i]))
    return difference <= SYMMETRY * largest


@kernel
def _sparse_symmetric(data, indices, indptr):
    largest = 0.0
    for value in data:
        largest = max(largest, abs(value))
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            low, high = indptr[j], indptr[j + 1]
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < i:
                    low = middle + 1
                else:
                    high = middle
            opposite = data[low] if low < indptr[j + 1] and indices[low] == i else 0.0
            if abs(data[k] - opposite) > SYMMETRY * largest:
                return False
    return True
