"""Derivatives of answers by the data of their problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from perp.derivatives.boxed import BoxedDerivative, Gradient, Tangent
from perp.derivatives.errors import DerivativeError
from perp.problems import (
    LCP,
    MCP,
    BoxedLCP,
    ContactProblem,
    Problem,
    ProblemError,
    Solution,
    SolverMismatch,
)

if TYPE_CHECKING:
    from perp.derivatives.contact import ContactDerivative

__all__ = ["BoxedDerivative", "DerivativeError", "Gradient", "Tangent", "derivative"]


@overload
def derivative(
    problem: LCP | BoxedLCP | MCP, solution: Solution, *, verify: bool = False
) -> BoxedDerivative: ...
@overload
def derivative(problem: ContactProblem, solution: Solution, *, verify: bool = False) -> ContactDerivative: ...


def derivative(problem: Problem, solution: Solution, *, verify: bool = False) -> Any:
    """How the solution of a problem changes with its data.

    Args:
        problem: LCP, BoxedLCP, MCP or ContactProblem.
        solution: Its solved answer.
        verify: Compare with differences of further solves, and raise where they disagree: contact problems
            only.

    Returns:
        Directional derivatives (`jvp`) and gradients (`vjp`), with the mode of every row or constraint.

    Raises:
        ProblemError: The answer is not solved: it has no derivative.
        SolverMismatch: The problem is of another kind.
        DerivativeError: `verify` found a difference.
    """
    if not isinstance(problem, LCP | BoxedLCP | MCP | ContactProblem):
        raise SolverMismatch(
            f"derivative takes LCP, BoxedLCP, MCP and ContactProblem, not {type(problem).__name__}"
        )
    if not isinstance(solution, Solution):
        raise ProblemError(
            f"solution is of type {type(solution).__name__}: an answer of perp.solve is needed"
        )
    if not solution.solved:
        raise ProblemError(f"the answer is not solved ({solution.status.name}): it has no derivative")
    if not isinstance(problem, ContactProblem):
        if verify:
            raise SolverMismatch("verify=True is for contact problems")
        return BoxedDerivative(problem, solution.z)
    from perp.derivatives.contact import ContactDerivative

    found = ContactDerivative(problem, solution.z)
    if verify:
        from perp.derivatives.verifying import verify_contact

        verify_contact(found)
    return found
