"""The fixed point over friction bounds: right where it contracts, honest where it does not."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.formulations.friction_index_as_fixed_point import friction_index_as_fixed_point

INF = np.inf


def coupled(slope: float) -> perp.BoxedLCP:
    """A normal and a friction row: each unit of friction adds `slope` to the normal impulse that is needed.

    With μ = 1 and the friction row at its bound the map on the normal impulse is n ↦ 1 + slope · n.
    """
    M = np.array([[1.0, -slope], [-slope, 1.0 + slope**2]])
    return perp.BoxedLCP(M, [-1.0, -100.0], [0.0, -1.0], [INF, 1.0], friction_index=[-1, 0])


@pytest.mark.parametrize("slope", [0.2, 0.5, 0.8])
def test_rate_is_the_slope_of_the_map(slope: float) -> None:
    solution = perp.solve(coupled(slope), "friction-fixed-point", tol=1e-10)
    assert solution.z == pytest.approx([1 / (1 - slope), 1 / (1 - slope)], rel=1e-8)
    assert solution.info["contraction"] == pytest.approx(slope, abs=0.01)


def test_jamming_does_not_contract_and_is_not_called_solved() -> None:
    # slope > 1: friction wedges the block harder than it is pushed; the map runs away
    solution = perp.solve(coupled(1.5), "friction-fixed-point", throw=False)
    assert solution.status in (perp.Status.STALLED, perp.Status.DIVERGED)
    assert np.isfinite(solution.z).all()
    assert "does not contract" in solution.message or solution.status is perp.Status.DIVERGED


def test_any_boxed_solver_can_be_inside() -> None:
    for inner in ("pgs", "mprgp", "boxed-interior-point", "minimum-map"):
        solution = perp.solve(coupled(0.3), "friction-fixed-point", options={"inner": inner})
        assert solution.info["inner"] == inner
        assert solution.z[0] == pytest.approx(1 / 0.7)
    with pytest.raises(perp.UnknownSolver, match="no solver is called"):
        perp.solve(coupled(0.3), "friction-fixed-point", options={"inner": "nobody"})


def test_frozen_problem_has_the_bounds_in_force() -> None:
    frozen = friction_index_as_fixed_point(coupled(0.5), np.array([3.0, 0.0]))
    assert frozen.friction_index is None
    assert frozen.lo.tolist() == [0.0, -3.0]
    assert frozen.hi.tolist() == [INF, 3.0]


def test_friction_in_the_plane() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(2), [-1.0, 2.0], 0.5, dimension=2)
    solution = perp.solve(problem, "friction-fixed-point")
    assert solution.z == pytest.approx([1.0, -0.5])
