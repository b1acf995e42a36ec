"""Derivatives of answers by the data of their problems, and of steps by state, controls and parameters.

The law of every constraint is one equation in its mode (`laws`; on the central path: `smoothing`), and the
implicit function theorem does the rest. Of a problem:

    boxed, contact       LCPs, boxed LCPs and MCPs; contact problems (`interior`: impulses within all answers)
    verifying            against differences of further solves

Of a step, whose equations between small changes are one struct (`equations`), filled in this order and then
solved island by island (`islands`):

    smooth               inertia and forces (`tree_dynamics`, `spatial`; mujoco's own: `mujoco_forces`)
    joint_slopes         motors, limits, rows between bodies (one by motions of its bodies: `joint_changes`)
    contact_slopes       contacts: how geometry follows motions of two bodies (`contact_changes`; without a
                         formula: `detector`), and that as columns of freedoms (`contact_assembly`)
    parameter_slopes     columns of asked parameters (`parameters`)
    implicit, adjoint    all columns forwards, or one gradient backwards (`elimination`)
    step                 what Python sees; `tangent` moves packed states
"""

from typing import Any, overload

from perp.derivatives.boxed import BoxedDerivative, Gradient, Tangent
from perp.derivatives.contact import ContactDerivative
from perp.derivatives.errors import DerivativeError
from perp.derivatives.verifying import verify_boxed, verify_contact
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

__all__ = ["BoxedDerivative", "DerivativeError", "Gradient", "Tangent", "derivative"]


@overload
def derivative(
    problem: LCP | BoxedLCP | MCP, solution: Solution, *, verify: bool = False
) -> BoxedDerivative: ...
@overload
def derivative(
    problem: ContactProblem, solution: Solution, *, verify: bool = False, smoothing: float = 0.0
) -> ContactDerivative: ...


def derivative(problem: Problem, solution: Solution, *, verify: bool = False, smoothing: float = 0.0) -> Any:
    """How the solution of a problem changes with its data.

    Args:
        problem: LCP, BoxedLCP, MCP or ContactProblem.
        solution: Its solved answer.
        verify: Compare with differences of further solves, and raise where they disagree.
        smoothing: κ > 0 for the derivative of the central path, where impulse times velocity of a contact is
            κ of (velocity at work)² over its mobility: smooth across switches of modes, and not the
            derivative of the answer. Contact problems only.

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
    if not 0.0 <= smoothing < float("inf"):
        raise ProblemError(f"smoothing = {smoothing!r}: a number from 0 on is needed")
    if smoothing and (verify or not isinstance(problem, ContactProblem)):
        raise SolverMismatch("smoothing is for contact problems, and has no difference to compare with")
    if not isinstance(problem, ContactProblem):
        plain = BoxedDerivative(problem, solution.z)
        if verify:
            verify_boxed(plain)
        return plain
    found = ContactDerivative(problem, solution.z, smoothing)
    if verify:
        verify_contact(found)
    return found
