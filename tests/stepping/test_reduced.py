"""Generalised coordinates: the same physics as maximal ones, with mujoco's M(q) and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

LEG = """<mujoco><compiler angle="radian"/><worldbody>
  <geom name="ground" type="plane" size="5 5 1" friction="0.7 0 0"/>
  <body name="trunk" pos="0 0 0.45"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="4"/>
   <body name="thigh" pos="0.15 0 0"><joint name="hip" axis="0 1 0" damping="0.2" range="-1 1"
    armature="0.01"/><geom type="capsule" fromto="0 0 0 0.05 0 -0.2" size="0.02" mass="0.6"/>
    <body name="shank" pos="0.05 0 -0.2"><joint name="knee" axis="0 1 0" damping="0.1" frictionloss="0.05"
     range="-0.2 1"/><geom type="capsule" fromto="0 0 0 -0.05 0 -0.2" size="0.02" mass="0.3"/></body></body>
  </body></worldbody>
  <actuator><position joint="hip" kp="40" kv="1"/><position joint="knee" kp="40" kv="1" forcerange="-3 3"/>
  </actuator></mujoco>"""
CRANK = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0" damping="0.05"/>
   <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01" mass="0.5" contype="0" conaffinity="0"/>
   <body name="rod" pos="0.1 0 0"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.01" mass="0.5" contype="0" conaffinity="0"/></body></body>
  <body name="slider" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 0"/>
   <geom type="box" size="0.03 0.03 0.03" mass="0.4" contype="0" conaffinity="0"/></body></worldbody>
  <equality><connect body1="rod" body2="slider" anchor="0.3 0 0"/></equality></mujoco>"""


def end_of(text: str, coordinates: str, step: float, seconds: float, **options) -> np.ndarray:
    sim = perp.Simulation(text, step=step, coordinates=coordinates, **options)
    sim.run(seconds)
    return sim.state.position


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(library.chain(1, joint="hinge"), 0.4), (library.chain(3, joint="hinge"), 0.24), (CRANK, 0.24)],
    ids=["pendulum", "falling arm", "slider-crank"],
)
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_both_coordinates_agree_to_the_order_of_the_step(text: str, seconds: float, level: str) -> None:
    gap = [
        np.abs(
            end_of(text, "maximal", h, seconds, level=level)
            - end_of(text, "reduced", h, seconds, level=level)
        ).max()
        for h in (0.004, 0.002, 0.001)
    ]
    assert gap[0] < 0.02
    assert gap[1] < 0.65 * gap[0]
    assert gap[2] < 0.65 * gap[1]


def test_box_holds_and_slides_on_a_slope_as_coulomb_says() -> None:
    hold = perp.Simulation(library.box_on_plane(friction=0.5, slope=0.4), step=0.01, coordinates="reduced")
    hold.run(1.0)
    assert np.abs(hold.body("box").position - [0, 0, 0.05]).max() < 1e-10
    slide = perp.Simulation(library.box_on_plane(friction=0.3, slope=0.4), step=0.01, coordinates="reduced")
    slide.run(1.0)
    expected = 9.81 * (np.sin(0.4) - 0.3 * np.cos(0.4))
    assert slide.body("box").velocity[0] == pytest.approx(expected, rel=1e-9)


def test_a_leg_lands_and_stands_still_without_sinking() -> None:
    sim = perp.Simulation(LEG, step=0.005, coordinates="reduced")
    sim.run(3.0)
    before = sim.state.position.copy()
    recording = sim.run(1.0)
    assert np.abs(sim.state.position - before).max() < 1e-7
    assert recording.of("penetration").max() < 1e-9
    weight = sum(contact.force for contact in sim.contacts())
    assert weight == pytest.approx([0, 0, 4.9 * 9.81], abs=1e-4)


def test_limits_hold_and_dry_friction_stops() -> None:
    text = LEG.replace("<freejoint/>", "").replace("kp=", 'ctrllimited="false" kp=')
    sim = perp.Simulation(text, step=0.005, coordinates="reduced")
    sim.set_control([3.0, 0.0])
    sim.run(1.5)
    assert sim.state.qpos[0] == pytest.approx(1.0, abs=1e-9)
    assert np.abs(sim.state.qvel).max() < 1e-9


def test_setting_a_free_body_and_refusing_one_on_joints() -> None:
    sim = perp.Simulation(LEG, step=0.005, coordinates="reduced")
    trunk = sim.body("trunk")
    trunk.set_pose((1, 2, 3), (0.6, 0, 0.8, 0))
    trunk.set_velocity((0.1, 0.2, 0.3), (1, 2, 3))
    assert trunk.position == pytest.approx([1, 2, 3])
    assert trunk.quaternion == pytest.approx([0.6, 0, 0.8, 0])
    assert trunk.velocity == pytest.approx([0.1, 0.2, 0.3])
    assert trunk.angular_velocity == pytest.approx([1, 2, 3])
    with pytest.raises(perp.PerpError, match="body 'shank' moves by its joints"):
        sim.body("shank").set_velocity((0, 0, 0))


def test_an_external_wrench_moves_a_body_as_newton_says() -> None:
    text = library.scene(library.box("box", (0.1, 0.2, 0.3), (0, 0, 1), mass=2.0), gravity=(0.0, 0.0, 0.0))
    sim = perp.Simulation(text, step=0.01, coordinates="reduced")
    sim.body("box").apply(force=(2.0, 0, 0), torque=(0, 0, 0.1))
    sim.run(0.5)
    assert sim.body("box").velocity == pytest.approx([0.5, 0, 0])
    assert sim.body("box").angular_velocity[2] == pytest.approx(0.5 * 0.1 / (2.0 * (0.2**2 + 0.4**2) / 12))


def test_snapshots_of_generalised_coordinates_go_on_with_the_same_bits() -> None:
    sim = perp.Simulation(LEG, step=0.005, coordinates="reduced")
    sim.run(0.4, [0.1, -0.1])
    other = sim.copy()
    sim.run(0.2)
    recording = other.run(0.2)
    assert np.array_equal(sim.state.qpos, other.state.qpos)
    assert np.array_equal(sim.state.position, other.state.position)
    assert recording.control.shape == (40, 2)


def test_a_slider_jammed_in_a_slot_too_narrow_for_it_stays() -> None:
    text = """<mujoco><worldbody>
      <geom type="box" size="0.1 0.3 0.3" pos="0.19 0 0"/><geom type="box" size="0.1 0.3 0.3" pos="-0.19 0 0"/>
      <body><joint type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    </worldbody></mujoco>"""
    sim = perp.Simulation(text, step=0.005, coordinates="reduced")
    for _ in range(64):
        assert sim.step().penetration == pytest.approx(0.01)
    assert np.abs(sim.state.position).max() < 1e-9


@pytest.mark.parametrize("h", [1e-3, 2e-3, 5e-3])
def test_energy_of_a_double_pendulum_stays_with_the_bias_of_the_mean_velocity(h: float) -> None:
    sim = perp.Simulation(library.chain(2, joint="hinge", angle=2.0), step=h, coordinates="reduced")
    energy = [sim.step().energy for _ in range(round(5.0 / h))]
    # first order in the step, and it does not drift
    assert max(abs(value - energy[0]) for value in energy) < 100.0 * h
