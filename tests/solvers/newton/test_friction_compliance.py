"""Fischer–Burmeister with the friction compliance: closed forms, other solvers, the traps of the sources."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.solvers.newton.friction_compliance import _conjugate_residual

LINEAR = pytest.mark.parametrize("linear_solver", ["factors", "conjugate-residual"])


def random_contacts(rng, mu):
    count = int(rng.integers(1, 10))
    size = 3 * count
    J = rng.standard_normal((size, int(rng.integers(6, size + 7))))
    q = J @ rng.standard_normal(J.shape[1])
    return perp.ContactProblem.coulomb(J @ J.T, q, mu)


@LINEAR
def test_velocities_are_those_of_another_newton(linear_solver):
    rng = np.random.default_rng(1)
    solved = 0
    for _ in range(20):
        problem = random_contacts(rng, 0.3)
        solution = perp.solve(
            problem, "fischer-burmeister", options={"linear_solver": linear_solver}, throw=False, tol=1e-9
        )
        if solution.solved:
            other = perp.solve(problem, "newton", start=solution.impulse, tol=1e-11)
            assert solution.velocity == pytest.approx(other.velocity, abs=1e-6 * np.abs(problem.q).max())
        solved += solution.solved
    assert solved >= 18


@LINEAR
@pytest.mark.parametrize("push", [0.3, 0.7])
def test_a_block_that_sticks_and_one_that_slides(linear_solver, push):
    """W = I, μ = 0.5, unit approach: friction holds a push of 0.3 and leaves 0.2 of one of 0.7."""
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.6 * push, 0.8 * push], 0.5)
    solution = perp.solve(problem, "fischer-burmeister", tol=1e-12, options={"linear_solver": linear_solver})
    assert solution.velocity[0] == pytest.approx(0.0, abs=1e-12)
    assert np.hypot(*solution.velocity[1:]) == pytest.approx(max(push - 0.5, 0.0), abs=1e-11)
    assert solution.impulse[1:] == pytest.approx(-min(push, 0.5) * np.array([0.6, 0.8]), abs=1e-11)


def test_every_kind_of_set():
    rng = np.random.default_rng(3)
    sets = [
        perp.Free(), perp.Nonnegative(), perp.Box(-0.2, 0.3), perp.Box(-np.inf, 0.1), perp.Coulomb(0.4),
        perp.Coulomb(0.4, dimension=2), perp.Elliptic(0.2, 0.7), perp.Elliptic(0.2, 0.7, 0.1), perp.Rolling(0.5, 0.1),
        perp.Coulomb(0.0),
    ]  # fmt: skip
    rows = sum(one.dimension for one in sets)
    J = rng.standard_normal((rows, rows + 6))
    problem = perp.ContactProblem(J @ J.T, J @ rng.standard_normal(rows + 6), sets)
    assert perp.solve(problem, "fischer-burmeister", tol=1e-9).residual <= 1e-9


@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize("step", [0.01, 0.001])
def test_the_resting_force_is_the_weight_at_any_step(level, step):
    """A smoothing inside the root would make it 18.6 N at 2 ms and 40 N at 1 ms (trap 1 of the notes)."""
    sim = perp.Simulation(
        library.box_on_plane(friction=0.5), step=step, level=level, solver="fischer-burmeister"
    )
    records = [sim.step() for _ in range(3)]
    assert all(record.met for record in records)
    assert records[-1].contact_forces().sum(axis=0)[2] == pytest.approx(9.81, rel=1e-6)


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_box_below_the_friction_angle_does_not_creep(level):
    """A floor on the sliding speed would make it creep (trap 3)."""
    slope = 0.5 * np.arctan(0.6)
    sim = perp.Simulation(
        library.box_on_plane(friction=0.6, slope=slope), step=0.01, level=level, solver="fischer-burmeister",
        solver_options={"linear_solver": "conjugate-residual"},
    )  # fmt: skip
    start = sim.body("box").position.copy()
    assert all(sim.step().met for _ in range(20))
    assert np.abs(sim.body("box").position - start).max() < 1e-9


def test_conjugate_residual_solves_its_system():
    rng = np.random.default_rng(4)
    J = rng.standard_normal((12, 20))
    D, right = rng.random(12), rng.standard_normal(12)
    x = _conjugate_residual(J @ J.T, D, right)
    assert x == pytest.approx(np.linalg.solve(J @ J.T + np.diag(D), right), rel=1e-9)


def test_what_it_does_not_take_is_said():
    problem = random_contacts(np.random.default_rng(0), 0.5).as_relaxed()
    with pytest.raises(perp.SolverMismatch, match="relaxation"):
        perp.solve(problem, "fischer-burmeister")
    with pytest.raises((perp.SolverError, ValueError), match="linear_solver"):
        perp.solve(problem, "fischer-burmeister", options={"linear_solver": "magic"})


def test_a_start_that_nearly_meets_the_tolerance_is_no_measure_of_the_steps_from_it():
    """A sliding box on four corners: the last step's impulses are off by 1e-9, and the first step leaves them."""
    sim = perp.Simulation(
        library.box_on_plane(friction=0.5), step=0.005, level="velocity", solver="fischer-burmeister"
    )
    sim.body("box").set_velocity([1.0, 0.5, 0.0], [0, 0, 0])
    assert all(sim.step().met for _ in range(60))
