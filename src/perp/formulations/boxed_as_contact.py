"""An LCP or a boxed LCP as a contact problem of single rows, so that contact solvers take it."""

from __future__ import annotations

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.problems import LCP, BoxedLCP, ContactProblem
from perp.problems.sets import BOX, FREE, NONNEGATIVE, Sets


def _follows(problem: BoxedLCP) -> str | None:
    index = problem.friction_index
    return None if index is None or (index < 0).all() else "it has rows with a friction index"


def _contact(problem: LCP | BoxedLCP) -> Reformulated:
    lo, hi = problem.lo, problem.hi
    kind = np.full(problem.size, BOX)
    kind[np.isinf(lo) & np.isinf(hi)] = FREE
    kind[(lo == 0.0) & np.isinf(hi)] = NONNEGATIVE
    boxes = kind == BOX
    bounds = np.where(boxes[:, None], np.stack([lo, hi], 1), 0.0)
    sets = Sets.from_arrays(kind, bounds, np.ones(problem.size, dtype=np.int64))
    contact = ContactProblem(problem.M, problem.q, sets, copy=False)
    return Reformulated(contact, back=lambda z: z, start=lambda z: z)


@formulation(
    "boxed-as-contact", source=BoxedLCP, target=ContactProblem, exact=True, automatic=True, refuses=_follows,
    summary="a boxed LCP as a contact problem of free, nonnegative and box rows",
)  # fmt: skip
def boxed_as_contact(problem: BoxedLCP) -> Reformulated:
    """The contact problem with the same unknowns."""
    return _contact(problem)


@formulation(
    "lcp-as-contact", source=LCP, target=ContactProblem, exact=True, automatic=True,
    summary="an LCP as a contact problem of nonnegative rows",
)  # fmt: skip
def lcp_as_contact(problem: LCP) -> Reformulated:
    """The contact problem with the same unknowns."""
    return _contact(problem)
