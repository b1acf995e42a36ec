"""A start for large sparse LCPs from a smaller one: rows that depend strongly on each other move together.

Exchanging wrong rows moves the edge of a free region by one row a step, so that a fine mesh takes as many
steps as it has layers. A smaller problem over aggregates of rows, z = P y with smoothed columns P ≥ 0, has
few layers and the same edge up to the size of an aggregate; it is made and solved the same way in turn. Every
y ≥ 0 gives a z ≥ 0, and for symmetric positive semidefinite M the smaller problem minimises the same energy
over fewer z. It costs two sparse products; a level has a third to a tenth of the rows of the one above.
Where M is not symmetric and smoothing would couple rows with the wrong sign (flow that outruns diffusion on
the wider mesh), columns stay constant on their aggregates.

Reference: Vaněk, Mandel and Brezina, Algebraic multigrid by smoothed aggregation for second and fourth order
elliptic problems, Computing 56 (1996).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.compilation.kernel import kernel

# Entries below this fraction of the diagonal do not join rows: the value of Vaněk, Mandel and Brezina.
STRENGTH = 0.08
# The damping of one Jacobi step on the columns of P, which keeps P ≥ 0 where off-diagonal entries are ≤ 0.
DAMPING = 2.0 / 3.0
# An aggregation that keeps more of the rows than this is not worth another level.
LARGEST_SHARE = 0.7


@kernel
def aggregate(data, indices, indptr, diagonal, group):
    """Give every row the number of its group; returns how many groups there are.

    First every row whose strong neighbours are all without a group founds one with them; then the others join
    the strongest of their neighbours' groups, or stay alone.
    """
    n = diagonal.size
    count = 0
    for i in range(n):
        group[i] = -1
    for i in range(n):
        alone = group[i] < 0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if abs(data[k]) > STRENGTH * (diagonal[i] * diagonal[j]) ** 0.5 and group[j] >= 0:
                alone = False
        if alone:
            group[i] = count
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if abs(data[k]) > STRENGTH * (diagonal[i] * diagonal[j]) ** 0.5:
                    group[j] = count
            count += 1
    founded = count
    for i in range(n):
        if group[i] < 0:
            strongest = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if 0 <= group[j] < founded and abs(data[k]) > strongest:
                    strongest = abs(data[k])
                    group[i] = group[j]
            if group[i] < 0:
                group[i] = count
                count += 1
    return count


def coarsen(M: Any, symmetric: bool) -> Any | None:
    """The columns P ≥ 0 of a smaller problem, shape (n, m) sparse; None where rows hardly depend on others.

    Args:
        M: `csr_array` with a positive diagonal.
        symmetric: Whether it is.
    """
    from scipy.sparse import csr_array, diags_array

    n = M.shape[0]
    diagonal = M.diagonal()
    group = np.empty(n, dtype=np.int64)
    count = int(aggregate(M.data, M.indices, M.indptr, diagonal, group))
    if count > LARGEST_SHARE * n:
        return None
    first = csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, count))
    smooth = csr_array(first - diags_array(DAMPING / diagonal) @ (M @ first))
    smooth.data = np.maximum(smooth.data, 0.0)
    if not symmetric and has_no_positive_coupling(M) and not has_no_positive_coupling(smaller(M, smooth)):
        return first
    return smooth


def has_no_positive_coupling(M: Any) -> bool:
    """Whether no entry off the diagonal of a sparse matrix is positive (a Z-matrix)."""
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    return bool((M.data[rows != M.indices] <= 0.0).all())


def smaller(M: Any, P: Any) -> Any:
    """The matrix of the smaller problem, Pᵀ M P; its vector is Pᵀ q."""
    from scipy.sparse import csr_array

    return csr_array(P.T @ (M @ P))
