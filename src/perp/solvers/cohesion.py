"""Cohesive contacts: solved as the same problem in λ − apex, whose cones have their apexes at zero.

A change of variables that is made once for every solver and formulation; the answer is judged in the problem
as it was given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perp.problems import ContactProblem, ContactSolution, NotSolved, Status
from perp.problems.residual import as_answer, judge
from perp.problems.solution import Solution

# A residual that doubles can reach.
LEAST_TOLERANCE = 1e-14


def solve_cohesive(
    problem: ContactProblem, tol: float, start: Any, throw: bool, **arguments: Any
) -> ContactSolution:
    """`solve` for a problem with cohesion; arguments as there."""
    from perp.solvers.solve import solve

    shifted = problem.without_cohesion()
    # what is at work in the shifted problem may be larger: cohesion counts there
    share = float((problem.data_size / shifted.data_size).min(initial=1.0))
    first = None
    if start is not None:
        first = as_answer(problem, start.z if isinstance(start, Solution) else start, "start") - problem.apex
    inner = max(min(share, 1.0) * tol, min(tol, LEAST_TOLERANCE))
    solution = solve(shifted, tol=inner, start=first, throw=False, **arguments)
    z = solution.z + problem.apex
    value, w = judge(problem, z)
    status = Status.SOLVED if value <= tol else solution.status
    if status is Status.SOLVED and value > tol:
        status = Status.INACCURATE
    answer = replace(solution, problem=problem, z=z, w=w, residual=value, tolerance=tol, status=status)
    if throw and answer.status is not Status.SOLVED:
        raise NotSolved(problem, answer)
    return answer
