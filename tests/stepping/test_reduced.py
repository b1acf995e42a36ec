"""Generalised coordinates: the same physics as maximal ones, with mujoco's M(q) and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.dynamics.generalised import GeneralisedState
from perp.scenes import library
from perp.scenes.engine import engine
from perp.stepping import ReducedStepper

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


def generalised(sim: perp.Simulation) -> GeneralisedState:
    assert isinstance(sim.state, GeneralisedState)
    return sim.state


def system_of(sim: perp.Simulation):
    stepper = sim.stepper
    assert isinstance(stepper, ReducedStepper)
    return stepper, stepper._prepare(sim.state, sim.step_size, sim._wrench)[0]


def test_contact_rows_and_delassus_matrix_are_those_of_mujoco() -> None:
    mujoco = engine()
    sim = perp.Simulation(LEG, step=0.01, coordinates="reduced")
    rng = np.random.default_rng(1)
    qpos = generalised(sim).qpos + np.concatenate([[0, 0, -0.1], 0.2 * rng.normal(size=6)])
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    stepper = sim.stepper
    assert isinstance(stepper, ReducedStepper)
    sim.state = stepper.state_of(qpos, rng.normal(size=8), np.zeros(0), 0.0)
    stepper, system = system_of(sim)
    m, d = stepper.tree.mujoco_model, stepper.tree.start
    found = system.contacts
    assert found.count >= 1
    bodies = np.concatenate([stepper.tree.movable, [0]])
    dense = np.zeros((system.rows, m.nv))
    for i in range(system.rows):
        part = slice(system.arrays.begin[i], system.arrays.begin[i + 1])
        dense[i, system.arrays.column[part]] = system.arrays.value[part]
    for c in range(found.count):
        expected = np.zeros((3, m.nv))
        for side, sign in ((0, -1.0), (1, 1.0)):
            jac = np.zeros((3, m.nv))
            mujoco.mj_jac(m, d, jac, None, found.point[c], int(bodies[found.body[c, side]]))
            expected += sign * found.frame[c] @ jac
        assert dense[system.first[c] : system.first[c] + 3] == pytest.approx(expected, abs=1e-14)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    h, (K, D) = 0.01, (40.0, 1.0)
    M[6, 6] += h * 0.2 + h * D + h * h * K
    M[7, 7] += h * 0.1
    W = dense @ np.linalg.solve(M, dense.T) + np.diag(system.compliance)
    assert system.delassus == pytest.approx(W, abs=1e-12 * np.abs(W).max())


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
    assert generalised(sim).qpos[0] == pytest.approx(1.0, abs=1e-9)
    assert np.abs(generalised(sim).qvel).max() < 1e-9


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
    assert np.array_equal(generalised(sim).qpos, generalised(other).qpos)
    assert np.array_equal(sim.state.position, other.state.position)
    assert recording.control.shape == (40, 2)


def test_a_slider_jammed_in_a_slot_too_narrow_for_it_stays_and_is_not_pushed_apart_at_every_step() -> None:
    text = """<mujoco><worldbody>
      <geom type="box" size="0.1 0.3 0.3" pos="0.19 0 0"/><geom type="box" size="0.1 0.3 0.3" pos="-0.19 0 0"/>
      <body><joint type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    </worldbody></mujoco>"""
    sim = perp.Simulation(text, step=0.005, coordinates="reduced")
    retried = [bool(sim.step().retries) for _ in range(64)]
    # asked after 1, 2, 4, 8, … steps
    assert retried[0]
    assert sum(retried) <= 7
    assert np.abs(sim.state.position).max() < 1e-9
    snapshot = sim.snapshot()
    ahead = [bool(sim.step().retries) for _ in range(80)]
    sim.restore(snapshot)
    assert [bool(sim.step().retries) for _ in range(80)] == ahead
    assert any(ahead)


@pytest.mark.parametrize("h", [1e-3, 2e-3, 5e-3])
def test_energy_of_a_double_pendulum_stays_with_the_bias_of_the_mean_velocity(h: float) -> None:
    spread = {}
    for rounds in (0, 8):
        sim = perp.Simulation(
            library.chain(2, joint="hinge", angle=2.0), step=h, coordinates="reduced", bias_rounds=rounds
        )
        energy = [sim.step().energy for _ in range(round(5.0 / h))]
        spread[rounds] = max(abs(value - energy[0]) for value in energy)
    # first order in the step, and it does not drift
    assert spread[8] < 100.0 * h
    assert spread[8] < 0.5 * spread[0]
