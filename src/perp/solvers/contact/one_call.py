"""Small contact problems in one compiled call: scales, sweeps, and the verdict of the shared residual.

A contact or two are solved in a microsecond; what Python does around that counts. The sweeps are those of the
first stage, the verdict is `judge_sparse` or `judge_dense` on their answer, which knows nothing of them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.set_kernels import ROLLING, judge_dense, judge_sparse
from perp.solvers.contact.first_stage import sweep_dense, sweep_sparse


@njit(cache=True, nogil=True)
def _widest(largest, start):
    """`ContactProblem.column_scale` from the largest entry of each column, for problems without rolling."""
    overall = 0.0
    for value in largest:
        overall = max(overall, value)
    if overall == 0.0:
        overall = 1.0
    d = np.zeros(start.size - 1)
    for c in range(d.size):
        for j in range(start[c], start[c + 1]):
            d[c] = max(d[c], largest[j] if largest[j] > 0.0 else overall)
    return d


@njit(cache=True, nogil=True)
def _rolls(kind):
    found = False
    for k in kind:
        found = found or k == ROLLING
    return found


@njit(cache=True, nogil=True)
def solve_sparse(data, indices, indptr, q, kind, start, a, b, relaxed, tol):
    """Impulses, velocities, shared residual, residual that the sweeps saw, and their number; W in rows.

    Rolling contacts have lengths of their own: then the number of sweeps is −1 and nothing was done.
    """
    if _rolls(kind):
        return q.copy(), q.copy(), math.inf, math.inf, -1
    largest = np.zeros(q.size)
    for k in range(data.size):
        largest[indices[k]] = max(largest[indices[k]], abs(data[k]))
    ones, rows = np.ones(kind.size), np.ones(q.size)
    x, seen, sweeps = sweep_sparse(
        data, indices, indptr, q, kind, start, a, b, ones, relaxed, np.zeros(q.size), tol
    )
    value, u = judge_sparse(
        data, indices, indptr, q, rows, kind, start, a, b, _widest(largest, start), ones, relaxed, x
    )
    return x, u, value, seen, sweeps


@njit(cache=True, nogil=True)
def solve_dense(W, q, kind, start, a, b, relaxed, tol):
    """The same for a dense W."""
    if _rolls(kind):
        return q.copy(), q.copy(), math.inf, math.inf, -1
    largest = np.zeros(q.size)
    for i in range(q.size):
        for j in range(q.size):
            largest[j] = max(largest[j], abs(W[i, j]))
    ones, rows = np.ones(kind.size), np.ones(q.size)
    x, seen, sweeps = sweep_dense(W, q, kind, start, a, b, ones, relaxed, np.zeros(q.size), tol)
    value, u = judge_dense(W, q, rows, kind, start, a, b, _widest(largest, start), ones, relaxed, x)
    return x, u, value, seen, sweeps
