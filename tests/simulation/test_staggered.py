"""Velocities half a step back: positions of second order, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

G = library.GRAVITY
COORDINATES = pytest.mark.parametrize("coordinates", ["reduced", "maximal"])


def in_the_air(height: float, coordinates: str) -> perp.Simulation:
    text = library.sphere_on_plane(height=height)
    return perp.Simulation(text, step=0.01, coordinates=coordinates)


@COORDINATES
def test_a_fall_is_exact(coordinates):
    sim = in_the_air(2.0, coordinates)
    start = sim.body("sphere").position[2]
    sim.stagger()
    sim.run(0.4)
    assert sim.body("sphere").position[2] == pytest.approx(start - 0.5 * G * 0.4**2, abs=1e-12)
    assert sim.qvel[2] == pytest.approx(-G * 0.395, abs=1e-12)  # half a step behind


@COORDINATES
def test_a_sliding_cube_stops_where_it_should(coordinates):
    """v² / (2 μ g), to the second order: 3e-5 m in steps of 10 ms, where it is 3 cm otherwise."""
    sim = perp.Simulation(library.box_on_plane(friction=0.5), step=0.01, coordinates=coordinates)
    sim.body("box").set_velocity((6, 0, 0))
    sim.stagger()
    sim.run(1.4)
    assert sim.body("box").position[0] == pytest.approx(36 / G, abs=3e-5)


def test_errors_of_a_pendulum_fall_with_the_square_of_the_step():
    ends = {}
    for h in (0.02, 0.01, 0.0005):
        sim = perp.Simulation(library.chain(2, joint="hinge"), step=h)
        sim.stagger()
        sim.run(0.6)
        ends[h] = sim.body("link1").position.copy()
    long, short = (np.linalg.norm(ends[h] - ends[0.0005]) for h in (0.02, 0.01))
    assert 3.5 < long / short < 4.5


def test_what_rests_stays_at_rest():
    sim = perp.Simulation(library.box_on_plane(), step=0.01)
    sim.run(0.1)
    sim.stagger()
    assert abs(sim.qvel).max() < 1e-9


def test_an_impact_in_the_first_step_is_refused():
    sim = in_the_air(0.01, "maximal")
    sim.body("sphere").set_velocity((0, 0, -3))
    before = sim.qvel
    with pytest.raises(perp.ProblemError, match="hits something in the first step"):
        sim.stagger()
    np.testing.assert_array_equal(sim.qvel, before)
