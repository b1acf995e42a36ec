"""The short way through `solve` for small LCPs and boxed LCPs: one compiled call, one look at its verdict.

Taken by the default solver when nothing but a tolerance or a time limit is asked for; what it does not solve
goes the longer way.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from perp.compilation.stopwatch import STOPWATCH, working_time
from perp.problems import LCP, BoxedLCP, Solution, Status
from perp.problems.validation import is_sparse

# Up to this many rows: at 256 it takes 0.5 to 0.8 of the longer way, at 500 redundant rows take more.
LARGEST = 300
# Up to this many rows the packed form, of the size of M, is kept with the problem.
KEPT = 70

Packed = tuple[np.ndarray, int, bool, bool]
_SOLVED = Status.SOLVED


@cache
def _kernels() -> tuple[Any, Any]:
    """The compiled calls; an import statement would cost a microsecond a solve."""
    with STOPWATCH.starting_up():
        from perp.solvers.pivoting.one_call import solve_rows
        from perp.solvers.symmetry import is_symmetric

    return solve_rows, is_symmetric


def packed(problem: LCP | BoxedLCP) -> Packed | None:
    """Numbers of a problem, rows, whether M is symmetric, whether Mᵀ is among them; None for the longer way.

    A problem cannot change: what is made of a small one is kept with it.
    """
    n, M = problem.size, problem.M
    boxed = isinstance(problem, BoxedLCP)
    if not 0 < n <= LARGEST or is_sparse(M) or (boxed and problem.friction_index is not None):
        return None
    symmetric = _kernels()[1](M)
    transposed = not (symmetric or boxed)
    matrices = (M.ravel(), M.T.ravel()) if transposed else (M.ravel(),)
    scales = (problem.column_scale, problem.mobility, problem.data_size)
    numbers = np.concatenate([*matrices, problem.q, problem.lo, problem.hi, *scales])
    form = (numbers, n, symmetric, transposed)
    if n <= KEPT:
        problem.__dict__["_packed"] = form
    return form


def solve_small_rows(problem: LCP | BoxedLCP, tol: float) -> Solution | None:
    """A verified solution, or None."""
    began = working_time()
    form = problem.__dict__.get("_packed") or packed(problem)
    if form is None or type(tol) is not float or not 0.0 < tol < math.inf:
        return None
    numbers, n, symmetric, transposed = form
    ready = working_time()
    z, w = np.empty(n), np.empty(n)
    value, pivots, active, upper, by_path = _kernels()[0](numbers, n, symmetric, transposed, z, w)
    if not value <= tol:
        return None
    info = {"active_set": active, "pivots": pivots, "chosen_by": "auto"}
    if type(problem) is BoxedLCP:
        info["at_upper"] = upper
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than eight rows
    solution = Solution.__new__(Solution)
    fields = solution.__dict__
    fields["problem"], fields["z"], fields["w"] = problem, z, w
    fields["status"], fields["residual"], fields["tolerance"] = _SOLVED, value, tol
    fields["iterations"], fields["solver"] = pivots, "lemke" if by_path else "principal"
    name = fields["solver"]
    fields["solve_time"] = seconds = working_time() - ready
    fields["build_time"] = ready - began
    stage = {"stage": name, "solver": name, "seconds": seconds, "residual": value, "iterations": pivots}
    info["stages"] = [stage]
    fields["info"] = info
    return solution
