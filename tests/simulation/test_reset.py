"""What a reset brings back, and what is read beside the steps, of scenes with handles."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes.engine import engine

ON_HANDLE = """<mujoco><worldbody>
<body name="hand" mocap="true" pos="0 0 1"><geom size="0.02"/><site name="grip"/>
  <body name="swing" pos="0 0 -0.1"><joint name="pin" axis="0 1 0"/>
    <geom type="capsule" size="0.02 0.1" pos="0 0 -0.1"/></body></body></worldbody>
<actuator><motor name="pin" joint="pin"/></actuator>
<sensor><framepos name="grip" objtype="site" objname="grip"/></sensor>
<keyframe><key name="left" mpos="-1 0 1" ctrl="0.5"/></keyframe></mujoco>"""


def on_handle() -> perp.Simulation:
    return perp.Simulation(ON_HANDLE, step=0.01, coordinates="reduced")


def test_what_is_read_sees_mocap_bodies_where_they_are() -> None:
    sim = on_handle()
    sim.set_mocap("hand", (0.5, 0.2, 1.0), (1, 0, 0, 1))
    sim.step([0.3])
    mujoco = engine()
    model = mujoco.MjModel.from_xml_string(ON_HANDLE)
    data = mujoco.MjData(model)
    data.mocap_pos[:], data.mocap_quat[:] = (0.5, 0.2, 1.0), np.array([1, 0, 0, 1]) / np.sqrt(2)
    data.qpos[:], data.qvel[:] = sim.qpos, sim.qvel
    mujoco.mj_forward(model, data)
    linear = np.zeros((3, 1))
    mujoco.mj_jac(model, data, linear, None, np.array([0.5, 0.2, 0.7]), model.body("swing").id)
    assert np.abs(linear).max() > 0.1
    assert sim.jacobian("swing", (0.5, 0.2, 0.7))[:3] == pytest.approx(linear, abs=1e-12)
    assert sim.sensor("grip") == pytest.approx((0.5, 0.2, 1.0))
    assert sim.bias_force() == pytest.approx(data.qfrc_bias, abs=1e-12)


def test_a_reset_brings_back_controls_forces_and_mocap_bodies() -> None:
    sim, untouched = on_handle(), on_handle()
    sim.set_mocap("hand", (0.5, 0, 1))
    sim.apply_force("swing", (1, 0, 0))
    sim.run(0.1, [0.4])
    sim.reset()
    assert (sim.ctrl, sim.time) == ([0.0], 0.0)
    assert sim.sensor("grip") == pytest.approx((0, 0, 1))
    assert sim.run(0.1).qpos.tobytes() == untouched.run(0.1).qpos.tobytes()


def test_a_keyframe_moves_mocap_bodies() -> None:
    sim = on_handle()
    sim.reset(keyframe="left")
    assert sim.ctrl == [0.5]
    assert sim.body("swing").position == pytest.approx((-1, 0, 0.9))
    sim.step()
    assert sim.body("swing").position == pytest.approx((-1, 0, 0.9))


def test_a_simulation_made_with_a_keyframe_goes_back_to_it(tmp_path) -> None:
    sim = perp.Simulation(ON_HANDLE, step=0.01, coordinates="reduced", keyframe="left")
    start = sim.qpos, sim.ctrl, sim.sensor("grip")
    sim.run(0.05, out=tmp_path / "run.h5", control=[0.1])
    for again in (sim, sim.copy(), perp.Simulation.resume(tmp_path / "run.h5")):
        again.reset()
        for now, then in zip((again.qpos, again.ctrl, again.sensor("grip")), start, strict=True):
            assert np.array_equal(now, then)


def test_a_folder_is_no_scene(tmp_path) -> None:
    with pytest.raises(perp.SceneError, match="is a folder: name the scene file in it"):
        perp.Simulation(tmp_path)
