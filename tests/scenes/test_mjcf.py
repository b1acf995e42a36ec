"""What of an MJCF scene becomes part of the model, and what is reported."""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.scenes import SceneError, library, load_scene
from perp.scenes.engine import engine

ARM = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="base"><joint name="turn" type="hinge" axis="0 0 1" range="-1 2" damping="0.3"
  frictionloss="0.1"/>
    <geom type="box" size="0.1 0.1 0.1" mass="3"/>
    <body name="tool" pos="0 0 0.3"><geom type="sphere" size="0.05" mass="1"/></body>
    <body name="slide" pos="0.2 0 0"><joint name="out" type="slide" axis="1 0 0" ref="0.5" stiffness="7"
    springref="0.6"/>
      <geom type="sphere" size="0.05" mass="1"/>
      <body name="tip" pos="0.2 0 0"><joint type="ball"/><geom type="sphere" size="0.05"
      mass="1"/></body></body></body>
  <body name="wheel" pos="1 0 1"><joint type="hinge" axis="0 1 0"/><joint type="hinge" axis="1 0 0"/>
    <geom type="sphere" size="0.1" mass="1"/></body>
  <body name="plate" pos="2 0 1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="hinge" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1"/></body>
  <body name="piston" pos="3 0 1"><joint type="slide" axis="1 0 0"/><joint type="hinge" axis="1 0 0"/>
    <geom type="sphere" size="0.1" mass="1"/></body>
</worldbody>
<equality><connect body1="tip" anchor="0 0 0"/><weld body1="wheel" body2="plate"/></equality>
<actuator><motor joint="turn" gear="3"/><position joint="out" kp="20" kv="2" forcerange="-5 5"/>
  <velocity joint="turn" kv="4"/><general joint="out" gainprm="2" biastype="affine" biasprm="1 -8
  -1"/></actuator>
