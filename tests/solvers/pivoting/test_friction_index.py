"""Bounds that follow other rows hold at the solution, not at a guess of it."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.bench.sets import families

INF = np.inf


def natural_map(problem: perp.BoxedLCP, z: np.ndarray) -> float:
    """A second implementation: the largest |z − clip(z − w)| with the bounds in force at z."""
    lo, hi = problem.lo.copy(), problem.hi.copy()
    for i, j in enumerate(problem.limiting_row):
        if j >= 0:
            lo[i] *= max(z[j], 0.0)
            hi[i] *= max(z[j], 0.0)
    return float(np.abs(z - np.clip(z - (problem.M @ z + problem.q), lo, hi)).max(initial=0.0))


def block_on_a_plane(mu: float, push: float, *, h: float = 0.01, mass: float = 2.0) -> perp.BoxedLCP:
    """A point mass with weight and a horizontal push [N], one step from rest; rows normal, tangent."""
    return perp.BoxedLCP(
        np.eye(2) / mass, [-9.81 * h, push * h / mass], [0, -mu], [INF, mu], friction_index=[-1, 0]
    )


@pytest.mark.parametrize("push", [0.0, 5.0, 9.0, 10.0, 30.0, -30.0])
def test_block_sticks_up_to_the_friction_limit_and_slides_beyond(push: float) -> None:
    mu, mass, h = 0.5, 2.0, 0.01
    solution = perp.solve(block_on_a_plane(mu, push), "moving-bounds")
    limit = mu * mass * 9.81
    np.testing.assert_allclose(solution.z[0], mass * 9.81 * h, rtol=1e-12)
    np.testing.assert_allclose(solution.z[1], -np.clip(push, -limit, limit) * h, rtol=1e-12, atol=1e-15)


def test_painleve_like_coupling_moves_the_bound_with_the_normal() -> None:
    """Friction raises the normal impulse: bounds frozen from the normals alone would be 0.5, not 1."""
    problem = perp.BoxedLCP(
        [[1.0, -0.5], [-0.5, 1.0]], [-1.0, -5.0], [0, -1], [INF, 1], friction_index=[-1, 0]
    )
    solution = perp.solve(problem, "moving-bounds")
    np.testing.assert_allclose(solution.z, [2.0, 2.0], rtol=1e-12)
    assert perp.certify(problem, solution).z == (2, 2)


@pytest.mark.parametrize("count", [4, 16])
@pytest.mark.parametrize("seed", range(6))
def test_rank_deficient_contacts(count: int, seed: int) -> None:
    problem = families.contacts(count, seed)
    solution = perp.solve(problem, "moving-bounds", throw=False)
    assert solution.solved
    assert natural_map(problem, solution.z) <= 1e-8


def test_rank_deficient_contacts_of_64() -> None:
    problem = families.contacts(64)
    solution = perp.solve(problem, "moving-bounds", tol=1e-9)
    assert natural_map(problem, solution.z) <= 1e-8
    warm = perp.solve(problem, "moving-bounds", start=solution)
    assert warm.iterations <= 40


@pytest.mark.parametrize("seed", range(3))
def test_answer_is_that_of_many_sweeps(seed: int) -> None:
    """Full rank and little friction: the solution is unique, so projected Gauss–Seidel must agree."""
    problem = families.contacts(4, seed, mu=0.1, diagonal=0.1)
    exact = perp.solve(problem, "moving-bounds", tol=1e-12)
    swept = perp.solve(problem, "pgs", tol=1e-12)
    np.testing.assert_allclose(exact.z, swept.z, atol=1e-9)


def test_asymmetric_bounds_and_other_rows() -> None:
    """lo ≠ −hi, a boxed and a free row beside the contact."""
    M = families.spd(5).M + 0.5 * np.eye(5)
    problem = perp.BoxedLCP(
        M, [-3.0, 2.0, -4.0, 1.0, -1.0], [0, -0.2, 0.1, -0.3, -INF], [INF, 0.7, 0.4, 0.3, INF],
        friction_index=[-1, 0, 0, -1, -1],
    )  # fmt: skip
    solution = perp.solve(problem, "moving-bounds")
    assert natural_map(problem, solution.z) <= 1e-12
    assert perp.certify(problem, solution).status == "proved"


def test_no_solution_is_not_reported_solved() -> None:
    """w₀ = −1 whatever z: no impulse helps."""
    problem = perp.BoxedLCP(np.diag([0.0, 1.0]), [-1.0, 0.5], [0, -1], [INF, 1], friction_index=[-1, 0])
    solution = perp.solve(problem, "moving-bounds", throw=False)
    assert not solution.solved
    assert solution.residual > 0.1


def test_limits_of_pivots_and_time() -> None:
    problem = families.contacts(64, 1)
    few = perp.solve(problem, "moving-bounds", max_iterations=5, throw=False)
    assert few.solved or few.status is perp.Status.ITERATION_LIMIT
    soon = perp.solve(problem, "moving-bounds", time_limit=1e-6, throw=False)
    assert soon.solved or soon.status is perp.Status.TIME_LIMIT
