"""Derivatives against differences of further solves: a wrong gradient is worse than none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.problems import MCP, ContactProblem
from perp.problems.sets import BOX, COULOMB, Sets
from perp.problems.validation import is_sparse

if TYPE_CHECKING:
    from perp.derivatives.boxed import BoxedDerivative
    from perp.derivatives.contact import ContactDerivative

# Steps of the differences relative to the data, and what the two may differ by relative to the derivative.
_STEPS, _ALLOWED = (1e-5, 1e-6, 1e-7), 1e-4
_DIRECTIONS = 3


def verify_contact(found: ContactDerivative, seed: int = 0) -> None:
    """Compare velocities along random changes of all data with differences of solves.

    Raises:
        DerivativeError: They differ, or there is no derivative to compare: a switch of modes, velocities that
            are not unique.
    """
    if found.degenerate.any():
        at = np.flatnonzero(found.degenerate).tolist()
        raise DerivativeError(f"constraints {at} are at a switch of modes: only one-sided derivatives exist")
    if not found.velocity_unique:
        raise DerivativeError("the velocities are not unique: they have no derivative")
    rng = np.random.default_rng(seed)
    for _ in range(_DIRECTIONS):
        changes = _direction(found.problem, rng)
        tangent = found.jvp(**changes)
        if not tangent.consistent:
            raise DerivativeError("redundant constraints switch their modes under a small change of the data")
        size = np.abs(tangent.velocity).max(initial=0.0) + np.abs(found.problem.data_size).max(initial=0.0)
        best = min(_difference(found.problem, changes, h, tangent.velocity) / size for h in _STEPS)
        if not best <= _ALLOWED:
            raise DerivativeError(f"the derivative differs from differences of solves by {best:.2g} of it")


def verify_boxed(found: BoxedDerivative, seed: int = 0) -> None:
    """Compare z along random changes of the functions with differences of solves.

    Raises:
        DerivativeError: They differ, or there is no derivative to compare.
    """
    from perp.solvers.solve import solve

    if found.degenerate.any():
        at = np.flatnonzero(found.degenerate).tolist()
        raise DerivativeError(f"rows {at} are at a switch of modes: only one-sided derivatives exist")
    if not found.unique:
        raise DerivativeError("the solution is not unique: it has no derivative")
    problem, rng = found.problem, np.random.default_rng(seed)
    for _ in range(_DIRECTIONS):
        push = rng.standard_normal(problem.size) * (1.0 + np.abs(found.z))
        tangent = found.jvp(df=push)
        size = np.abs(tangent.z).max(initial=0.0) + np.abs(found.z).max(initial=0.0) + 1e-300
        best = np.inf
        for h in _STEPS:
            sides = []
            for t in (h, -h):
                if isinstance(problem, MCP):
                    moved = MCP(
                        lambda z, t=t, push=push: problem.evaluate(z) + t * push, problem.lo, problem.hi,
                        problem.jacobian, start=found.z,
                    )  # fmt: skip
                else:
                    moved = replace(problem, q=problem.q + t * push)
                sides.append(np.array(solve(moved, tol=1e-11, throw=False).z))
            off = (sides[0] - sides[1]) / (2 * h) - tangent.z
            best = min(best, float(np.abs(off).max(initial=0.0)) / size)
        if not best <= _ALLOWED:
            raise DerivativeError(f"the derivative differs from differences of solves by {best:.2g} of it")


def _direction(problem: ContactProblem, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random changes in proportion to the data."""
    sets = problem.sets
    dp = np.where(np.isfinite(sets.parameters), sets.parameters, 0.0) * rng.standard_normal((sets.count, 6))
    dp[sets.kind < BOX] = 0.0
    dp[(sets.kind == BOX) & (sets.parameters[:, 0] == sets.parameters[:, 1])] = 0.0
    dp[sets.kind == COULOMB, 1:5] = 0.0
    changes = {"dparameters": dp}
    dynamics = problem.dynamics
    if dynamics is not None:
        # along velocities of the bodies, so that redundant rows stay consistent
        return changes | {
            "dmomentum": np.abs(dynamics.momentum) * rng.standard_normal(dynamics.momentum.size)
        }
    W = problem.W
    push = (
        rng.standard_normal(problem.size)
        * problem.data_size[np.repeat(np.arange(sets.count), sets.dimension)]
    )
    top = abs(W).max() if is_sparse(W) else np.abs(W).max(initial=0.0)
    return changes | {"dq": np.asarray(W @ push) / max(float(top), 1e-300)}


def _difference(
    problem: ContactProblem, changes: dict[str, np.ndarray], h: float, expected: np.ndarray
) -> float:
    from perp.solvers.solve import solve

    sides = []
    for sign in (h, -h):
        changed = _changed(problem, changes, sign)
        solution = solve(changed, tol=1e-12, throw=False)
        sides.append(np.array(solution.w))
    return float(np.abs((sides[0] - sides[1]) / (2 * h) - expected).max(initial=0.0))


def _changed(problem: ContactProblem, changes: dict[str, np.ndarray], t: float) -> ContactProblem:
    sets = Sets.from_arrays(
        problem.sets.kind, problem.sets.parameters + t * changes["dparameters"], problem.sets.dimension
    )
    if problem.dynamics is None:
        return ContactProblem(problem.W, problem.q + t * changes["dq"], sets, relaxed=problem.relaxed)
    d = problem.dynamics
    return ContactProblem.from_dynamics(
        d.mass, d.jacobian, d.momentum + t * changes["dmomentum"], d.bias, sets, compliance=d.compliance,
        relaxed=problem.relaxed,
    )  # fmt: skip
