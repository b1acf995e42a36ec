"""The short way through `solve` for small contact problems: one compiled call, one look at its verdict.

Taken by the default solver when nothing but a tolerance or a time limit is asked for. Where sweeps do not
solve the problem, what they reached is handed on.
"""

from __future__ import annotations

import math
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from perp.problems import ContactProblem, ContactSolution, Status
from perp.problems.validation import Vector, freeze, is_sparse

# Up to this many rows: beyond, the work exceeds what the short way saves.
LARGEST = 150

Swept = tuple[Vector, float, int]
# a look into the enumeration takes as long as a product with W
_SOLVED = Status.SOLVED


@cache
def _kernel() -> Any:
    """The compiled call; an import statement would cost a microsecond a solve."""
    from perp.kernels.short_solve import short_solve

    return short_solve


def keep_short(problem: ContactProblem) -> tuple[Any, Any, int] | None:
    """The packed problem, the one as given, and the rows; None where the short way is not taken.

    A problem cannot change: what is made of a small one is kept with it.
    """
    rows, sets = problem.size, problem.sets
    if not 0 < rows <= LARGEST or problem.dynamics is not None or sets.cohesion.any():
        return None
    from perp.kernels.packed import pack
    from perp.kernels.short_solve import keep_given

    packed, W = pack(problem), problem.W
    none = freeze(np.zeros(0, np.int64))
    if is_sparse(W):
        matrix = (W.data, freeze(W.indices.astype(np.int64)), freeze(W.indptr.astype(np.int64)))
    else:
        matrix = (freeze(W.reshape(-1)), none, none)
    given = keep_given(
        packed.struct, freeze(matrix[0]), *matrix[1:], problem.q, sets.kind, sets.start, sets.parameters,
        problem.rolling_length,
    )  # fmt: skip
    form = (packed.struct, given, rows)
    problem.__dict__["_short_relaxed" if problem.relaxed else "_short"] = form
    return form


def solve_small(problem: ContactProblem, tol: float) -> tuple[ContactSolution | None, Swept | None]:
    """A verified solution, or None and what sweeps have reached: impulses, their residual, sweeps."""
    began = perf_counter()
    form = problem.__dict__.get("_short_relaxed" if problem.relaxed else "_short") or keep_short(problem)
    if form is None or type(tol) is not float or not 0.0 < tol < math.inf:
        return None, None
    packed, given, rows = form
    z, w = np.empty(rows), np.empty(rows)
    value, sweeps = _kernel()(packed, given, tol, z, w)
    if not value <= tol:
        return None, (z, value, sweeps)
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than a contact
    solution = ContactSolution.__new__(ContactSolution)
    fields = solution.__dict__
    fields["problem"], fields["z"], fields["w"] = problem, z, w
    fields["status"], fields["residual"], fields["tolerance"] = _SOLVED, value, tol
    fields["iterations"], fields["solver"] = sweeps, "block-gauss-seidel"
    seconds = perf_counter() - began
    fields["solve_time"] = seconds
    stage = {
        "stage": "block-gauss-seidel", "solver": "block-gauss-seidel", "seconds": seconds, "residual": value,
        "iterations": sweeps,
    }  # fmt: skip
    fields["info"] = {"chosen_by": "auto", "stages": [stage]}
    return solution, None
