"""qpos, qvel, mass matrix, Jacobians and sensors, against mujoco's own and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes.engine import engine

ARM = """
<mujoco>
  <compiler autolimits="true"/>
  <option gravity="0 0 -10"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="base" pos="0 0 1"><freejoint name="root"/>
      <geom type="box" size="0.2 0.1 0.05" pos="0.02 0 0" mass="3"/>
      <body name="upper" pos="0.2 0 0"><joint name="shoulder" type="ball"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/>
        <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 1 0" range="-90 90"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.2 0.1 0" mass="0.5"/>
          <body name="tip" pos="0.2 0.1 0"><joint name="rod" type="slide" axis="1 0 0" range="-0.1 0.1"/>
            <geom size="0.04" mass="0.2"/><site name="tool" pos="0.1 0.02 0" euler="20 30 0"/></body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
COORDINATES = ("maximal", "reduced")


def pose() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    qpos = np.concatenate([[0.3, -0.2, 2.0], random.normal(size=4), random.normal(size=4), [0.7, 0.06]])
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    qpos[7:11] /= np.linalg.norm(qpos[7:11]) * np.sign(qpos[7])
    return qpos, random.normal(size=11)


def placed(coordinates: str) -> perp.Simulation:
    sim = perp.Simulation(ARM, coordinates=coordinates)
    sim.qpos, sim.qvel = pose()
    return sim


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_sites_are_where_mujoco_has_them(coordinates: str) -> None:
    sim, mujoco = placed(coordinates), engine()
    m = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = pose()
    mujoco.mj_forward(m, data)
    tool, turned, speed = sim.site("tool"), np.empty(4), np.empty(6)
    mujoco.mju_mat2Quat(turned, data.site("tool").xmat)
    mujoco.mj_objectVelocity(m, data, int(mujoco.mjtObj.mjOBJ_SITE), m.site("tool").id, speed, 0)
    assert (sim.site_names, tool.body) == (("tool",), "tip")
    assert tool.position == pytest.approx(data.site("tool").xpos)
    assert abs(tool.quaternion @ turned) == pytest.approx(1.0)
    assert sim.jacobian(tool.body, tool.position) @ sim.qvel == pytest.approx(np.roll(speed, 3))
    with pytest.raises(perp.SceneError, match="no site named 'tol'; there are: tool"):
        sim.site("tol")


@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl", "wrench"])
def test_writing_into_what_was_read_is_an_error(name: str) -> None:
    """Where it is lost otherwise: mujoco's users write `data.ctrl[:] = u`."""
    with pytest.raises(ValueError, match="read-only"):
        getattr(placed("reduced"), name)[:] = 0.0


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_qpos_and_qvel_are_those_of_mujoco(coordinates: str) -> None:
    sim = placed(coordinates)
    qpos, qvel = pose()
    sign = np.sign(sim.qpos[3:7] @ qpos[3:7])
    assert np.concatenate([sim.qpos[:3], sign * sim.qpos[3:7], sim.qpos[7:]]) == pytest.approx(qpos)
    assert sim.qvel == pytest.approx(qvel)
    mujoco = engine()
    m = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(m, data)
    assert sim.joint_names == ("root", "shoulder", "elbow", "rod")
    for name in sim.body_names:
        assert sim.body(name).position == pytest.approx(data.body(name).xpos)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(m, data, int(mujoco.mjtObj.mjOBJ_XBODY), m.body(name).id, velocity, 0)
        assert sim.body(name).velocity == pytest.approx(velocity[3:])
        assert sim.body(name).angular_velocity == pytest.approx(velocity[:3])
        # the Jacobian of the frame's origin gives the same velocity
        assert sim.jacobian(name) @ qvel == pytest.approx(np.roll(velocity, 3))
    dense = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, dense)
    assert sim.mass_matrix() == pytest.approx(dense)
    assert sim.bias_force() == pytest.approx(data.qfrc_bias)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_kinetic_energy_is_that_of_the_mass_matrix(coordinates: str) -> None:
    sim = placed(coordinates)
    energy = 0.5 * sim.qvel @ sim.mass_matrix() @ sim.qvel
    sim.step_size = 1e-9  # so short that nothing changes
    assert sim.step().kinetic_energy == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_joints_are_set_in_both_coordinates(coordinates: str) -> None:
    sim = placed(coordinates)
    sim.joint("elbow").set_position(-0.5)
    sim.joint("rod").set_velocity(0.25)
    sim.joint("shoulder").set_position([1, 1, 0, 0])
    assert sim.joint("elbow").position == pytest.approx(-0.5)
    assert sim.joint("rod").velocity == pytest.approx(0.25)
    assert sim.joint("rod").position == pytest.approx(0.06)
    assert np.abs(sim.joint("shoulder").position) == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0])
    sim.joint("root").set_position([1, 2, 3, 1, 0, 0, 0])
    assert sim.body("base").position == pytest.approx([1, 2, 3])
    sim.step()


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_poses_that_cannot_be_are_refused_and_change_nothing(coordinates: str) -> None:
    sim = placed(coordinates)
    before = sim.state.packed.copy()
    with pytest.raises(perp.PerpError, match=r"elbow at 2 \(limits -1.5708 and 1.5708\)"):
        sim.joint("elbow").set_position(2.0)
    with pytest.raises(perp.ProblemError, match="length zero"):
        sim.joint("shoulder").set_position([0, 0, 0, 0])
    with pytest.raises(perp.ProblemError, match="qpos has 3 entries: it needs 13"):
        sim.qpos = [1, 2, 3]
    with pytest.raises(perp.ProblemError, match=r"qvel\[4\] is nan"):
        sim.qvel = [0, 0, 0, 0, np.nan, *[0] * 6]
    with pytest.raises(perp.PerpError, match=r"'lower' (moves by its|hangs on) "):
        sim.body("lower").set_pose((0, 0, 5))
    assert np.array_equal(sim.state.packed, before)


