"""The short way through `solve` for small contact problems: one compiled call, one look at its verdict.

Taken by the default solver when nothing but a tolerance is asked for. Where sweeps do not solve the problem,
what they reached is handed on.
"""

from __future__ import annotations

import math
from functools import cache
from time import perf_counter
from typing import Any

from perp.problems import ContactProblem, ContactSolution, Status
from perp.problems.validation import Vector, is_sparse

# Up to this many rows: beyond, the work exceeds what the short way saves.
LARGEST = 150

Swept = tuple[Vector, float, int]


@cache
def _kernels() -> tuple[Any, Any]:
    """The compiled calls for dense and for sparse W; an import statement would cost a microsecond a solve."""
    from perp.solvers.contact.one_call import solve_dense, solve_sparse

    return solve_dense, solve_sparse


def solve_small(problem: ContactProblem, tol: float) -> tuple[ContactSolution | None, Swept | None]:
    """A verified solution, or None and what sweeps have reached: impulses, the residual they saw, sweeps."""
    sets = problem.sets
    if not 0 < problem.size <= LARGEST or problem.dynamics is not None:
        return None, None
    if type(tol) is not float or not 0.0 < tol < math.inf:
        return None, None
    began = perf_counter()
    solve_dense, solve_sparse = _kernels()
    W: Any = problem.W
    rest = (problem.q, sets.kind, sets.start, sets.a, sets.b, problem.relaxed, tol)
    if is_sparse(W):
        z, w, value, seen, sweeps = solve_sparse(W.data, W.indices, W.indptr, *rest)
    else:
        z, w, value, seen, sweeps = solve_dense(W, *rest)
    if sweeps < 0:
        return None, None
    if not value <= tol:
        return None, (z, seen if value < math.inf else math.inf, sweeps)
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than a contact
    solution = ContactSolution.__new__(ContactSolution)
    solution.__dict__.update(
        problem=problem,
        z=z,
        w=w,
        status=Status.SOLVED,
        residual=value,
        tolerance=tol,
        iterations=sweeps,
        solver="auto",
        formulation=None,
        build_time=0.0,
        solve_time=perf_counter() - began,
        history=None,
        info={"sweeps": sweeps, "newton_steps": 0, "starts": 0},
        message="",
    )
    return solution, None
