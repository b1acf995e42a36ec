"""The interior point of contact problems: closed forms, rank-deficient W, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import generators
import perp
from perp.scenes.library import wall

PULL = np.array([-1.0, 3.0, 4.0])


def test_sliding_block_of_the_textbook():
    solution = perp.solve(perp.ContactProblem.coulomb(np.eye(3), PULL, 0.5), "interior-point")
    np.testing.assert_allclose(solution.z, [1.0, -0.3, -0.4], atol=1e-7)
    assert solution.info["islands"] == 1


def test_relaxation_is_one_program_and_lifts_the_sliding_block():
    problem = perp.ContactProblem.coulomb(np.eye(3), PULL, 0.5, relaxed=True)
    solution = perp.solve(problem, "interior-point")
    # the nearest point of the cone to −q
    normal = (1.0 + 0.5 * 5.0) / 1.25
    np.testing.assert_allclose(solution.z, [normal, -0.3 * normal, -0.4 * normal], atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_auto_where_the_answer_is_unique(seed):
    problem = generators.contact(5, seed)
    solution = perp.solve(problem, "interior-point", tol=1e-9)
    np.testing.assert_allclose(solution.z, perp.solve(problem, tol=1e-9).z, atol=1e-6)


def test_four_feet_of_a_table_are_redundant_and_still_solved():
    J = np.vstack([np.hstack([np.eye(3), np.cross(np.eye(3), foot)]) for foot in (
        [1, 1, -1], [-1, 1, -1], [-1, -1, -1], [1, -1, -1])])  # fmt: skip
    J = J.reshape(4, 3, 6)[:, [2, 0, 1]].reshape(12, 6)
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ np.array([0.05, 0.0, -0.1, 0.0, 0.0, 0.01]), 0.3)
    assert np.linalg.matrix_rank(problem.W) < problem.size
    assert perp.solve(problem, "interior-point").residual <= 1e-8


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_matrix_that_is_not_symmetric_is_taken_as_it_is(relaxed):
    W = np.eye(3)
    W[0, 1] = 0.5
    problem = perp.ContactProblem.coulomb(W, PULL, 0.5, relaxed=relaxed)
    solution = perp.solve(problem, "interior-point")
    np.testing.assert_allclose(solution.z, perp.solve(problem, "newton").z, atol=1e-7)


@pytest.mark.parametrize("relaxed", [False, True])
def test_two_thousand_redundant_contacts_are_no_dense_matrix(relaxed):
    columns, layers = 50, 10
    problem = perp.Simulation(wall(columns, layers), step=0.005).contact_problem()
    assert problem.contact_count == 4 * columns * layers
    problem = problem.as_relaxed() if relaxed else problem
    solution = perp.solve(problem, "interior-point")
    assert solution.residual <= 1e-8
    # four contacts carry the cubes above them: momentum m g h for each
    normal = solution.z[::3].reshape(-1, 4).sum(axis=1)
    weight = 1.0 * 9.81 * 0.005
    np.testing.assert_allclose(
        np.sort(normal), weight * np.repeat(np.arange(1, layers + 1), columns), rtol=1e-6
    )