def test_a_pose_that_opens_a_loop_is_refused() -> None:
    loop = ARM.replace(
        "</worldbody>",
        '</worldbody><equality><connect body1="tip" body2="base" anchor="0 0 0"/></equality>',
    )
    sim = perp.Simulation(loop, coordinates="reduced")
    before = sim.qpos
    with pytest.raises(perp.PerpError, match="opens joints by"):
        sim.joint("elbow").set_position(1.2)
    assert np.array_equal(sim.qpos, before)
    sim.joint("rod").set_position(1e-3)  # six digits are enough: what is small is put right
    assert sim.step().joint_error < 1e-9


def test_a_force_at_a_point_turns_a_body() -> None:
    scene = '<mujoco><option gravity="0 0 0"/><worldbody><body name="box"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody></mujoco>'
    sim = perp.Simulation(scene, step=0.001)
    sim.apply_force("box", (0, 3, 0), point=(0.1, 0, 0))
    sim.step()
    inertia = 2 * (0.2**2 + 0.2**2) / 12
    assert sim.body("box").velocity == pytest.approx([0, 3 / 2 * 0.001, 0], abs=1e-9)
    assert sim.body("box").angular_velocity == pytest.approx([0, 0, 0.3 / inertia * 0.001], rel=1e-6)
    sim.apply_force("box", (0, 0, 0))
    before = sim.qvel
    sim.step()
    assert sim.qvel == pytest.approx(before)
    with pytest.raises(perp.PerpError, match="there are: box"):
        sim.apply_force("ball", (0, 0, 1))


SENSORS = """
<mujoco>
  <option gravity="0 0 -10"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="stand" pos="0 0 0.1"><freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="2"/>
      <site name="foot" type="box" size="0.12 0.12 0.12"/>
      <body name="top" pos="0 0 0.1">
        <site name="neck"/>
        <geom type="box" size="0.05 0.05 0.05" pos="0 0 0.05" mass="0.5"/>
      </body>
      <body name="arm" pos="0.1 0 0.1"><joint name="hinge" axis="0 1 0" damping="0.2" limited="true" range="0 90"/>
        <geom size="0.01" pos="0.2 0 0" mass="0.1"/></body>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="hinge" kp="5"/></actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/>
    <accelerometer name="imu" site="foot"/>
    <touch name="press" site="foot"/>
    <force name="load" site="neck"/>
    <actuatorfrc name="effort" actuator="servo"/>
    <jointlimitfrc name="stop" joint="hinge"/>
  </sensor>
</mujoco>
"""


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_sensors_of_a_body_at_rest(coordinates: str) -> None:
    sim = perp.Simulation(SENSORS, step=0.002, coordinates=coordinates)
    assert "sensor stop" in str(sim.report)
    assert np.isnan(sim.sensor("imu")).all()
    sim.ctrl = [0.3]
    sim.run(1.5)
    assert sim.sensor_names == ("angle", "imu", "press", "load", "effort", "stop")
    angle = float(sim.joint("hinge").position)
    assert sim.sensor("angle") == pytest.approx([angle])
    assert sim.sensor("imu") == pytest.approx([0, 0, 10], abs=1e-3)
    assert sim.sensor("press") == pytest.approx([26.0], rel=1e-4)
    assert np.abs(sim.sensor("load")) == pytest.approx([0, 0, 5.0], abs=1e-3)
    assert sim.sensor("effort") == pytest.approx([5 * (0.3 - angle)])
    assert sim.sensor("effort") == pytest.approx([-0.1 * 10 * 0.2 * np.cos(angle)], rel=1e-3)
    assert np.isnan(sim.sensor("stop")).all()
    assert sim.sensordata.shape == (9 + 1,)
    with pytest.raises(perp.PerpError, match="there are: angle"):
        sim.sensor("eye")