</mujoco>"""


def test_joints_of_the_tree_and_equalities() -> None:
    model = load_scene(ARM)
    kinds = [joint.kind.value for joint in model.joints]
    tree = ["hinge", "fixed", "slider", "ball", "universal", "planar", "cylindrical"]
    assert kinds == [*tree, "ball", "fixed"]
    turn, out = model.joints[0], model.joints[2]
    assert (turn.lower, turn.upper, turn.damping, turn.friction) == (-1, 2, 0.3, 0.1)
    assert (out.reference, out.stiffness, out.spring_reference) == (0.5, 7, 0.6)
    assert math.isinf(out.upper)
    assert model.joints[2].parent == model.body_index("base")


def test_all_joints_are_satisfied_at_the_start() -> None:
    sim = perp.Simulation(ARM, step=1e-3)
    held = sim.stepper.table.law == 0
    assert np.abs(sim.state.coordinate[held]).max() < 1e-9
    assert float(sim.joint("out").position) == pytest.approx(0.5)
    assert float(sim.joint("turn").position) == pytest.approx(0.0)


def test_motors_of_the_file_drive_cut_joints_as_whole_ones() -> None:
    control = [0.4, 0.55, 0.3, 2.0]
    simple = ARM.replace("<connect", "<!--").replace('"plate"/>', '"plate"/-->')
    gaps = []
    for h in (4e-3, 2e-3):
        cut, whole = (perp.Simulation(simple, step=h, coordinates=c) for c in ("maximal", "reduced"))
        cut.run(0.2, control)
        whole.run(0.2, control)
        assert cut.motor_names == whole.motor_names
        assert np.abs(whole.qpos[:2] - [0.0, 0.5]).min() > 0.01
        gaps.append(np.abs(cut.qpos[:2] - whole.qpos[:2]).max())
    assert gaps[1] < 0.7 * gaps[0] < 0.01


def test_inertia_is_principal_and_the_frame_is_kept() -> None:
    inertial = '<inertial pos="0.1 0 0" mass="2" fullinertia="2 3 4 0.5 0.2 -0.1"/>'
    body = f'<body name="b" pos="1 0 0"><freejoint/>{inertial}</body>'
    model = load_scene(library.scene(body))
    full = np.array([[2, 0.5, 0.2], [0.5, 3, -0.1], [0.2, -0.1, 4]])
    assert sorted(model.inertia[0]) == pytest.approx(np.linalg.eigvalsh(full))
    assert model.position[0] == pytest.approx([1.1, 0, 0])


def test_what_is_ignored_is_reported() -> None:
    text = library.scene('<body><joint type="free" armature="0.1"/><geom size="0.1"/></body>')
    report = load_scene(text).report
    assert any("armature" in element for element, _ in report.ignored)
    assert "rotor inertia" in str(report)
    assert str(load_scene(library.box_on_plane()).report) == "nothing was ignored"


def test_scenes_that_cannot_be_simulated() -> None:
    joints = "".join(f'<joint axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    three = f'<body name="x">{joints}<geom size="0.1"/></body>'
    with pytest.raises(SceneError, match="combination of 3 joints"):
        load_scene(library.scene(three))


def test_model_is_returned_as_it_is() -> None:
    model = load_scene(library.box_on_plane())
    assert load_scene(model) is model


def test_a_distance_is_held_by_an_equality_of_a_spatial_tendon() -> None:
    text = """<mujoco><worldbody><site name="hook" pos="0 0 1"/><body name="bob" pos="0.3 0 0.6"><freejoint/>
     <geom size="0.05" mass="1"/><site name="eye" pos="0 0 0.05"/></body></worldbody>
     <tendon><spatial name="rod"><site site="hook"/><site site="eye"/></spatial></tendon>
     <equality><tendon tendon1="rod"/></equality></mujoco>"""
    sim = perp.Simulation(text, step=0.005, strict=True)
    bob, length = sim.body("bob"), np.hypot(0.3, 0.35)
    for _ in range(200):
        sim.step()
        eye = bob.position + sim.state.rotation[0] @ [0, 0, 0.05]
        assert np.linalg.norm(eye - [0, 0, 1]) == pytest.approx(length, abs=1e-9)
    assert bob.position[0] < 0.2  # it swings


INCLUDING = "<mujoco><include file='{}'/><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>"


def test_a_scene_includes_nothing_from_outside_its_folder(tmp_path, monkeypatch):
    (tmp_path / "secret.xml").write_text("<mujoco><size nuser_body='5'/></mujoco>")
    folder = tmp_path / "scene"
    folder.mkdir()
    (folder / "part.xml").write_text("<mujoco><option timestep='0.003'/></mujoco>")
    (folder / "nested.xml").write_text("<mujoco><include file='../secret.xml'/></mujoco>")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    monkeypatch.chdir(folder)
    outside = [
        "../secret.xml",
        str(tmp_path / "secret.xml"),
        "&#46;&#46;/secret.xml",
        "nested.xml",
        "link.xml",
    ]
    main = folder / "main.xml"
    for name in outside:
        main.write_text(INCLUDING.format(name))
        for scene in (main, INCLUDING.format(name)):
            with pytest.raises(SceneError, match="not in the scene's folder"):
                perp.Simulation(scene, step=0.01)
    main.write_text(INCLUDING.format("part.xml") + "<!-- <include file='/etc/hosts'/> -->")
    assert load_scene(main).shapes.opt.timestep == 0.003


def test_a_scene_includes_from_its_package(tmp_path):
    package, folder = tmp_path / "robots", tmp_path / "robots" / "assets" / "arm"
    folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "assets" / "base.xml").write_text("<mujoco><option timestep='0.003'/></mujoco>")
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    main = folder / "main.xml"
    main.write_text(INCLUDING.format("../base.xml"))
    assert load_scene(main).shapes.opt.timestep == 0.003
    main.write_text(INCLUDING.format("../../../secret.xml"))
    with pytest.raises(SceneError, match="not in the scene's folder or package"):
        load_scene(main)


@pytest.mark.parametrize("attributes", ["anchor='0 .1 .2'", "anchor='0 .1 .2' relpose='1 .1 .4 .8 .6 0 0'"])
@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_weld_with_an_anchor_holds_where_mujoco_holds_it(attributes, coordinates):
    text = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="a" quat=".9 .1 .2 .3"><freejoint/>
     <geom size=".1"/></body><body name="b" pos="1 0 0" quat="1 0 .3 0"><freejoint/><geom size=".1"/></body>
     </worldbody><equality><weld body1="a" body2="b" {attributes}/></equality></mujoco>"""
    sim = perp.Simulation(text, step=0.005, coordinates=coordinates, strict=True)
    sim.step()
    data = engine().MjData(sim.model.shapes)
    for at, name in enumerate("ab"):
        data.qpos[7 * at : 7 * at + 3] = sim.body(name).position
        data.qpos[7 * at + 3 : 7 * at + 7] = sim.body(name).quaternion
    engine().mj_forward(sim.model.shapes, data)
    assert np.abs(data.efc_pos[:6]).max() < 1e-8


def test_a_weld_without_torques_holds_a_point():
    text = """<mujoco><worldbody><body name="bob" pos="0 0 1"><freejoint/>
     <geom size=".1" pos=".3 0 0" mass="1"/></body></worldbody>
     <equality><weld body1="bob" anchor="0 0 1" torquescale="0"/></equality></mujoco>"""
    sim = perp.Simulation(text, step=0.005, strict=True)
    for _ in range(60):
        sim.step()
    np.testing.assert_allclose(sim.body("bob").position, [0, 0, 1], atol=1e-8)
    assert sim.body("bob").angular_velocity[1] > 1  # it swings about its anchor
