"""Contact problems as the simulator makes them, in dynamics form: arches, cards, stacks and a pyramid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes.library import arch, box, card_house, plane, scene, stack

STEP = 0.005
QUADRUPED = Path(__file__).parents[2] / "examples" / "scenes" / "quadruped.xml"
FILES = Path(__file__).parents[1] / "data" / "problems"
GRAVITY = 9.81


def first_step(xml: str) -> perp.ContactProblem:
    """The contact problem of a scene's first step."""
    return perp.Simulation(xml, step=STEP).contact_problem()


def pyramid(layers: int, half: float = 0.05) -> str:
    """Cubes in triangular courses, each on two below."""
    cubes = "".join(
        box(f"box{k}_{i}", (half, half, half), (half * (2.2 * i + 1.1 * k), 0.0, half * (2 * k + 1)))
        for k in range(layers)
        for i in range(layers - k)
    )
    return scene(plane(0.5) + cubes)


def check(problem: perp.ContactProblem, solution: perp.Solution) -> None:
    """The residual, and that bodies at rest stay there.

    The corners of meshes are single precision: wedges close gaps of 1e-8 m within the step.
    """
    assert solution.residual <= 1e-8
    assert problem.dynamics is not None
    velocity = problem.dynamics.body_velocity(solution.z)
    assert np.abs(velocity).max() < 1e-3 * GRAVITY * STEP


@pytest.mark.parametrize("thickness", [0.15, 0.3])
@pytest.mark.parametrize("stones", [9, 13, 17, 21])
def test_auto_holds_an_arch_of_wedges(stones, thickness):
    problem = first_step(arch(stones, thickness))
    assert problem.dynamics is not None
    check(problem, perp.solve(problem))


def test_auto_holds_a_house_of_cards():
    problem = first_step(card_house())
    assert perp.solve(problem).residual <= 1e-8


@pytest.mark.parametrize(("count", "ratio"), [(2, 512.0), (10, 2.0)])
def test_auto_carries_a_load_512_times_as_heavy(count, ratio):
    problem = first_step(stack(count, ratio=ratio))
    solution = perp.solve(problem)
    check(problem, solution)
    weight = GRAVITY * STEP * sum(ratio**i for i in range(count))
    assert solution.z[::3].reshape(count, -1).sum(axis=1).max() == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize("layers", [5, 10])
def test_auto_holds_a_pyramid_of_cubes(layers):
    problem = first_step(pyramid(layers))
    check(problem, perp.solve(problem))


def test_admm_polishes_an_arch_that_it_would_not_reach():
    problem = first_step(arch(9, 0.3))
    plain = perp.solve(problem, "admm", throw=False, max_iterations=3000, options={"polish": False})
    assert not plain.solved
    assert not plain.info["polished"]
    solution = perp.solve(problem, "admm", max_iterations=3000)
    assert solution.info["polished"]
    check(problem, solution)


@pytest.mark.parametrize("solver", ["auto", "newton", "clarabel"])
def test_joints_of_a_falling_robot_have_no_velocity_but_round_off_and_are_solved(solver):
    # the servos' velocities are what is left of the trunk's: 1e-16 of it, which twice the digits resolve
    sim = perp.Simulation(QUADRUPED, step=STEP)
    for _ in range(3):
        problem = sim.contact_problem()
        assert np.abs(problem.q).max() < 1e-14
        assert perp.solve(problem, solver).residual <= 1e-8
        sim.step()


@pytest.mark.parametrize("name", ["fc3d__Capsules-i97-269", "fc3d__local_problem_test"])
def test_newton_goes_on_by_sweeps_where_no_step_lowers_its_merit(name):
    problem = perp.load(FILES / f"{name}.npz")
    assert perp.solve(problem, "newton", tol=1e-9).solved
    stuck = perp.solve(problem, "newton", throw=False, options={"restarts": 0})
    assert stuck.status is perp.Status.STALLED
