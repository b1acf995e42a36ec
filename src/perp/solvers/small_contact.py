"""The short way through `solve` for small contact problems: one compiled call, one look at its verdict.

Taken by the default solver when nothing but a tolerance or a time limit is asked for. Where sweeps do not
solve the problem, what they reached is handed on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perp.compilation.stopwatch import STOPWATCH, working_time
from perp.problems import ContactProblem, ContactSolution, Status
from perp.problems.validation import Vector, freeze, is_sparse

# Up to this many rows: beyond, the work exceeds what the short way saves.
LARGEST = 150

Swept = tuple[Vector, float, int]
# The compiled call, addresses of the packed problem and of the one as given, its rows, what is there.
Short = tuple[Any, int, int, int, Any, Any]
# looked up once: each takes as long as a product with W
_SOLVED, _NEW, _EMPTY = Status.SOLVED, ContactSolution.__new__, np.empty


def keep_short(problem: ContactProblem) -> Short | None:
    """What the short way takes; None where it is not taken.

    A problem cannot change: what is made of a small one is kept with it.
    """
    rows, sets = problem.size, problem.sets
    if not 0 < rows <= LARGEST or problem.dynamics is not None or sets.cohesion.any():
        return None
    with STOPWATCH.starting_up():
        from perp.kernels.packed import compressed_rows, pack
        from perp.kernels.short_solve import addresses, keep_given, short_solve

    packed, W = pack(problem), problem.W
    none = freeze(np.zeros(0, np.int64))
    matrix = compressed_rows(W) if is_sparse(W) else (freeze(W.reshape(-1)), none, none)
    all_sets = sets.kind, sets.start, sets.parameters, problem.rolling_length
    given = keep_given(packed.struct, matrix, problem.q, all_sets)
    form = (short_solve, *addresses(packed.struct, given), rows, packed.struct, given)
    problem.__dict__["_short_relaxed" if problem.relaxed else "_short"] = form
    return form


def solve_small(problem: ContactProblem, tol: float) -> tuple[ContactSolution | None, Swept | None]:
    """A verified solution, or None and what sweeps have reached: impulses, their residual, sweeps."""
    began = working_time()
    form = problem.__dict__.get("_short_relaxed" if problem.relaxed else "_short") or keep_short(problem)
    if form is None or type(tol) is not float or not 0.0 < tol < math.inf:
        return None, None
    kernel, packed, given, rows, _, _ = form
    z, w = _EMPTY(rows), _EMPTY(rows)
    value, sweeps = kernel(packed, given, tol, z, w)
    if not value <= tol:
        return None, (z, value, sweeps)
    return _solution(problem, (z, w), (value, sweeps), tol, working_time() - began), None


def solve_small_ones(problems: Sequence[ContactProblem], tol: float) -> list[ContactSolution | None]:
    """Verified solutions of many in one compiled call without Python's lock; None where sweeps do not do."""
    began = working_time()
    forms = [
        problem.__dict__.get("_short_relaxed" if problem.relaxed else "_short") or keep_short(problem)
        for problem in problems
    ]
    out: list[ContactSolution | None] = [None] * len(problems)
    taken = [(k, form) for k, form in enumerate(forms) if form is not None]
    if not taken or not 0.0 < tol < math.inf:
        return out
    from perp.kernels.short_solve import short_solves

    packed, given, rows = (np.array([form[j] for _, form in taken], dtype=np.int64) for j in (1, 2, 3))
    first = np.concatenate([[0], np.cumsum(rows)])
    z, w = _EMPTY(first[-1]), _EMPTY(first[-1])
    value, sweeps = _EMPTY(len(taken)), np.empty(len(taken), np.int64)
    short_solves(packed, given, first, tol, z, w, value, sweeps)
    share = (working_time() - began) / len(taken)
    bounds, values, counts = first.tolist(), value.tolist(), sweeps.tolist()
    for j, (k, _) in enumerate(taken):
        if values[j] <= tol:
            part = slice(bounds[j], bounds[j + 1])
            out[k] = _solution(problems[k], (z[part], w[part]), (values[j], counts[j]), tol, share)
    return out


def _solution(
    problem: ContactProblem,
    answer: tuple[Vector, Vector],
    found: tuple[float, int],
    tol: float,
    seconds: float,
) -> ContactSolution:
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than a contact
    solution = _NEW(ContactSolution)
    fields = solution.__dict__
    fields["problem"], fields["z"], fields["w"] = problem, *answer
    fields["status"], fields["residual"], fields["tolerance"] = _SOLVED, found[0], tol
    fields["iterations"], fields["solver"] = found[1], "block-gauss-seidel"
    fields["solve_time"] = seconds
    return solution
