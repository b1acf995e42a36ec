"""Projected sweeps over a problem in the form that it has: dense, sparse, or bodies without W."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.formulations.contact_as_boxed import rows_of
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.mass import InverseMass
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.boxed_rows import Rows, rows_of_problem
from perp.solvers.projection.sweep_kernels import (
    body_sweeps,
    dense_sweeps,
    first_not_below,
    sparse_sweeps,
)

# The kept slack (or velocity) collects one rounding error a sweep: it is computed afresh after this many.
SWEEPS_BETWEEN_REFRESHES = 32


class Sweeper:
    """Projected Gauss–Seidel sweeps on z in place.

    Attributes:
        size: Number of unknowns.
        work: Floating-point operations of one sweep.
    """

    def __init__(self, problem: LCP | BoxedLCP | ContactProblem, relaxation: float = 1.0) -> None:
        self.size = problem.size
        self.forward = freeze(np.arange(self.size))
        self._since_refresh = SWEEPS_BETWEEN_REFRESHES
        self._last: Vector | None = None
        if isinstance(problem, ContactProblem) and _sparse_inverse(problem):
            self._bodies(problem, relaxation)
        else:
            self._matrix(rows_of_problem(problem), relaxation)

    def _matrix(self, rows: Rows, relaxation: float) -> None:
        M = rows.M
        bounds, step = (rows.lo, rows.hi, rows.limiting_row), freeze(relaxation / rows.divisor)
        self.work = 2.0 * rows.nonzeros
        if is_sparse(M):
            indices = M.indices.view(np.uint32 if M.indices.itemsize == 4 else np.uint64)
            nobody = freeze(np.empty(0, dtype=np.int64))
            middle = np.empty(self.size, dtype=M.indptr.dtype)
            first_not_below(M.indices, M.indptr, middle)
            places = freeze(middle)
            limits = (rows.lo, rows.hi, rows.limiting_row if rows.follows else nobody)
            entries = (M.data, indices, M.indptr, places)
            self.forward = nobody
            self._run = lambda order, z, count: sparse_sweeps(entries, rows.q, limits, step, order, z, count)
            self._refresh = None
        else:
            columns = M if rows.symmetric else freeze(np.ascontiguousarray(M.T))
            w = np.empty(self.size)
            self._run = lambda order, z, count: dense_sweeps(columns, bounds, step, order, z, w, count)
            self._refresh = lambda z: rows.slack(z, w)

    def _bodies(self, problem: ContactProblem, relaxation: float) -> None:
        from scipy.sparse import csr_array

        dynamics: Any = problem.dynamics
        J: Any = csr_array(dynamics.jacobian)
        T: Any = csr_array(J @ dynamics.mass_solver.inverse.T)
        lo, hi, index = rows_of(problem.sets)
        diagonal = np.asarray((J * T).sum(axis=1)).ravel() + dynamics.compliance
        positive = diagonal > 0
        fallback = diagonal[positive].max() if positive.any() else 1.0
        step = freeze(relaxation / np.where(positive, diagonal, fallback))
        v = np.empty(J.shape[1])
        rows, effects = (tuple(map(freeze, (A.data, A.indices, A.indptr))) for A in (J, T))
        terms, bounds = (dynamics.bias, dynamics.compliance, step), (freeze(lo), freeze(hi), freeze(index))

        def refresh(z: Vector) -> None:
            v[:] = dynamics.body_velocity(z)

        self.work = 4.0 * J.nnz
        self._run = lambda order, z, count: body_sweeps(rows, effects, terms, bounds, order, z, v, count)
        self._refresh = refresh

    def sweep(self, z: Vector, count: int = 1, order: np.ndarray | None = None) -> None:
        """Make `count` sweeps on z in place, in the given order (forward by default)."""
        order = self.forward if order is None else order
        while count > 0:
            chunk = count
            if self._refresh is not None:
                if (
                    self._since_refresh >= SWEEPS_BETWEEN_REFRESHES
                    or self._last is None
                    or not np.array_equal(self._last, z)
                ):
                    self._refresh(z)
                    self._since_refresh = 0
                chunk = min(count, SWEEPS_BETWEEN_REFRESHES - self._since_refresh)
                self._since_refresh += chunk
            self._run(order, z, chunk)
            count -= chunk
            if self._refresh is not None:
                self._last = z.copy()


def _sparse_inverse(problem: ContactProblem) -> bool:
    """Whether M⁻¹ is at hand as a sparse matrix, so that bodies can be swept without forming W."""
    dynamics = problem.dynamics
    if dynamics is None or not is_sparse(dynamics.jacobian):
        return False
    solver = dynamics.mass_solver
    return isinstance(solver, InverseMass) and is_sparse(solver.inverse)
