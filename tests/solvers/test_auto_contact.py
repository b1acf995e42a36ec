"""The default contact solver: closed forms, literature problems, random mixtures, warm starts, truth."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from files.shared_data import shared_files
from perp.bench.sets.random_contacts import random_problem

GRAVITY, STEP, MASS = 9.81, 0.01, 2.0


def block_on_slope(angle: float, mu: float) -> perp.ContactProblem:
    """A point mass at rest on a slope after one step of gravity: normal, down the slope, across."""
    pull = STEP * GRAVITY * np.array([-np.cos(angle), np.sin(angle), 0.0])
    return perp.ContactProblem.coulomb(np.eye(3) / MASS, pull, mu)


def test_block_on_slope_sticks_below_the_friction_angle():
    solution = perp.solve(block_on_slope(0.4, 0.6))
    weight = MASS * GRAVITY * STEP
    np.testing.assert_allclose(solution.z, weight * np.array([np.cos(0.4), -np.sin(0.4), 0.0]), atol=1e-12)
    np.testing.assert_allclose(solution.w, 0.0, atol=1e-12)


def test_block_on_slope_slides_with_the_acceleration_of_the_textbook():
    angle, mu = 0.8, 0.3
    solution = perp.solve(block_on_slope(angle, mu))
    expected = STEP * GRAVITY * (np.sin(angle) - mu * np.cos(angle))
    np.testing.assert_allclose(solution.w, [0.0, expected, 0.0], atol=1e-12)


def test_elliptic_friction_slides_against_the_ellipse_and_not_against_the_velocity():
    q = np.array([-1.0, 3.0, 4.0])
    problem = perp.ContactProblem(np.eye(3), q, perp.Sets([perp.Elliptic(0.2, 0.6)]))
    solution = perp.solve(problem)
    normal, friction = solution.z[0], solution.z[1:]
    scaled = np.array([0.2, 0.6]) ** 2 * solution.w[1:]
    assert np.hypot(friction[0] / 0.2, friction[1] / 0.6) == pytest.approx(normal, rel=1e-9)
    np.testing.assert_allclose(
        friction / np.linalg.norm(friction), -scaled / np.linalg.norm(scaled), atol=1e-8
    )


def test_relaxation_lifts_a_sliding_block_by_its_known_speed():
    problem = block_on_slope(0.8, 0.3)
    solution = perp.solve(problem.as_relaxed())
    slip = np.hypot(*solution.w[1:])
    assert solution.w[0] == pytest.approx(0.3 * slip, rel=1e-6)
    assert perp.residual(problem, solution.z) > 0.1


@pytest.mark.parametrize("file", shared_files("problems/*fc*.npz"))
def test_problems_of_siconos_to_1e_8_in_both_measures(file):
    if file.stem.endswith("07002_00801"):
        pytest.skip("14,004 rows: part of the benchmark")
    problem = perp.load(file)
    solution = perp.solve(problem)
    assert solution.residual <= 1e-8
    assert solution.residuals.literature <= 1e-8


def test_random_mixtures_of_all_sets_are_solved_or_said_not_to_be():
    unsolved = 0
    for seed in range(150):
        problem = random_problem(seed)
        solution = perp.solve(problem, throw=False)
        assert solution.solved == (perp.residual(problem, solution.z) <= 1e-8)
        assert np.isfinite(solution.z).all()
        unsolved += not solution.solved
    assert unsolved <= 2


def test_painleve_rod_without_a_solution_is_not_called_solved():
    # Génot and Brogliato 1999: mass ratio and angle where the normal response to sliding friction is negative
    # and every closed contact pushes itself further in; u_N = q_N < 0 cannot be stopped
    W = np.array([[1.0, -2.5], [-2.5, 6.0]])
    problem = perp.ContactProblem.coulomb(W, [-1.0, 0.5], 5.0, dimension=2)
    solution = perp.solve(problem, throw=False)
    assert solution.solved == (perp.residual(problem, solution.z) <= 1e-8)


def test_wedge_with_many_solutions_returns_one():
    # two opposing frictional walls on one body: any squeeze between them is a solution
    normal, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    J = np.vstack([normal, up, -normal, up])
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ np.array([0.1, -0.2]), 0.9, dimension=2)
    assert perp.solve(problem).residual <= 1e-8


def test_infeasible_squeeze_is_not_called_solved():
    J = np.array([[1.0], [-1.0]])
    problem = perp.ContactProblem(J @ J.T, -np.ones(2), perp.Sets([perp.Nonnegative(), perp.Nonnegative()]))
    solution = perp.solve(problem, throw=False, time_limit=2.0)
    assert not solution.solved
    assert np.isfinite(solution.z).all()


@pytest.mark.parametrize("seed", [2, 3, 11, 16])
def test_warm_start_from_the_solution_takes_at_most_two_iterations(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    assert perp.solve(problem, start=solution).iterations <= 2


def test_warm_start_from_a_perturbed_problem_takes_fewer_iterations_than_cold():
    cold = warm = 0
    for seed in (3, 11, 16, 20, 21):
        problem = random_problem(seed)
        near = perp.ContactProblem(problem.W, problem.q * (1 + 1e-6), problem.sets)
        cold += perp.solve(near).iterations
        warm += perp.solve(near, start=perp.solve(problem)).iterations
    assert warm < cold


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_mass_do_not_change_the_status(unit):
    problem = random_problem(11)
    scaled = perp.ContactProblem(problem.W * unit, problem.q, problem.sets)
    kinds = problem.sets.kinds()
    if "Box" in kinds:
        pytest.skip("bounds are impulses and would have to be scaled too")
    assert perp.solve(scaled).residual <= 1e-8


def test_same_bits_from_run_to_run():
    for seed in (5, 7, 40):
        problem = random_problem(seed)
        first, second = (perp.solve(problem, throw=False).z for _ in range(2))
        assert np.array_equal(first, second)


def test_limits_are_kept_and_the_history_falls():
    problem = random_problem(7)
    limited = perp.solve(problem, max_iterations=3, throw=False)
    assert limited.iterations <= 20
    assert limited.status in (perp.Status.ITERATION_LIMIT, perp.Status.SOLVED)
    full = perp.solve(problem, history=True)
    assert full.history is not None
    assert full.history.residuals[-1] <= 1e-8
