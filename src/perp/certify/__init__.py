"""Proofs of answers: exact in rational arithmetic, or as rigorous enclosures for large problems."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from perp.certify.certificate import Certificate, not_proved
from perp.problems import LCP, BoxedLCP, Problem, ProblemError, Solution, SolverMismatch, SolverMissing

# Rows up to which rational arithmetic is tried: 150 rows take seconds, and cost grows with the fourth power.
LARGEST_EXACT = 150

__all__ = ["Certificate", "certify"]


def certify(problem: Problem, solution: Solution, *, method: str = "auto") -> Certificate:
    """Prove that an answer stands for an exact solution, or that there is none.

    The sides of the answer (which rows are free, which rest at a bound) are taken over, the rows are solved
    without rounding, and every sign is checked. The exact solution is that of the problem's doubles as they
    stand.

    Args:
        problem: An LCP or BoxedLCP, with or without friction index.
        solution: An answer of `perp.solve` for it; one that claims infeasibility must carry its certificate.
        method: "exact" for rational arithmetic, "interval" for balls, "auto" for exact up to 150 rows.

    Returns:
        What is proved, or why nothing is.

    Raises:
        SolverMissing: python-flint is not installed.
        SolverMismatch: The problem is of another kind.
        ProblemError: The solution is no answer of `perp.solve`.
    """
    from importlib.util import find_spec

    if find_spec("flint") is None:
        raise SolverMissing("certify: python-flint is not installed; add it with: pip install 'perp[proofs]'")
    if not isinstance(problem, (LCP, BoxedLCP)):
        raise SolverMismatch(f"certify takes LCP and BoxedLCP, not {type(problem).__name__}")
    if method not in ("auto", "exact", "interval"):
        raise SolverMismatch(f"method {method!r}: auto, exact or interval")
    if not isinstance(solution, Solution):
        raise ProblemError(
            f"solution is of type {type(solution).__name__}: an answer of perp.solve is needed, because "
            "a proof starts from its active set or its certificate"
        )
    if solution.z.shape != (problem.size,):
        raise SolverMismatch(f"the solution has {solution.z.size} rows, the problem {problem.size}")
    if not solution.solved and solution.info.get("certificate") is not None:
        from perp.certify.infeasible import prove_infeasible

        return prove_infeasible(problem, solution.info["certificate"])
    return _prove(
        problem, solution, exact=method == "exact" or (method == "auto" and problem.size <= LARGEST_EXACT)
    )


def _prove(problem: LCP | BoxedLCP, solution: Solution, *, exact: bool) -> Certificate:
    import numpy as np

    from perp.certify.basis import candidate_sides
    from perp.certify.enclosure import enclose_solution
    from perp.certify.exact import prove_solution

    if not np.isfinite(solution.z).all():
        return not_proved("solution", ["the answer is not finite"])
    first = not_proved("solution", ["no sides to start from"])
    tried: set[bytes] = set()
    for sides in candidate_sides(problem, solution):
        key = sides.free.tobytes() + sides.upper.tobytes()
        if key in tried:
            continue
        tried.add(key)
        certificate = (prove_solution if exact else enclose_solution)(problem, solution, sides)
        if certificate.proved:
            return certificate
        if len(tried) == 1:
            first = certificate
    return first


class _Callable(ModuleType):
    """Lets `perp.certify(problem, solution)` work whether or not this package was imported by name before."""

    def __call__(self, *args: Any, **options: Any) -> Certificate:
        return certify(*args, **options)


sys.modules[__name__].__class__ = _Callable
