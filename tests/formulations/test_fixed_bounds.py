"""The fixed point over friction bounds: right where it converges, honest where it does not."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.formulations.fixed_bounds import frozen_bounds

INF = np.inf


def coupled(slope: float) -> perp.BoxedLCP:
    """A normal and a friction row: each unit of friction adds `slope` to the normal impulse that is needed.

    With μ = 1 and the friction row at its bound the map on the normal impulse is n ↦ 1 + slope · n.
    """
    M = np.array([[1.0, -slope], [-slope, 1.0 + slope**2]])
    return perp.BoxedLCP(M, [-1.0, -100.0], [0.0, -1.0], [INF, 1.0], friction_index=[-1, 0])


@pytest.mark.parametrize("slope", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("solver", ["boxed-newton", "pgs", "mprgp", "boxed-interior-point", "minimum-map"])
def test_any_boxed_solver_finds_the_fixed_point(solver: str, slope: float) -> None:
    solution = perp.solve(coupled(slope), solver, formulation="fixed-bounds", tol=1e-10)
    assert solution.z == pytest.approx([1 / (1 - slope), 1 / (1 - slope)], rel=1e-8)
    assert solution.info["outer_iterations"] < 10


def test_jamming_does_not_contract_and_is_not_called_solved() -> None:
    # slope > 1: friction wedges the block harder than it is pushed; the map runs away
    solution = perp.solve(coupled(1.5), "boxed-newton", formulation="fixed-bounds", throw=False)
    assert solution.status in (perp.Status.STALLED, perp.Status.DIVERGED)
    assert np.isfinite(solution.z).all()


def test_a_solve_of_frozen_bounds_ends_when_it_has_those() -> None:
    """Sweeps that waited for the bounds of the answer would run into their limit in every round."""
    solution = perp.solve(coupled(0.5), "jacobi", formulation="fixed-bounds")
    assert solution.iterations < 2000


@pytest.mark.parametrize("load", [4.0, -4.0])
@pytest.mark.parametrize("rule", ["magnitude", "zero"])
def test_rule_for_a_negative_limiting_row(rule, load) -> None:
    problem = perp.BoxedLCP(
        np.eye(2), [load, -5.0], [-INF, -0.5], [INF, 0.5], friction_index=[-1, 0], negative_limit=rule
    )
    solution = perp.solve(problem, "baraff", formulation="fixed-bounds")
    assert solution.z == pytest.approx([-load, 2.0 if rule == "magnitude" or load < 0 else 0.0])


def test_frozen_problem_has_the_bounds_in_force() -> None:
    frozen = frozen_bounds(coupled(0.5), np.array([3.0, 0.0]))
    assert frozen.friction_index is None
    assert frozen.lo.tolist() == [0.0, -3.0]
    assert frozen.hi.tolist() == [INF, 3.0]


def test_friction_in_the_plane() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(2), [-1.0, 2.0], 0.5, dimension=2)
    assert perp.solve(problem, "baraff", formulation="rows+fixed-bounds").z == pytest.approx([1.0, -0.5])
