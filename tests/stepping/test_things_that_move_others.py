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
@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_adhesion_holds_up_to_its_force(coordinates: str, signal: float, *, holds: bool) -> None:
    sim = perp.Simulation(CEILING, step=0.005, coordinates=coordinates)
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


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_adhesion_adds_to_what_friction_can_hold(coordinates: str) -> None:
    # A pull along the ceiling of 6 N: friction is 1 × (F − m g), and holds with F = 20 N but not with 12 N.
    for force, holds in ((20.0, True), (12.0, False)):
        sim = perp.Simulation(CEILING, step=0.005, coordinates=coordinates)
        sim.ctrl = [force / 30.0]
        sim.wrench = [[6.0, 0.0, 0.0, 0.0, 0.6, 0.0]]  # acts where the contact is
        sim.run(0.1)
        moved = np.abs(sim.body("box").position - [0.0, 0.0, 0.8]).max()
        assert moved < 1e-9 if holds else moved > 1e-3


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_what_a_mocap_body_holds_follows_it(coordinates: str) -> None:
    sim = perp.Simulation(HAND, step=0.005, coordinates=coordinates)
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


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_mocap_body_pushes(coordinates: str) -> None:
    sim = perp.Simulation(PADDLE, step=0.005, coordinates=coordinates)
    assert not sim.report.ignored
    for k in range(1, 241):
        sim.set_mocap("paddle", (-0.25 + 0.0004 * k, 0.0, 0.1))
        sim.step()
    assert sim.body("box").position[0] == pytest.approx(-0.25 + 0.096 + 0.2, abs=1e-3)


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_mocap_body_turns_what_it_holds(coordinates: str) -> None:
    sim = perp.Simulation(HAND, step=0.005, coordinates=coordinates)
    for k in range(1, 101):
        angle = 0.004 * k
        sim.set_mocap("hand", (0.0, 0.0, 1.0), (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0))
        assert sim.step().met
    np.testing.assert_allclose(sim.body("load").quaternion, [np.cos(0.2), 0.0, np.sin(0.2), 0.0], atol=1e-7)


@pytest.mark.parametrize("actuator", ["motor", "position", "velocity"])
def test_damping_of_a_motor(actuator: str) -> None:
    # 2 kg m² on a hinge without gravity: the damping of the motor is that of the joint.
    extra = {"motor": "", "position": 'kp="3"', "velocity": 'kv="1"'}[actuator]
    text = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="wheel"><joint name="axle" axis="0 0 1"
        {{0}}/><inertial pos="0 0 0" mass="1" diaginertia="2 2 2"/></body></worldbody>
        <actuator><{actuator} name="drive" joint="axle" {extra} {{1}}/></actuator></mujoco>"""
    speeds = []
    for coordinates in ("maximal", "reduced"):
        for places in (('damping="0.8"', ""), ("", 'damping="0.8"')):
            sim = perp.Simulation(text.format(*places), step=0.01, coordinates=coordinates)
            assert not sim.report.ignored
            sim.ctrl = [1.5]
            sim.run(1.0)
            speeds.append(sim.joint("axle").velocity)
    assert abs(speeds[0]) > 0.1
    np.testing.assert_allclose(speeds, speeds[0], rtol=1e-9)


def test_wrong_names_are_told() -> None:
    sim = perp.Simulation(HAND, coordinates="reduced")
    with pytest.raises(perp.PerpError, match="'load' is not a mocap body; the scene has hand"):
        sim.set_mocap("load", (0, 0, 0))
    with pytest.raises(perp.PerpError, match="belt"):
        sim.set_surface_velocity("belt", (1, 0, 0))


def test_a_mocap_body_out_of_reach_is_held_softly_and_said() -> None:
    arm = """
    <mujoco>
      <worldbody>
        <body name="hand" mocap="true" pos="1.5 0 0"/>
        <body name="upper"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/>
          <body name="lower" pos=".5 0 0"><joint axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/></body>
        </body>
      </worldbody>
      <equality><weld body1="lower" body2="hand" relpose=".5 0 0 1 0 0 0"/></equality>
    </mujoco>"""
    sim = perp.Simulation(arm, step=0.005, coordinates="reduced")
    assert "out of reach" in sim.start_note
    assert all(sim.step().met for _ in range(50))
    # it is pulled straight towards the hand, a metre from the shoulder
    np.testing.assert_allclose(sim.body("lower").position, [0.5, 0.0, 0.0], atol=1e-3)
