"""The one short way through `solve`: small problems of every type in one compiled call that judges."""

from __future__ import annotations

from typing import Any

from perp.problems import LCP, BoxedLCP, ContactProblem, Solution
from perp.solvers.small_contact import solve_small
from perp.solvers.small_rows import solve_small_rows


def short_way(problem: Any, tol: float) -> tuple[Solution | None, Any]:
    """A verified solution, or None and what contact sweeps have reached on the way."""
    kind = type(problem)
    if kind is ContactProblem:
        return solve_small(problem, tol)
    if kind is LCP or kind is BoxedLCP:
        return solve_small_rows(problem, tol), None
    return None, None
