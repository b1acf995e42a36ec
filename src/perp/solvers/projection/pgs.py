"""Projected Gauss–Seidel for LCPs and boxed LCPs, with friction index.

Each sweep visits the rows in order, solves row i for z_i with all others fixed, and clips it to its bounds
(which follow the limiting row where there is a friction index). Converges for symmetric positive definite M
and for consistent semidefinite ones; a sweep costs one pass over the nonzeros.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 5.2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.problems import LCP, BoxedLCP
from perp.problems.boxed_kernels import clip
from perp.problems.validation import is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

# Slow convergence on stiff stacks is the method's nature; more sweeps than this call for another solver.
SWEEPS = 100_000


@njit(cache=True)
def _bounds(lo, hi, limiting_row, z, i):
    j = limiting_row[i]
    if j < 0:
        return lo[i], hi[i]
    factor = max(z[j], 0.0)
    return lo[i] * factor, hi[i] * factor


@njit(cache=True)
def _dense_sweeps(M, q, lo, hi, limiting_row, divisor, z, count):
    n = q.size
    for _ in range(count):
        for i in range(n):
            w = q[i]
            for j in range(n):
                w += M[i, j] * z[j]
            low, high = _bounds(lo, hi, limiting_row, z, i)
            z[i] = clip(z[i] - w / divisor[i], low, high)


@njit(cache=True)
def _sparse_sweeps(data, indices, indptr, q, lo, hi, limiting_row, divisor, z, count):
    for _ in range(count):
        for i in range(q.size):
            w = q[i]
            for k in range(indptr[i], indptr[i + 1]):
                w += data[k] * z[indices[k]]
            low, high = _bounds(lo, hi, limiting_row, z, i)
            z[i] = clip(z[i] - w / divisor[i], low, high)


@register("pgs", takes=(LCP, BoxedLCP), summary="projected Gauss–Seidel sweeps; symmetric positive matrices")
def pgs(problem: LCP | BoxedLCP, control: Control, options: object) -> Attempt:
    """Solve a (boxed) LCP by projected Gauss–Seidel."""
    M = problem.M
    diagonal = M.diagonal()
    divisor = np.where(diagonal > 0, diagonal, problem.column_scale)
    if isinstance(problem, BoxedLCP):
        limiting_row = problem.limiting_row
    else:
        limiting_row = np.full(problem.size, -1, dtype=np.int64)
    bounds = (problem.lo, problem.hi, limiting_row, divisor)

    def advance(z: np.ndarray, count: int) -> None:
        if is_sparse(M):
            _sparse_sweeps(M.data, M.indices, M.indptr, problem.q, *bounds, z, count)
        else:
            _dense_sweeps(M, problem.q, *bounds, z, count)

    nonzeros = M.nnz if is_sparse(M) else M.size
    return control.iterate(advance, control.begin(problem.size), default_limit=SWEEPS, work=2.0 * nonzeros)
