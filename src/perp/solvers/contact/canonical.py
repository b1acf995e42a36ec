"""Contact problems in the one form that the compiled solvers work on.

Two kinds of constraint are left: a scalar row with bounds (Free, Nonnegative, Box), and a contact with a
normal row and one or two discs of friction. An elliptic disc is a circular one of radius μ after the change
λ_T = t λ̃_T, ũ_T = t u_T with t ≤ 1 per tangent, since normal cones follow a linear map; kernels make that
change on the spot. Rolling rows are scaled to velocities once: W̃ = T W T is kept in blocks, one per pair of
constraints that act on each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from perp.problems import ContactProblem
from perp.problems.data_size import join, own_sizes, spread
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, FREE, ROLLING
from perp.problems.validation import freeze, is_sparse

# A coefficient beyond this is taken as this: what sticks below it sticks below more, and squares stay finite.
ENDLESS = 1e12


class Blocks(NamedTuple):
    """A contact problem in canonical form; constraint c has rows start[c] … start[c+1]−1.

    Attributes:
        start: Row offsets, shape (count + 1,). low, high: Bounds of scalar rows; zero for contacts. mu, mu_r:
        Friction coefficients; `mu` is −1 for scalar rows, `mu_r` −1 without a second disc. t1, t2: The change
        that makes an elliptic disc circular; 1 for the other sets. scale: T, shape (rows,). q: T q, shape
        (rows,). first: Offsets of the blocks of a constraint in `column`, shape (count + 1,). column: Which
        constraint a block belongs to; ascending in each row of blocks, the diagonal always there. at: Where a
        block begins in `data`, shape (blocks,). diagonal: Which block is the diagonal one, shape (count,).
        data: The entries of all blocks, each in rows. d: Largest velocity that a unit impulse of each
        constraint causes, shape (count,). size: What is at work there, `ContactProblem.data_size`, shape
        (count,). relaxed: Whether Γ is left out.
    """

    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mu: np.ndarray
    mu_r: np.ndarray
    t1: np.ndarray
    t2: np.ndarray
    scale: np.ndarray
    q: np.ndarray
    first: np.ndarray
    column: np.ndarray
    at: np.ndarray
    diagonal: np.ndarray
    data: np.ndarray
    d: np.ndarray
    size: np.ndarray
    relaxed: bool


@njit(cache=True, nogil=True)
def _sparse_of_dense(W):
    """Nonzeros of a dense matrix in compressed rows."""
    n = W.shape[0]
    count = 0
    for i in range(n):
        for j in range(n):
            if W[i, j] != 0.0:
                count += 1
    data, indices, indptr = np.empty(count), np.empty(count, np.int32), np.empty(n + 1, np.int32)
    k = 0
    for i in range(n):
        indptr[i] = k
        for j in range(n):
            if W[i, j] != 0.0:
                data[k] = W[i, j]
                indices[k] = j
                k += 1
    indptr[n] = k
    return data, indices, indptr


@njit(cache=True, nogil=True)
def canonical_sets(kind, start, a, b, length):
    """Bounds, coefficients and scales of every constraint."""
    count = kind.size
    low, high = np.zeros(count), np.zeros(count)
    mu, mu_r = np.full(count, -1.0), np.full(count, -1.0)
    t1, t2, scale = np.ones(count), np.ones(count), np.ones(start[count])
    for c in range(count):
        k, first = kind[c], start[c]
        if k == FREE:
            low[c], high[c] = -np.inf, np.inf
        elif k == BOX:
            low[c], high[c] = a[c], b[c]
        elif k == COULOMB:
            mu[c] = min(a[c], ENDLESS)
        elif k == ELLIPTIC:
            mu[c] = min(max(a[c], b[c]), ENDLESS)
            if mu[c] > 0.0:
                t1[c] = min(a[c], ENDLESS) / mu[c]
                t2[c] = min(b[c], ENDLESS) / mu[c]
        elif k == ROLLING:
            mu[c] = min(a[c], ENDLESS)
            mu_r[c] = min(b[c] / length[c], ENDLESS)
            scale[first + 3] = length[c]
            scale[first + 4] = length[c]
        else:
            high[c] = np.inf
    return low, high, mu, mu_r, t1, t2, scale


@njit(cache=True, nogil=True)
def _ascending(column, begin, end):
    """Sort a short stretch that is nearly sorted, or a long one, in place."""
    if end - begin > 64:
        column[begin:end].sort()
        return
    for k in range(begin + 1, end):
        value, j = column[k], k
        while j > begin and column[j - 1] > value:
            column[j] = column[j - 1]
            j -= 1
        column[j] = value


@njit(cache=True, nogil=True)
def _block_pattern(indices, indptr, start, owner):
    """Which constraints act on which, diagonal included: offsets, columns and data offsets of the blocks."""
    count = start.size - 1
    mark = np.full(count, -1, np.int64)
    first = np.zeros(count + 1, np.int64)
    for c in range(count):
        mark[c] = c
        blocks = 1
        for k in range(indptr[start[c]], indptr[start[c + 1]]):
            other = owner[indices[k]]
            if mark[other] != c:
                mark[other] = c
                blocks += 1
        first[c + 1] = first[c] + blocks
    column = np.empty(first[count], np.int64)
    at = np.empty(first[count] + 1, np.int64)
    diagonal = np.empty(count, np.int64)
    mark[:] = -1
    at[0] = 0
    for c in range(count):
        mark[c] = c
        end = first[c]
        column[end] = c
        end += 1
        for k in range(indptr[start[c]], indptr[start[c + 1]]):
            other = owner[indices[k]]
            if mark[other] != c:
                mark[other] = c
                column[end] = other
                end += 1
        _ascending(column, first[c], end)
        size = start[c + 1] - start[c]
        for k in range(first[c], end):
            at[k + 1] = at[k] + size * (start[column[k] + 1] - start[column[k]])
            if column[k] == c:
                diagonal[c] = k
    return first, column, at, diagonal


@njit(cache=True, nogil=True)
def build(data, indices, indptr, q, kind, start, a, b, length, relaxed):
    """The canonical form of a problem with W in compressed rows."""
    count, n = kind.size, q.size
    low, high, mu, mu_r, t1, t2, scale = canonical_sets(kind, start, a, b, length)
    owner = np.empty(n, np.int64)
    for c in range(count):
        for i in range(start[c], start[c + 1]):
            owner[i] = c
    first, column, at, diagonal = _block_pattern(indices, indptr, start, owner)
    values = np.zeros(at[at.size - 1])
    place = np.empty(count, np.int64)
    d, parent = np.zeros(count), np.arange(count)
    largest = 0.0
    for c in range(count):
        for k in range(first[c], first[c + 1]):
            place[column[k]] = at[k]
        for i in range(start[c], start[c + 1]):
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                other = owner[j]
                value = scale[i] * data[k] * scale[j]
                width = start[other + 1] - start[other]
                values[place[other] + (i - start[c]) * width + j - start[other]] = value
                if value != 0.0 and other != c:
                    join(parent, c, other)
                d[other] = max(d[other], abs(value))
                largest = max(largest, abs(value))
    for c in range(count):
        if d[c] == 0.0:
            d[c] = largest if largest > 0.0 else 1.0
    sizes = own_sizes(q, start, kind, a, b, d, length)
    spread(parent, sizes)
    return Blocks(
        start.copy(), low, high, mu, mu_r, t1, t2, scale, scale * q,
        first, column, at, diagonal, values, d, sizes, relaxed,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def build_dense(W, q, kind, start, a, b, length, relaxed):
    """The canonical form of a problem with a dense W."""
    data, indices, indptr = _sparse_of_dense(W)
    return build(data, indices, indptr, q, kind, start, a, b, length, relaxed)


def blocks_of(problem: ContactProblem) -> Blocks:
    """A problem in canonical form."""
    W: Any = problem.W
    sets = problem.sets
    arrays = (problem.q, sets.kind, sets.start, sets.a, sets.b, problem.rolling_length, problem.relaxed)
    if is_sparse(W):
        return build(freeze(W.data), freeze(W.indices), freeze(W.indptr), *arrays)
    return build_dense(W, *arrays)


@njit(cache=True, nogil=True)
def velocity(blocks, x, u):
    """The velocities u = W x + q."""
    start, q, data = blocks.start, blocks.q, blocks.data
    first, column, at = blocks.first, blocks.column, blocks.at
    for c in range(start.size - 1):
        begin, size = start[c], start[c + 1] - start[c]
        if size == 3:
            s0, s1, s2 = 0.0, 0.0, 0.0
            for k in range(first[c], first[c + 1]):
                p, j = at[k], start[column[k]]
                if start[column[k] + 1] - j == 3:
                    # constant indices into short views: no test for negative ones is left
                    B, X = data[p : p + 9], x[j : j + 3]
                    s0 += B[0] * X[0] + B[1] * X[1] + B[2] * X[2]
                    s1 += B[3] * X[0] + B[4] * X[1] + B[5] * X[2]
                    s2 += B[6] * X[0] + B[7] * X[1] + B[8] * X[2]
                else:
                    width = start[column[k] + 1] - j
                    for m in range(width):
                        s0 += data[p + m] * x[j + m]
                        s1 += data[p + width + m] * x[j + m]
                        s2 += data[p + 2 * width + m] * x[j + m]
            u[begin], u[begin + 1], u[begin + 2] = s0 + q[begin], s1 + q[begin + 1], s2 + q[begin + 2]
        else:
            for i in range(size):
                total = 0.0
                for k in range(first[c], first[c + 1]):
                    j = start[column[k]]
                    width = start[column[k] + 1] - j
                    p = at[k] + i * width
                    for m in range(width):
                        total += data[p + m] * x[j + m]
                u[begin + i] = total + q[begin + i]


@njit(cache=True, nogil=True)
def to_canonical(scale, impulse, x):
    """The unknowns λ̃ = λ / T; zero where T is."""
    for i in range(x.size):
        x[i] = impulse[i] / scale[i] if scale[i] != 0.0 else 0.0
