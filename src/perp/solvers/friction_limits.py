"""Huge and infinite friction coefficients, for every solver: the same problem with less friction first.

What sticks, or is open, below a smaller coefficient does so below a larger one: the answer is the same. A
huge coefficient costs digits (cones that are nearly flat, Γ = μ ‖u_T‖), so that it is limited to what solvers
handle well first. An answer that slips at the limit is carried to the next one: a contact keeps its friction
and needs that much less of a normal impulse, which changes the answer by the order of 1/μ. ∞ itself is never
shown to a solver.
"""

from __future__ import annotations

import numpy as np

from perp.problems import ContactProblem, Problem
from perp.problems.residual import judge
from perp.problems.sets import COULOMB, ELLIPTIC
from perp.problems.validation import Vector

# Coefficients beyond the second are limited, first to that of an angle of 84°.
FIRST, ORDINARY = 10.0, 1e3
# Limits rise by the first factor as long as they change answers, and by the second one beyond that.
FACTOR, LARGE_FACTOR, LARGE = 10.0**0.5, 1e3, 1e6
# Stands for ∞.
ENDLESS = 1e12
# Limits below which a problem may stay unsolved before it is taken as it is.
FAILURES = 2
# Iterations of `auto` below each limit but the last: what takes more is found below the next as a rule.
AUTO_STEPS = 2000


def friction_limits(problem: Problem) -> list[float]:
    """Limits to the coefficients of a problem, one after the other; the last one changes nothing but ∞."""
    largest = _largest(problem)
    limits = []
    if largest > ORDINARY:
        limit = FIRST
        while limit < min(0.99 * largest, ENDLESS):
            limits.append(limit)
            limit *= FACTOR if limit < 0.99 * LARGE else LARGE_FACTOR
    return [*limits, ENDLESS]


def with_less_friction(problem: Problem, limit: float) -> Problem:
    """The problem with its coefficients limited; itself where they are smaller."""
    if isinstance(problem, ContactProblem) and _largest(problem) > limit:
        return problem.with_friction_below(limit)
    return problem


def carried(problem: ContactProblem, impulse: Vector, limit: float, following: float) -> Vector:
    """A start below the next limit: contacts that slip at the last one keep what they rub with.

    Where that is worse than the answer below the last limit itself, that one.
    """
    start, sets = impulse.copy(), problem.sets
    for c in np.flatnonzero((sets.kind >= COULOMB) & (sets.parameters[:, :5].max(axis=1) > limit)):
        rows, coefficient = slice(sets.start[c], sets.start[c + 1]), sets.parameters[c]
        if sets.kind[c] == ELLIPTIC:
            discs = [(slice(1, None), coefficient[: rows.stop - rows.start - 1])]
        elif sets.kind[c] == COULOMB:
            discs = [(slice(1, None), coefficient[:1])]
        else:
            discs = [(slice(1, 3), coefficient[:1]), (slice(3, 5), coefficient[1:2])]
        _carry(start[rows], discs, limit, following)
    after = problem.with_friction_below(following)
    return start if judge(after, start)[0] < judge(after, impulse)[0] else impulse


def _carry(x: Vector, discs: list[tuple[slice, Vector]], limit: float, following: float) -> None:
    """The impulses of one contact, in place: what the limited discs need, the others in proportion."""
    normal = x[0]
    held = [(rows, mu) for rows, mu in discs if mu.max() > limit]
    needed = max(_needed(x[rows], np.minimum(mu, limit)) for rows, mu in held)
    if needed >= 0.999 * normal > 0.0:
        x[0] = max(_needed(x[rows], np.minimum(mu, following)) for rows, mu in held)
        for rows, mu in discs:
            if mu.max() <= limit:
                x[rows] *= x[0] / normal


def _needed(tangents: Vector, mu: Vector) -> float:
    """The least normal impulse that bears these."""
    mu = np.broadcast_to(mu, tangents.shape)
    return float(np.linalg.norm(tangents[mu > 0] / mu[mu > 0]))


def _largest(problem: Problem) -> float:
    if not isinstance(problem, ContactProblem):
        return 0.0
    sets = problem.sets
    return float(sets.parameters[sets.kind >= COULOMB, :5].max(initial=0.0))
