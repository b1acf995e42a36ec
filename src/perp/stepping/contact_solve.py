"""The call of `perp.solve` that both levels share: warm first, cold when that fails."""

from __future__ import annotations

import numpy as np

from perp.problems import ContactProblem, Solution
from perp.solvers import solve
from perp.stepping.system import StepSystem

# A contact problem that the default solver has not solved by then takes longer than dividing the step.
_ITERATIONS = 1000


def solve_contacts(
    system: StepSystem, problem: ContactProblem, start: np.ndarray, sharper: float = 1.0
) -> Solution:
    """Solve a contact problem from the impulses `start`, and from zero when that misses the tolerance.

    Args:
        system: The step.
        problem: The contact problem.
        start: Impulses to begin with, shape (rows,).
        sharper: Factor of the settings' tolerance.
    """
    settings = system.settings
    limit = settings.solver_iterations
    if limit is None and settings.solver == "auto":
        limit = _ITERATIONS
    answers = []
    for begin in (start, None) if start.any() else (None,):
        solution = solve(
            problem, settings.solver, formulation=settings.formulation,
            tol=sharper * settings.solver_tolerance, max_iterations=limit, start=begin, throw=False,
            options=settings.solver_options,
        )  # fmt: skip
        answers.append(solution)
        if solution.solved:
            break
    return min(answers, key=lambda answer: answer.residual)
