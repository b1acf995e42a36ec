"""What only Lemke's method has: covering vectors, rays, any matrix, warm bases."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.bench.sets import families


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [5, 33, 80])
def test_p_matrix_gives_the_solution_it_was_made_from(n: int, seed: int) -> None:
    problem, z = families.p_matrix(n, seed)
    np.testing.assert_allclose(perp.solve(problem, "lemke").z, z, atol=1e-10)


def test_covering_vector_takes_another_path_to_the_same_unique_answer() -> None:
    problem = families.spd(30)
    one = perp.solve(problem, "lemke")
    other = perp.solve(problem, "lemke", options={"covering": np.geomspace(1, 100, 30)})
    np.testing.assert_allclose(one.z, other.z, atol=1e-11)
    assert one.iterations != other.iterations


@pytest.mark.parametrize("covering", [[1.0, 0.0], [1.0, -1.0], [1.0], [np.nan, 1.0]])
def test_bad_covering_vector_is_named(covering: list[float]) -> None:
    with pytest.raises(perp.ProblemError, match="covering"):
        perp.solve(perp.LCP(np.eye(2), [-1, -1]), "lemke", options={"covering": covering})


def test_ray_satisfies_its_equations_and_proves_infeasibility() -> None:
    J = np.random.default_rng(0).integers(-2, 3, (6, 2)).astype(float)
    M = J @ J.T
    problem = perp.LCP(M, -np.ones(6) - J @ [1.0, 1.0])
    solution = perp.solve(problem, "lemke", throw=False)
    assert solution.status is perp.Status.INFEASIBLE
    ray = solution.info["ray"]
    np.testing.assert_allclose(ray["w"], M @ ray["z"] + ray["z0"], atol=1e-10)
    v = solution.info["certificate"]
    assert (v >= 0).all()
    np.testing.assert_allclose(M @ v, 0.0, atol=1e-10)
    assert problem.q @ v < 0


def test_monotone_problem_with_zero_diagonal_block_is_a_linear_program() -> None:
    """min x + 2 y with x + y ≥ 1: x = 1, multiplier 1."""
    M = np.array([[0, 0, -1], [0, 0, -1], [1, 1, 0]], dtype=float)
    solution = perp.solve(perp.LCP(M, [1, 2, -1]), "lemke")
    np.testing.assert_allclose(solution.z, [1, 0, 1], atol=1e-14)


def test_unusable_basis_is_dropped() -> None:
    """All ones suggests a singular basis; the answer is that of a cold start."""
    problem = families.redundant(40)
    warm = perp.solve(problem, "lemke", start=np.ones(40))
    assert warm.residual <= 1e-10


def test_long_runs_stay_accurate() -> None:
    """4095 pivots on updated inverses."""
    solution = perp.solve(families.murty(12), "lemke", max_iterations=5000)
    assert solution.iterations == 4095
    assert solution.residual <= 1e-12
