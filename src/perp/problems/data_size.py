"""What is at work at each constraint: the size that its violation is compared with.

Constraints that entries of W couple, directly or through others, form an island. What is at work there is
the largest |q_i| of the island, or the velocity d |λ| of impulses that its bounds demand whatever happens. A
global size would hide a wrong small island behind a large one; a size that depends on the answer would excuse
any answer that is large enough. An island without data has λ = 0 as its answer; it is compared with the least
of the other islands (1 if all are without), so that a scaling of the problem changes nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.problems.boxed_kernels import STRICT
from perp.problems.matrix_entries import column, entries_of, row_ends
from perp.problems.set_kernels import BOX
from perp.problems.validation import Matrix, Vector, freeze


@part
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@part
def join(parent, i, j):
    """Put i and j on one island; 1 where that makes one of two, else 0."""
    a, b = _root(parent, i), _root(parent, j)
    parent[max(a, b)] = min(a, b)
    return 1 if a != b else 0


@kernel(nogil=True)
def join_entries(A, owner, parent):
    """Join the owners of rows and columns that an entry of a matrix couples."""
    n, islands = owner.size, parent.size
    for i in range(n):
        if islands == 1:
            break
        first, last = row_ends(A, n, i)
        for k in range(first, last):
            j = column(A, k, first)
            if A[0][k] != 0.0 and owner[i] != owner[j]:
                islands -= join(parent, owner[i], owner[j])


@kernel(nogil=True)
def spread(parent, size):
    """Every constraint's own size becomes the largest of its island, in place."""
    count = size.size
    for c in range(count):
        r = _root(parent, c)
        size[r] = max(size[r], size[c])
    least = math.inf
    for c in range(count):
        size[c] = size[_root(parent, c)]
        if size[c] > 0.0:
            least = min(least, size[c])
    for c in range(count):
        if not size[c] > 0.0:
            size[c] = least if least < math.inf else 1.0


@kernel(nogil=True)
def own_sizes(q, start, kind, parameters, d, length):
    """The largest |q| of each constraint, or what its box demands, as a velocity."""
    size = np.zeros(kind.size)
    for c in range(kind.size):
        for i in range(start[c], start[c + 1]):
            size[c] = max(size[c], abs(q[i]) * (length[c] if i - start[c] >= 3 else 1.0))
        if kind[c] == BOX:
            size[c] = max(size[c], d[c] * demanded(parameters[c, 0], parameters[c, 1]))
    return size


@part
def demanded(low, high):
    """The size of the impulse nearest to zero within bounds."""
    return max(low, max(-high, 0.0))


@part
def mobility_within(low, high, d, size):
    """The mobility of a row with bounds: at least what makes a velocity of `size` of their distance.

    Impulses that cannot exceed a bound are told apart on its scale, not on that of impulses without one: a
    motor at half its strength where it must give all is wrong, however heavy what it pushes.
    """
    extent = high - low
    if extent == 0.0:
        extent = math.inf
    needed = demanded(low, high)
    if needed > 0.0:
        extent = min(extent, needed)
    return max(d, min(size / extent, STRICT)) if extent > 0.0 else d


def join_rows(M: Matrix, owner: np.ndarray, count: int) -> np.ndarray:
    """The islands of a matrix whose row i belongs to owner[i]: the parent of each of `count` owners."""
    parent = np.arange(count)
    join_entries(entries_of(M), owner, parent)
    return parent


def join_through_bodies(jacobian: Any, mass: Any, owner: np.ndarray, count: int) -> np.ndarray:
    """The same for W = J M⁻¹ Jᵀ: constraints whose freedoms the mass couples, W is not formed."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    J: Any = csr_array(jacobian).tocoo()
    M: Any = csr_array(mass).tocoo()
    touched, coupled = J.data != 0.0, M.data != 0.0
    rows = np.concatenate([owner[J.row[touched]], count + M.row[coupled]])
    columns = np.concatenate([count + J.col[touched], count + M.col[coupled]])
    size = count + J.shape[1]
    graph = coo_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(size, size)).tocsr()
    found: Any = connected_components(graph, directed=False)
    label = found[1][:count]
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    return first[inverse]


def boxed_sizes(M: Matrix, q: Vector, lo: Vector, hi: Vector, limiting_row: np.ndarray, d: Vector) -> Vector:
    """What is at work at each row of a boxed LCP, shape (n,)."""
    return freeze(_row_sizes(entries_of(M), q, lo, hi, limiting_row, d))


@kernel(nogil=True)
def _row_sizes(A, q, lo, hi, limiting_row, d):
    parent, size = np.arange(q.size), np.abs(q)
    join_entries(A, parent.copy(), parent)
    for i in range(q.size):
        j = limiting_row[i]
        if j == -1:
            size[i] = max(size[i], d[i] * demanded(lo[i], hi[i]))
        else:
            join(parent, i, j if j >= 0 else -2 - j)
    spread(parent, size)
    return size


def boxed_mobility(lo: Vector, hi: Vector, limiting_row: np.ndarray, d: Vector, size: Vector) -> Vector:
    """`mobility_within` for every row with bounds of its own, shape (n,)."""
    out = np.array(d)
    _mobilities(lo, hi, limiting_row, size, out)
    return freeze(out)


@kernel(nogil=True)
def _mobilities(lo, hi, limiting_row, size, d):
    for i in range(d.size):
        if limiting_row[i] == -1:
            d[i] = mobility_within(lo[i], hi[i], d[i], size[i])


@kernel(nogil=True)
def set_mobilities(kind, parameters, size, d):
    """`mobility_within` for every Box, in place."""
    for c in range(kind.size):
        if kind[c] == BOX:
            d[c] = mobility_within(parameters[c, 0], parameters[c, 1], d[c], size[c])
