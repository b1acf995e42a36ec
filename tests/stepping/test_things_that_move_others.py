"""Belts, adhesion and mocap bodies: what moves others without being moved."""

from __future__ import annotations

import numpy as np
import pytest

import perp

GRAVITY = 9.81
BELT = """
<mujoco>
  <worldbody>
    <geom name="belt" type="plane" size="9 9 1" friction="0.4" {speed}/>
    <body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2" friction="0.4"/></body>
  </worldbody>
</mujoco>
"""
CEILING = """
<mujoco>
  <worldbody>
    <geom name="ceiling" type="box" size="1 1 0.1" pos="0 0 1"/>
    <body name="box" pos="0 0 0.8"><freejoint/><geom name="shape" type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
  <actuator><adhesion name="glue" body="box" gain="30" ctrlrange="0 1"/></actuator>
</mujoco>
"""
HAND = """
<mujoco>
  <worldbody>
    <body name="hand" mocap="true" pos="0 0 1"/>
    <body name="load" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
  <equality><weld body1="load" body2="hand"/></equality>
</mujoco>
"""
PADDLE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="9 9 1" friction="0.3"/>
    <body name="paddle" mocap="true" pos="-0.25 0 0.1"><geom type="box" size="0.1 0.1 0.1"/></body>
    <body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1" friction="0.3"/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("by_name", [False, True])
def test_a_belt_carries_a_box_along(coordinates: str, *, by_name: bool) -> None:
    speed, step = 0.5, 0.001
    text = BELT.format(speed="" if by_name else f'surfacevel="{speed} 0 0"')
    sim = perp.Simulation(text, step=step, coordinates=coordinates)
    assert not sim.report.ignored
    if by_name:
        sim.set_surface_velocity("belt", (speed, 0.0, 0.0))
    sim.run(0.4)
    # It slides until it is as fast as the belt, then it rides.
    slipping = speed / (0.4 * GRAVITY)
    expected = speed * (0.4 - slipping) + speed * slipping / 2
    assert sim.body("box").velocity[0] == pytest.approx(speed, abs=1e-9)
    assert sim.body("box").position[0] == pytest.approx(expected, abs=speed * step)
    sim.set_surface_velocity("belt", (0.0, 0.0, 0.0))
    sim.run(0.4)
    assert sim.body("box").velocity[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("signal", "holds"), [(0.34, True), (1.0, True), (0.31, False), (0.0, False)])
def test_adhesion_holds_up_to_its_force(signal: float, *, holds: bool) -> None:
    sim = perp.Simulation(CEILING, step=0.005, coordinates="reduced")
    assert not sim.report.ignored
    sim.ctrl = [signal]
    sim.run(0.2)
    assert sim.last.met
    fallen = 0.8 - sim.body("box").position[2]
    if holds:
        assert abs(fallen) < 1e-9
        total = sum(contact.force[2] for contact in sim.contacts())
        assert abs(total) == pytest.approx(GRAVITY, rel=1e-6)  # what the ceiling gives in all
    else:
        assert fallen > 0.01


def test_adhesion_adds_to_what_friction_can_hold() -> None:
    # A pull along the ceiling of 6 N: friction is 1 × (F − m g), and holds with F = 20 N but not with 12 N.
    for force, holds in ((20.0, True), (12.0, False)):
        sim = perp.Simulation(CEILING, step=0.005, coordinates="reduced")
        sim.ctrl = [force / 30.0]
        sim.wrench = [[6.0, 0.0, 0.0, 0.0, 0.6, 0.0]]  # acts where the contact is
        sim.run(0.1)
        moved = np.abs(sim.body("box").position - [0.0, 0.0, 0.8]).max()
        assert moved < 1e-9 if holds else moved > 1e-3


def test_what_a_mocap_body_holds_follows_it() -> None:
    sim = perp.Simulation(HAND, step=0.005, coordinates="reduced")
    assert not sim.report.ignored
    for k in range(1, 41):
        sim.set_mocap("hand", (0.001 * k, 0.0, 1.0 + 0.0005 * k))
        assert sim.step().met
        np.testing.assert_allclose(sim.body("load").position, [0.001 * k, 0.0, 1.0 + 0.0005 * k], atol=1e-7)
    kept = sim.snapshot()
    sim.set_mocap("hand", (0.041, 0.0, 1.02))
    sim.step()
    sim.restore(kept)
    sim.step()
    np.testing.assert_allclose(sim.body("load").position, [0.04, 0.0, 1.02], atol=1e-7)


def test_a_mocap_body_pushes() -> None:
    sim = perp.Simulation(PADDLE, step=0.005)
    assert sim.coordinates == "reduced"
    for k in range(1, 241):
        sim.set_mocap("paddle", (-0.25 + 0.0004 * k, 0.0, 0.1))
        sim.step()
    assert sim.body("box").position[0] == pytest.approx(-0.25 + 0.096 + 0.2, abs=1e-3)


def test_maximal_coordinates_say_that_mocap_bodies_stay() -> None:
    sim = perp.Simulation(PADDLE, coordinates="maximal")
    assert "reduced coordinates" in str(sim.report)
    with pytest.raises(perp.PerpError, match="choose reduced ones"):
        sim.set_mocap("paddle", (0, 0, 0))


def test_wrong_names_are_told() -> None:
    sim = perp.Simulation(HAND, coordinates="reduced")
    with pytest.raises(perp.PerpError, match="'load' is no mocap body; the scene has hand"):
        sim.set_mocap("load", (0, 0, 0))
    with pytest.raises(perp.PerpError, match="belt"):
        sim.set_surface_velocity("belt", (1, 0, 0))
