"""LCPs and boxed LCPs seen as contact problems with scalar sets, for solvers that only need a projection."""

from __future__ import annotations

import numpy as np

from perp.problems import LCP, BoxedLCP, ContactProblem, Sets
from perp.problems.sets import BOX, NONNEGATIVE


def as_contact(problem: LCP | BoxedLCP | ContactProblem) -> ContactProblem:
    """The same problem with one Nonnegative or Box set per row; the answer is the same array."""
    if isinstance(problem, ContactProblem):
        return problem
    n = problem.size
    ones = np.ones(n, dtype=np.int64)
    if isinstance(problem, LCP):
        sets = Sets.from_arrays(NONNEGATIVE * ones, np.zeros((n, 2)), ones)
    else:
        sets = Sets.from_arrays(BOX * ones, np.stack([problem.lo, problem.hi], 1), ones)
    return ContactProblem(problem.M, problem.q, sets, copy=False)


def refuses_friction_index(problem: LCP | BoxedLCP | ContactProblem) -> str | None:
    """Why a problem is not a fixed product of convex sets, or None."""
    if (
        isinstance(problem, BoxedLCP)
        and problem.friction_index is not None
        and (problem.friction_index >= 0).any()
    ):
        return "bounds that follow another row are not a fixed convex set"
    return None
