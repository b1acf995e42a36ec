"""Derivatives against differences of further solves: a wrong gradient is worse than none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from perp.derivatives.boxed import BoxedDerivative
from perp.derivatives.contact import ContactDerivative
from perp.derivatives.errors import DerivativeError
from perp.problems import MCP, ContactProblem
from perp.problems.sets import BOX, COULOMB, Sets
from perp.problems.validation import is_sparse

# Steps of the differences relative to the data, and what the two may differ by relative to the derivative.
_STEPS, _ALLOWED = (1e-5, 1e-6, 1e-7), 1e-4
_DIRECTIONS = 3


def check_comparable(found: Any, what: str = "constraints") -> None:
    """Raises `DerivativeError` where there is no derivative to compare: at a switch, or not unique."""
    if found.degenerate.any():
        at = np.flatnonzero(found.degenerate).tolist()
        raise DerivativeError(f"{what} {at} are at a switch of modes: only one-sided derivatives exist")
    if not getattr(found, "velocity_unique", True):
        raise DerivativeError("the velocities are not unique: they have no derivative")


def verify_contact(found: ContactDerivative, seed: int = 0) -> None:
    """Compare velocities along random changes of all data with differences of solves."""
    check_comparable(found)
    problem, rng = found.problem, np.random.default_rng(seed)
    for _ in range(_DIRECTIONS):
        changes = _direction(problem, rng)
        tangent = found.jvp(**changes)
        if not tangent.consistent:
            raise DerivativeError("redundant constraints switch their modes under a small change of the data")
        size = np.abs(tangent.velocity).max(initial=0.0) + np.abs(problem.data_size).max(initial=0.0)
        _compare(tangent.velocity, size, lambda t, x=changes: _solved(_changed(problem, x, t), 1e-12).w)


def verify_boxed(found: BoxedDerivative, seed: int = 0) -> None:
    """Compare z along random changes of the functions with differences of solves."""
    check_comparable(found, "rows")
    if not found.unique:
        raise DerivativeError("the solution is not unique: it has no derivative")
    problem, rng = found.problem, np.random.default_rng(seed)
    for _ in range(_DIRECTIONS):
        push = rng.standard_normal(problem.size) * (1.0 + np.abs(found.z))

        def moved(t: float, push: np.ndarray = push) -> Any:
            if not isinstance(problem, MCP):
                return replace(problem, q=problem.q + t * push)
            return MCP(
                lambda z: problem.evaluate(z) + t * push, problem.lo, problem.hi, problem.jacobian,
                start=found.z,
            )  # fmt: skip

        dz = found.jvp(df=push).z
        size = np.abs(dz).max(initial=0.0) + np.abs(found.z).max(initial=0.0) + 1e-300
        _compare(dz, size, lambda t, moved=moved: _solved(moved(t), 1e-11).z)


def _compare(expected: np.ndarray, size: float, answer: Callable[[float], np.ndarray]) -> None:
    """Raises `DerivativeError` where no difference of answers is near enough, as a share of a size."""
    differences = ((np.array(answer(h)) - np.array(answer(-h))) / (2 * h) for h in _STEPS)
    best = min(float(np.abs(found - expected).max(initial=0.0)) / size for found in differences)
    if not best <= _ALLOWED:
        raise DerivativeError(f"the derivative differs from differences of solves by {best:.2g} of it")


def _solved(problem: Any, tol: float) -> Any:
    from perp.solvers.solve import solve

    return solve(problem, tol=tol, throw=False)


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
