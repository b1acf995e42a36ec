"""A row that no point of the box can satisfy, found after a solve has failed: it proves that nothing could.

Row i with no upper bound needs w_i ≥ 0. If even the largest value of (M z)_i + q_i over the box is negative,
the unit vector e_i is a certificate that no solution exists (and −e_i in the mirrored case); `solve` checks
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems import LCP, BoxedLCP, Status
from perp.problems.infeasibility import proves_infeasible
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt


def explained(problem: Any, attempt: Attempt) -> Attempt:
    """The attempt, with a proof of infeasibility if it failed and a single row shows why."""
    if attempt.reason in (None, Status.TIME_LIMIT) or not isinstance(problem, (LCP, BoxedLCP)):
        return attempt
    found = unsatisfiable_row(problem)
    if found is not None:
        row, certificate = found
        attempt.reason = Status.INFEASIBLE
        attempt.info.update(certificate=certificate, row=row)
        attempt.message = f"Row {row} cannot be satisfied by any point of the box."
    return attempt


def unsatisfiable_row(problem: LCP | BoxedLCP) -> tuple[int, Vector] | None:
    """A row that cannot be satisfied and its certificate, or None."""
    if isinstance(problem, BoxedLCP) and problem.friction_index is not None:
        return None
    lo, hi = problem.lo, problem.hi
    for i in np.flatnonzero(np.isinf(hi) | np.isinf(lo)).tolist():
        for sign in (1.0, -1.0):
            if np.isfinite(hi[i] if sign > 0 else lo[i]) or not _out_of_reach(problem, lo, hi, i, sign):
                continue
            certificate = np.zeros(problem.size)
            certificate[i] = sign
            if proves_infeasible(problem, certificate):
                return i, certificate
    return None


def _out_of_reach(problem: LCP | BoxedLCP, lo: Vector, hi: Vector, i: int, sign: float) -> bool:
    """Whether sign · w_i is negative all over the box."""
    M = problem.M
    if is_sparse(M):
        part = slice(M.indptr[i], M.indptr[i + 1])
        columns, row = M.indices[part], sign * M.data[part]
    else:
        columns = np.flatnonzero(M[i])
        row = sign * M[i, columns]
    best = np.where(row > 0, hi[columns], lo[columns])[row != 0]
    return bool(np.isfinite(best).all() and row[row != 0] @ best + sign * problem.q[i] < 0)
