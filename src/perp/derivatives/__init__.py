"""Derivatives of answers by the data of their problems."""

from __future__ import annotations

from perp.derivatives.boxed import BoxedDerivative, Gradient, Tangent
from perp.problems import LCP, MCP, BoxedLCP, Problem, ProblemError, Solution, SolverMismatch

__all__ = ["BoxedDerivative", "Gradient", "Tangent", "derivative"]


def derivative(problem: Problem, solution: Solution) -> BoxedDerivative:
    """How the solution of a problem changes with its data.

    Args:
        problem: LCP, BoxedLCP or MCP.
        solution: Its solved answer.

    Returns:
        Directional derivatives (`jvp`) and gradients (`vjp`), with the mode of every row.

    Raises:
        ProblemError: The answer is not solved: it has no derivative.
        SolverMismatch: The problem is of another kind.
    """
    if not isinstance(problem, LCP | BoxedLCP | MCP):
        raise SolverMismatch(f"derivative takes LCP, BoxedLCP and MCP, not {type(problem).__name__}")
    if not isinstance(solution, Solution):
        raise ProblemError(
            f"solution is of type {type(solution).__name__}: an answer of perp.solve is needed"
        )
    if not solution.solved:
        raise ProblemError(f"the answer is not solved ({solution.status.name}): it has no derivative")
    return BoxedDerivative(problem, solution.z)
