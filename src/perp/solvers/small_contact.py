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
# Up to this many entries of W its packed form, about three times as large, is kept with the problem.
KEPT = 2000

Swept = tuple[Vector, float, int]
Packed = tuple[np.ndarray, np.ndarray, int]
_NONE = freeze(np.zeros(0))
# a look into the enumeration takes as long as a product with W
_SOLVED = Status.SOLVED


@cache
def _kernels() -> tuple[Any, Any, Any]:
    """The compiled calls; an import statement would cost a microsecond a solve."""
    from perp.solvers.contact.one_call import solve_packed
    from perp.solvers.contact.packed import pack_dense, pack_sparse

    return solve_packed, pack_dense, pack_sparse


def packed(problem: ContactProblem) -> Packed | None:
    """The two arrays of `contact.packed` and the number of rows; None where the short way is not taken.

    A problem cannot change: what is made of a small one is kept with it.
    """
    rows = problem.size
    if not 0 < rows <= LARGEST or problem.dynamics is not None:
        return None
    _, pack_dense, pack_sparse = _kernels()
    W, sets = problem.W, problem.sets
    sparse = is_sparse(W)
    matrix = (W.data, W.indices, W.indptr) if sparse else (W,)
    pack = pack_sparse if sparse else pack_dense
    data = (*matrix, problem.q, sets.kind, sets.start, sets.a, sets.b)
    integers, numbers = pack(*data, _NONE, _NONE)
    if not integers.size:
        integers, numbers = pack(*data, problem.column_scale, problem.rolling_length)
    form = (integers, numbers, rows)
    if matrix[0].size <= KEPT:
        problem.__dict__["_packed"] = form
    return form


def solve_small(problem: ContactProblem, tol: float) -> tuple[ContactSolution | None, Swept | None]:
    """A verified solution, or None and what sweeps have reached: impulses, the residual they saw, sweeps."""
    began = perf_counter()
    form = problem.__dict__.get("_packed") or packed(problem)
    if form is None or type(tol) is not float or not 0.0 < tol < math.inf:
        return None, None
    integers, numbers, rows = form
    z, w = np.empty(rows), np.empty(rows)
    value, seen, sweeps = _kernels()[0](integers, numbers, problem.relaxed, tol, z, w)
    if not value <= tol:
        return None, (z, seen if value < math.inf else math.inf, sweeps)
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than a contact
    solution = ContactSolution.__new__(ContactSolution)
    fields = solution.__dict__
    fields["problem"], fields["z"], fields["w"] = problem, z, w
    fields["status"], fields["residual"], fields["tolerance"] = _SOLVED, value, tol
    fields["iterations"], fields["solver"] = sweeps, "auto"
    fields["info"] = {"sweeps": sweeps, "newton_steps": 0, "starts": 0}
    fields["solve_time"] = perf_counter() - began
    return solution, None
