"""The problem of a step: handed out, solved by anything, and the same bits every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import library

BOTH = ["maximal", "reduced"]


def tumbling(coordinates: str, **options: Any) -> perp.Simulation:
    sim = perp.Simulation(library.stack(3), step=0.02, coordinates=coordinates, **options)
    sim.body("box2").set_velocity((0.4, 0, 0))
    return sim


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_the_problem_of_the_next_step_has_its_velocities(
    coordinates: str, level: str, tmp_path: Path
) -> None:
    """Any solver of `perp.solve` finds the velocities that the step moves with, also from a file."""
    sim = perp.Simulation(library.box_on_plane(slope=0.2), step=0.01, coordinates=coordinates, level=level)
    sim.step()
    problem = sim.contact_problem()
    assert problem.dynamics is not None
    problem.save(tmp_path / "step.npz")
    state = sim.state.velocity.copy()
    sim.step()
    loaded = perp.load(tmp_path / "step.npz")
    assert isinstance(loaded, perp.ContactProblem)
    for solver in ("auto", "block-gauss-seidel"):
        solution = perp.solve(loaded, solver, tol=1e-10)
        velocity = problem.dynamics.body_velocity(solution.impulse)
        assert velocity == pytest.approx(np.zeros(6), abs=1e-8)
        assert solution.impulse[0::3].sum() == pytest.approx(9.81 * 0.01 * np.cos(0.2), rel=1e-7)
    assert sim.state.velocity == pytest.approx(state, abs=1e-8)


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("solver", ["auto", "proximal-point", "block-gauss-seidel"])
def test_any_exact_solver_drives_the_step_to_the_same_motion(coordinates: str, solver: str) -> None:
    ends = []
    for options in ({}, {"solver": solver}):
        sim = tumbling(coordinates, **options)
        sim.run(0.2)
        ends.append(np.concatenate([sim.state.position.ravel(), sim.state.velocity.ravel()]))
    assert ends[1] == pytest.approx(ends[0], abs=2e-6)


@pytest.mark.parametrize("coordinates", BOTH)
def test_levels_of_joints_and_contacts_may_differ(coordinates: str) -> None:
    scene = library.rover()
    levels = {"joints": "position", "contacts": "velocity"}
    sim = perp.Simulation(scene, step=0.01, coordinates=coordinates, level=levels)
    sim.run(0.2)
    assert sim.stepper.settings.at_end == (True, False)
    assert sim.last.joint_error < 1e-9
    with pytest.raises(perp.ProblemError, match="'joints' and 'contacts'"):
        perp.Simulation(scene, step=0.01, level={"feet": "velocity"})


@pytest.mark.parametrize("coordinates", BOTH)
def test_the_same_simulation_gives_the_same_bits(coordinates: str) -> None:
    ends = []
    for _ in range(2):
        sim = perp.Simulation(library.stack(4), step=0.01, coordinates=coordinates)
        sim.body("box3").set_velocity((0.5, 0.1, 0), (0, 0, 2))
        sim.run(0.2)
        ends.append(sim.state.position.tobytes() + sim.state.velocity.tobytes())
    assert ends[0] == ends[1]


def test_settings_reach_the_stepper_and_the_step_of_the_file_is_the_default() -> None:
    sim = perp.Simulation(library.box_on_plane(), step=0.01, tolerance=1e-6, level="velocity", correction=0.5)
    assert sim.stepper.settings == replace(sim.stepper.settings, tolerance=1e-6, correction=0.5)
    assert perp.Simulation(library.box_on_plane()).step_size == 0.002
    with pytest.raises(ValueError, match="speed"):
        perp.Simulation(library.box_on_plane(), step=0.01, level="speed")
    with pytest.raises(perp.ProblemError, match="step"):
        perp.Simulation(library.box_on_plane(), step=0.0)
