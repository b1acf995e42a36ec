"""An LCP or a boxed LCP as a contact problem of single rows, so that contact solvers take it."""

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.sets import BOX, FREE, NONNEGATIVE, Sets


def refuses_friction_index(problem: LCP | BoxedLCP | ContactProblem) -> str | None:
    """Why a problem is not a fixed product of convex sets, or None."""
    follows = isinstance(problem, BoxedLCP) and (problem.limiting_row != -1).any()
    return "bounds that follow another row (friction index) are not a fixed convex set" if follows else None


def as_contact(problem: LCP | BoxedLCP | ContactProblem) -> ContactProblem:
    """The same problem with one set per row; the answer is the same array."""
    if isinstance(problem, ContactProblem):
        return problem
    lo, hi = problem.lo, problem.hi
    kind = np.full(problem.size, BOX)
    kind[np.isinf(lo) & np.isinf(hi)] = FREE
    kind[(lo == 0.0) & np.isinf(hi)] = NONNEGATIVE
    boxes = kind == BOX
    bounds = np.where(boxes[:, None], np.stack([lo, hi], 1), 0.0)
    sets = Sets.from_arrays(kind, bounds, np.ones(problem.size, dtype=np.int64))
    return ContactProblem(problem.M, problem.q, sets, copy=False)


@formulation(
    "boxed-as-contact", source=BoxedLCP, target=ContactProblem, exact=True, automatic=True,
    refuses=refuses_friction_index,
    summary="a boxed LCP as a contact problem of free, nonnegative and box rows",
)  # fmt: skip
@formulation(
    "lcp-as-contact", source=LCP, target=ContactProblem, exact=True, automatic=True,
    summary="an LCP as a contact problem of nonnegative rows",
)  # fmt: skip
def rows_as_contact(problem: LCP | BoxedLCP) -> Reformulated:
    """The contact problem with the same unknowns."""
    return Reformulated(as_contact(problem), back=lambda z: z, start=lambda z: z)
