"""The assembled system of a step: forms agree, derivatives are derivatives, routes give the same step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.stepping.conjugate_residual import block_inverses, conjugate_residual
from perp.stepping.system import StepSystem


def tumbling_system(dense_rows: int = 1000) -> StepSystem:
    """A rover in the air over its step, wheels turning: joints, motors and contacts at once."""
    sim = perp.Simulation(library.rover(step_at=0.4), step=0.02, dense_rows=dense_rows)
    sim.set_control([5.0, -2.0, 3.0, 1.0])
    rng = np.random.default_rng(3)
    sim.state.velocity[:] = rng.normal(size=sim.state.velocity.shape)
    system, _ = sim.stepper._prepare(sim.state, 0.02, sim._wrench)
    return system


def test_dense_sparse_and_dynamics_form_agree() -> None:
    dense, sparse = tumbling_system(), tumbling_system(0)
    bias = dense.bias(None)
    reduced, dynamics = dense.problem(bias), dense.dynamics_problem(bias)
    assert np.abs(sparse.delassus.toarray() - dense.delassus).max() < 1e-13
    assert np.abs(dynamics.W.toarray() - dense.delassus).max() < 1e-10
    assert dynamics.q == pytest.approx(reduced.q, abs=1e-12)
    assert np.abs(dense.delassus - dense.delassus.T).max() < 1e-12
    assert dense.rows > 40


def test_a_velocity_level_problem_goes_to_any_solver_and_formulation() -> None:
    from perp.stepping.velocity_level import velocity_problem

    sim = perp.Simulation(library.box_on_plane(slope=0.2), step=0.01, level="velocity")
    system, _ = sim.stepper._prepare(sim.state, 0.01, sim._wrench)
    problem = velocity_problem(system)
    assert problem.dynamics is not None
    answers = [perp.solve(problem, name, tol=1e-9) for name in ("auto", "block-gauss-seidel")]
    total = [answer.z[0::3].sum() for answer in answers]
    assert total == pytest.approx([9.81 * 0.01 * np.cos(0.2)] * 2, rel=1e-8)


def test_the_exact_derivative_is_that_of_the_row_velocities() -> None:
    system = tumbling_system()
    rng = np.random.default_rng(5)
    impulse = 0.1 * rng.normal(size=system.rows)

    def rows(x: np.ndarray) -> np.ndarray:
        u = system.body_velocity(x)
        return system.row_velocity(u) + system.bias(u) + system.compliance * x

    matrix = system.derivative(system.body_velocity(impulse))
    for _ in range(5):
        d = rng.normal(size=system.rows)
        slope = (rows(impulse + 1e-6 * d) - rows(impulse - 1e-6 * d)) / 2e-6
        assert slope == pytest.approx(matrix @ d, rel=1e-5, abs=1e-6)
    # and the symmetric matrix is not
    assert np.abs(matrix - system.delassus).max() > 1e-3


@pytest.mark.parametrize("whole", [True, False])
def test_conjugate_residual_solves_the_schur_complement(whole: bool) -> None:
    system = tumbling_system()
    rng = np.random.default_rng(1)
    diagonal = system.compliance + 0.1 * system.delassus.diagonal()
    A = system.delassus + np.diag(diagonal - system.compliance)
    b = rng.normal(size=system.rows)
    blocks = np.zeros((system.start.size - 1, 5, 5))
    block_inverses(system.bodies, system.jacobian, system.weighed, diagonal, system.start, whole, blocks)
    x = np.empty(system.rows)
    count = conjugate_residual(
        system.bodies, system.jacobian, system.inverse, diagonal, blocks, system.start, b, 1e-12, 1000, x
    )
    assert count < 300
    assert x == pytest.approx(np.linalg.solve(A, b), rel=1e-6, abs=1e-9 * np.abs(x).max())


@pytest.mark.parametrize("scene", ["stack", "slide", "rover"])
def test_both_routes_give_the_same_motion(scene: str) -> None:
    ends = []
    routes: list[Any] = [{"route": "sequence"}, {"route": "newton"}, {"route": "newton", "ncp": "minimum"}]
    for options in routes:
        if scene == "rover":
            sim = perp.Simulation(library.rover(), step=0.02, **options)
            sim.set_control([2.0] * 4)
        elif scene == "slide":
            sim = perp.Simulation(library.box_on_plane(), step=0.02, **options)
            sim.body("box").set_velocity((2.0, 0.5, 0))
        else:
            sim = perp.Simulation(library.stack(3), step=0.02, **options)
            sim.body("box2").set_velocity((0.4, 0, 0))
        sim.run(0.2)
        ends.append(np.concatenate([sim.state.position.ravel(), sim.state.velocity.ravel()]))
    assert ends[1] == pytest.approx(ends[0], abs=2e-6)
    assert ends[2] == pytest.approx(ends[0], abs=2e-6)


def test_the_same_simulation_gives_the_same_bits() -> None:
    ends = []
    for _ in range(2):
        sim = perp.Simulation(library.stack(4), step=0.01)
        sim.body("box3").set_velocity((0.5, 0.1, 0), (0, 0, 2))
        sim.run(0.2)
        ends.append(sim.state.position.tobytes() + sim.state.velocity.tobytes())
    assert ends[0] == ends[1]


def test_settings_reach_the_stepper() -> None:
    sim = perp.Simulation(library.box_on_plane(), step=0.01, tolerance=1e-6, level="velocity", correction=0.5)
    assert sim.stepper.settings == replace(sim.stepper.settings, tolerance=1e-6, correction=0.5)
    with pytest.raises(ValueError, match="speed"):
        perp.Simulation(library.box_on_plane(), step=0.01, level="speed")
    with pytest.raises(perp.ProblemError, match="step"):
        perp.Simulation(library.box_on_plane(), step=0.0)
