"""Bodies of a recording from qpos and qvel, against mujoco's own kinematics."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import perp
from perp.scenes.engine import engine

# Every kind of joint, two on one body, references, offsets, a fixed body on the way, turned inertias.
EVERY_JOINT = """<mujoco><worldbody>
<body name="fixed" pos="0.3 0.2 1" quat="0.9 0.1 0.3 0.2"><geom size="0.02"/>
  <body name="a" pos="0.1 0.2 0.3" euler="10 20 30">
    <joint type="slide" axis="1 2 3" ref="0.2"/><joint axis="0 1 1" pos="0.1 0 0.05" ref="30"/>
    <geom type="box" size="0.1 0.05 0.02" pos="0.05 0 0"/>
    <body name="welded" pos="0 0 0.1" euler="5 0 0"><geom type="box" size="0.01 0.01 0.02"/>
      <body name="b" pos="0.2 0 0" euler="40 0 0"><joint type="ball" pos="-0.1 0.02 0"/>
        <geom type="capsule" size="0.02 0.1" euler="10 50 0"/>
        <body name="c" pos="0.2 0.1 0"><joint axis="1 0 0"/><joint axis="0 1 0" pos="0 0.1 0"/>
          <geom type="box" size="0.05 0.03 0.1" euler="5 6 7" pos="0 0 -0.1"/></body></body></body></body></body>
<body name="free" pos="1 0 0.5" euler="170 10 0"><freejoint/><geom type="box" size="0.1 0.05 0.03" euler="33 12 80"/>
</body></worldbody></mujoco>"""

ON_MOCAP = """<mujoco><worldbody><body name="hand" mocap="true" pos="0 0 1"><geom size="0.02"/>
<body name="swing" pos="0 0 -0.1"><joint axis="0 1 0"/><geom type="capsule" size="0.02 0.1" pos="0 0 -0.1"/></body>
</body></worldbody></mujoco>"""


def test_bodies_of_a_file_are_where_mujoco_has_them(tmp_path: Path) -> None:
    sim = perp.Simulation(EVERY_JOINT, step=0.01, coordinates="reduced")
    sim.qvel = np.random.default_rng(0).normal(size=sim.qvel.size)
    sim.run(0.1, out=tmp_path / "run.h5")
    recording = perp.Recording.open(tmp_path / "run.h5")
    mujoco = engine()
    model = mujoco.MjModel.from_xml_string(EVERY_JOINT)
    data, spatial = mujoco.MjData(model), np.zeros(6)
    assert recording.body_names == ("a", "welded", "b", "c", "free")
    for k in range(len(recording)):
        data.qpos[:], data.qvel[:] = recording.qpos[k], recording.qvel[k]
        mujoco.mj_forward(model, data)
        for b, name in enumerate(recording.body_names):
            body = data.body(name)
            assert recording.positions[k, b] == pytest.approx(body.xpos, abs=1e-13)
            assert recording.quaternions[k, b] == pytest.approx(body.xquat, abs=1e-13)  # its sign as well
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body.id, spatial, 0)
            velocity = np.concatenate([spatial[3:], spatial[:3]])
            assert recording.velocities[k, b] == pytest.approx(velocity, abs=1e-12)
    assert recording.quaternions[-1] == pytest.approx(
        np.array([sim.body(name).quaternion for name in sim.body_names]), abs=1e-12
    )


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_orientations_have_the_sign_of_qpos_and_of_mujoco(coordinates) -> None:
    """The trunk's principal axes are turned by more than a right angle, where both quaternions are as near."""
    scene = str(Path(__file__).parents[2] / "examples" / "scenes" / "quadruped.xml")
    sim = perp.Simulation(scene, coordinates=coordinates)
    recording = sim.run(0.02)
    mujoco = engine()
    model = mujoco.MjModel.from_xml_path(scene)
    data = mujoco.MjData(model)
    data.qpos[:] = sim.qpos
    mujoco.mj_kinematics(model, data)
    assert sim.body("trunk").quaternion == pytest.approx(sim.qpos[3:7], abs=1e-12)
    for name in sim.body_names:
        assert sim.body(name).quaternion == pytest.approx(data.body(name).xquat, abs=1e-8)
        assert recording.quaternion(name)[-1] == pytest.approx(data.body(name).xquat, abs=1e-8)


def test_a_file_keeps_coordinates_in_place_of_bodies(tmp_path: Path) -> None:
    perp.Simulation(EVERY_JOINT, step=0.01, coordinates="reduced").run(0.02, out=tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        kept = set(file["steps"])
    assert {"qpos", "qvel"} <= kept
    assert not kept & {"positions", "quaternions", "velocities", "joint_positions", "coulomb_distance"}


def test_a_robot_on_a_mocap_body_keeps_its_bodies(tmp_path: Path) -> None:
    sim = perp.Simulation(ON_MOCAP, step=0.01, coordinates="reduced")
    with sim.record(tmp_path / "run.h5"):
        for k in range(10):
            sim.set_mocap("hand", (0.01 * k, 0, 1))
            sim.step()
    recording = perp.Recording.open(tmp_path / "run.h5")
    assert recording.position("swing")[-1] == pytest.approx(sim.body("swing").position, abs=1e-12)
    assert recording.position("swing")[-1][0] > 0.08


def test_a_file_whose_tree_does_not_fit_its_columns_is_refused(tmp_path: Path) -> None:
    recording = perp.Simulation(EVERY_JOINT, step=0.01, coordinates="reduced").run(0.02)
    recording.tree["joint_kind"] = recording.tree["joint_kind"][:-1]
    recording.save(tmp_path / "run.h5")
    with pytest.raises(perp.FileError, match="not a complete recording: qpos and qvel"):
        perp.Recording.open(tmp_path / "run.h5")
