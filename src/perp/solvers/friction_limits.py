"""Huge and infinite friction coefficients, for every solver: the same problem with less friction first.

What sticks, or is open, below a smaller coefficient does so below a larger one: the answer is the same. A
huge coefficient costs digits (cones that are nearly flat, Γ = μ ‖u_T‖), so that it is limited to what solvers
handle well first, and to more only where the answer slips. ∞ itself is never shown to a solver.
"""

from __future__ import annotations

from collections.abc import Iterator

from perp.problems import ContactProblem, Problem
from perp.problems.sets import COULOMB

# Coefficients beyond the second are limited, first to that of an angle of 84°; the last stands for ∞.
LIMITS = (10.0, 1e3, 1e6, 1e9)
ENDLESS = 1e12


def with_less_friction(problem: Problem) -> Iterator[Problem]:
    """The problem with its coefficients limited to more and more; itself where they are ordinary."""
    largest = _largest(problem)
    if largest <= LIMITS[1] or not isinstance(problem, ContactProblem):
        yield problem
        return
    for limit in LIMITS:
        if limit < largest:
            yield problem.with_friction_below(limit)
    yield finite(problem)


def finite(problem: Problem) -> Problem:
    """The problem with its coefficients limited to what no solver overflows on."""
    if isinstance(problem, ContactProblem) and _largest(problem) > ENDLESS:
        return problem.with_friction_below(ENDLESS)
    return problem


def _largest(problem: Problem) -> float:
    if not isinstance(problem, ContactProblem):
        return 0.0
    sets = problem.sets
    return float(sets.parameters[sets.kind >= COULOMB, :5].max(initial=0.0))
