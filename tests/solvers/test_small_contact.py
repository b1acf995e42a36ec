"""The short way through `solve`: the same answers, verdicts and refusals as the long one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp
from perp.solvers.attempt import Control
from perp.solvers.auto_contact import solve_contact
from perp.solvers.small_contact import solve_small


def contacts(seed: int, count: int, *, dense: bool, relaxed: bool = False) -> perp.ContactProblem:
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * count, 3 * count + 6))
    W = J @ J.T
    sets = [perp.Coulomb(0.4), perp.Elliptic(0.2, 0.7), perp.Coulomb(0.0)] * count
    return perp.ContactProblem(
        W if dense else csr_array(W), J @ rng.normal(size=3 * count + 6), sets[:count], relaxed=relaxed
    )


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_residual_is_the_shared_one_to_the_last_bit(count, dense, relaxed):
    for seed in range(20):
        problem = contacts(seed, count, dense=dense, relaxed=relaxed)
        solution, _ = solve_small(problem, 1e-8)
        if solution is None:
            continue
        assert solution.residual == perp.residual(problem, solution.z)
        assert solution.status is perp.Status.SOLVED
        np.testing.assert_allclose(solution.w, problem.W @ solution.z + problem.q, atol=1e-12)


def test_the_long_way_gives_the_same_impulses():
    for seed in range(10):
        problem = contacts(seed, 3, dense=False)
        short = perp.solve(problem)
        control = Control(lambda z, problem=problem: perp.residual(problem, z), tol=1e-8)
        long = solve_contact(problem, control)
        # W is positive definite, so that there is one answer; both are within the tolerance of it
        np.testing.assert_allclose(short.z, long.z, rtol=1e-6, atol=1e-7 * np.abs(long.z).max())


def test_a_solution_of_the_short_way_has_everything():
    solution = perp.solve(contacts(1, 2, dense=True))
    assert solution.solver == "block-gauss-seidel"
    assert solution.info["stages"][0]["iterations"] == solution.iterations
    assert solution.residuals.literature < 1e-8
    assert solution.solve_time > 0.0
    assert solution.impulse is solution.z
    assert "SOLVED" in repr(solution)


def rolling_contacts(seed: int, *, dense: bool) -> perp.ContactProblem:
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(9, 12))
    J[3:5] *= 10.0  # rolling rates are larger numbers than velocities
    sets = [perp.Rolling(0.5, 0.02), perp.Coulomb(0.3), perp.Nonnegative()]
    W = J @ J.T
    return perp.ContactProblem(W if dense else csr_array(W), J @ rng.normal(size=12), sets)


@pytest.mark.parametrize("dense", [False, True])
def test_rolling_contacts_are_measured_in_their_own_lengths(dense):
    solved = 0
    for seed in range(20):
        problem = rolling_contacts(seed, dense=dense)
        solution, _ = solve_small(problem, 1e-8)
        if solution is not None:
            solved += 1
            assert solution.residual == perp.residual(problem, solution.z)
    assert solved > 5


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_kept_with_a_problem_changes_no_bit(dense):
    for seed in range(10):
        problem = contacts(seed, 3, dense=dense)
        first, again = perp.solve(problem, throw=False), perp.solve(problem, throw=False)
        fresh = perp.solve(contacts(seed, 3, dense=dense), throw=False)
        assert first.z.tobytes() == again.z.tobytes() == fresh.z.tobytes()
        assert first.w.tobytes() == again.w.tobytes() == fresh.w.tobytes()
        assert again.z is not first.z


def test_a_relaxation_of_a_solved_problem_is_solved_as_one():
    differs = 0
    for seed in range(10):
        exact = contacts(seed, 2, dense=True)
        perp.solve(exact, throw=False)
        relaxed = exact.as_relaxed()
        fresh = contacts(seed, 2, dense=True, relaxed=True)
        answer = perp.solve(relaxed)
        assert answer.z.tobytes() == perp.solve(fresh).z.tobytes()
        differs += perp.residual(exact, answer.z) > 1e-3
    assert differs > 2


def test_a_column_of_zeros_is_weighed_as_everywhere():
    W = np.diag([2.0, 0.0, 1.0, 3.0])
    problem = perp.ContactProblem(
        W, [-1.0, 0.3, 0.2, -1.0], [perp.Coulomb(0.5, dimension=3), perp.Nonnegative()]
    )
    solution = perp.solve(problem, throw=False)
    assert solution.residual == perp.residual(problem, solution.z)


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan, np.inf, "x"])
def test_bad_tolerances_are_refused(tol):
    with pytest.raises(perp.ProblemError, match="tol"):
        perp.solve(contacts(1, 1, dense=True), tol=tol)


def test_no_constraint_at_all():
    problem = perp.ContactProblem(np.zeros((0, 0)), np.zeros(0), [])
    assert perp.solve(problem).status is perp.Status.SOLVED


def planar_answers(W: np.ndarray, q: np.ndarray, mu: float) -> int:
    """How many of the cases open, stick, slip left, slip right of one planar contact are consistent."""
    found = int(q[0] >= 0.0)
    if abs(np.linalg.det(W)) > 1e-9:
        normal, tangent = np.linalg.solve(W, -q)
        found += normal >= 0.0 and abs(tangent) <= mu * normal
    for sign in (1.0, -1.0):
        slope = W[0, 0] + sign * mu * W[0, 1]
        if abs(slope) > 1e-9:
            normal = -q[0] / slope
            slip = (W[1] @ [normal, sign * mu * normal]) + q[1]
            found += normal >= 0.0 and sign * slip <= 0.0
    return int(found)


def test_painleve_contacts_without_an_answer_are_never_called_solved():
    # one planar contact whose W is not positive definite, as constraint-level linearisations of a sliding rod
    # give (Génot and Brogliato 1999): all cases are enumerated, and some have no consistent one
    rng = np.random.default_rng(7)
    none = several = missed = 0
    for _ in range(400):
        W = rng.normal(size=(2, 2)) + np.diag([0.5, 0.5])
        q, mu = rng.normal(size=2), float(rng.uniform(0.2, 3.0))
        problem = perp.ContactProblem.coulomb(W, q, mu, dimension=2)
        answers = planar_answers(W, q, mu)
        solution = perp.solve(problem, throw=False, max_iterations=500)
        assert solution.solved == (perp.residual(problem, solution.z) <= 1e-8)
        assert np.isfinite(solution.z).all()
        if answers == 0:
            none += 1
            assert not solution.solved
        several += answers > 1
        missed += answers > 0 and not solution.solved
    assert none > 20
    assert several > 20
    assert missed == 0


def test_a_wedge_has_any_squeeze_as_an_answer_and_each_start_keeps_its_own():
    # two opposing frictional walls on one body: every squeeze that holds the weight is a solution
    normal, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    J = np.vstack([normal, up, -normal, up])
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ np.array([0.0, -0.2]), 0.9, dimension=2)
    for squeeze in (0.2, 1.0, 50.0):
        start = np.array([squeeze, 0.1, squeeze, 0.1])
        solution = perp.solve(problem, start=start)
        assert solution.iterations <= 2
        np.testing.assert_allclose(solution.z, start, atol=1e-12)


@pytest.mark.parametrize("relaxed", [False, True])
def test_steps_after_sweeps_are_the_first_ones_of_proximal_point(relaxed):
    rng = np.random.default_rng(5)
    stepped = 0
    for _ in range(300):
        count = int(rng.integers(3, 7))
        J = rng.normal(size=(3 * count, 2 * count))
        problem = perp.ContactProblem.coulomb(J @ J.T, J @ rng.normal(size=2 * count), 0.5, relaxed=relaxed)
        solution = perp.solve(problem, throw=False)
        if solution.solver != "proximal-point" or len(solution.info["stages"]) > 2:
            continue
        control = Control(lambda z, problem=problem: perp.residual(problem, z), tol=1e-8)
        attempt = solve_contact(problem, control)
        stepped += 1
        assert solution.residual == perp.residual(problem, solution.z)
        ends = [info["stages"][-1]["iterations"] for info in (attempt.info, solution.info)]
        assert ends[0] == ends[1]
        np.testing.assert_allclose(attempt.z, solution.z, atol=1e-9)
    assert stepped > 3
