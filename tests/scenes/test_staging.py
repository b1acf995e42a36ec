"""Robots on a stage: freed, on ground, at a pose and held; poses of SRDF files as keyframes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from perp.problems import ProblemError
from perp.scenes import SceneError, read_spec
from perp.scenes.engine import engine
from perp.scenes.lowest import lowest_point

INERTIA = '<inertia ixx="{0}" ixy="0" ixz="0" iyy="{0}" iyz="0" izz="{0}"/>'
THIGH, SHANK, TRUNK_MASS = 0.2, 0.2, 8.0


def link(name: str, mass: float, shape: str, centre: str = "0 0 0") -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/>{INERTIA.format(0.01 * mass)}'
        f"</inertial><collision>{shape}</collision></link>"
    )


def joint(name: str, parent: str, child: str, at: str, kind: str = "revolute") -> str:
    limits = (-2.5, -0.2) if "knee" in name else (-2.0, 2.0)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="0 1 0"/>'
        f'<limit lower="{limits[0]}" upper="{limits[1]}" effort="100" velocity="10"/></joint>'
    )


def quadruped() -> str:
    """Four legs of two links below a trunk, with a root link that has no mass, as public files have it."""
    box = '<geometry><box size="0.4 0.2 0.1"/></geometry>'
    bone = '<origin xyz="0 0 -0.1"/><geometry><box size="0.02 0.02 0.1"/></geometry>'
    foot = '<origin xyz="0 0 -0.2"/><geometry><sphere radius="0.02"/></geometry>'
    parts = [
        '<link name="base"/>',
        link("trunk", TRUNK_MASS, box),
        joint("root", "base", "trunk", "0 0 0", "fixed"),
    ]
    for x in (-1, 1):
        for y in (-1, 1):
            leg = f"{'front' if x > 0 else 'hind'}_{'left' if y > 0 else 'right'}"
            parts.append(link(f"{leg}_thigh", 0.5, bone, "0 0 -0.1"))
            parts.append(link(f"{leg}_shank", 0.2, foot, "0 0 -0.1"))
            parts.append(joint(f"{leg}_hip", "trunk", f"{leg}_thigh", f"{0.2 * x} {0.15 * y} 0"))
            parts.append(joint(f"{leg}_knee", f"{leg}_thigh", f"{leg}_shank", f"0 0 {-THIGH}"))
    return f"<robot name='q'>{''.join(parts)}</robot>"


MASS = TRUNK_MASS + 4 * 0.7
LEGS = [f"{end}_{side}" for end in ("front", "hind") for side in ("left", "right")]
POSE = {f"{leg}_hip": 0.5 for leg in LEGS} | {f"{leg}_knee": -1.0 for leg in LEGS}


@pytest.mark.parametrize("hold", ["servos", "locked"])
def test_a_quadruped_of_a_urdf_stands_on_added_ground_without_creep(hold: str) -> None:
    sim = perp.Simulation(quadruped(), step=0.01, free_base=True, ground=True, hold=hold, pose=POSE)
    # hip above foot: both links tilt by half a radian
    assert sim.body("trunk").position[2] == pytest.approx((THIGH + SHANK) * np.cos(0.5) + 0.02)
    sim.run(2.0)
    before = sim.state.position.copy()
    recording = sim.run(1.0)
    assert np.abs(sim.state.position - before).max() < 1e-9
    assert recording.met.all()
    assert sum(contact.normal_force for contact in sim.contacts()) == pytest.approx(MASS * 9.81)
    assert {geom for contact in sim.contacts() for geom in contact.geoms} >= {"ground"}
    sag = max(abs(sim.joint(name).position - value) for name, value in POSE.items())
    assert sag < (0.02 if hold == "servos" else 1e-9)
    sim.reset()
    assert sim.joint("front_left_knee").position == -1.0
    assert sim.time == 0.0


def test_without_options_the_root_of_a_urdf_is_fixed_and_joints_are_loose() -> None:
    sim = perp.Simulation(quadruped(), step=0.01)
    assert "trunk" not in sim.model.body_names
    assert not sim.stepper.motor_names


def test_held_joints_start_within_their_limits_and_servos_have_the_effort_of_the_joint() -> None:
    sim = perp.Simulation(quadruped(), step=0.01, hold="servos")
    assert sim.joint("hind_left_knee").position == pytest.approx(-0.2)
    assert sim.ctrl[sim.stepper.motor_names.index("hind_left_knee")] == pytest.approx(-0.2)
    m = sim.model.shapes
    assert (m.jnt_actfrcrange == [-100, 100]).all()


def test_poses_of_an_srdf_file_are_keyframes(tmp_path: Path) -> None:
    for folder in ("urdf", "srdf"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "urdf" / "q.urdf"
    path.write_text(quadruped(), encoding="utf-8")
    states = "".join(f'<joint name="{name}" value="{value}"/>' for name, value in POSE.items())
    poses = tmp_path / "srdf" / "q.srdf"
    poses.write_text(
        '<robot name="q"><group_state name="standing" group="all"><joint name="root_joint" value="0 0 1 0 0 0 1"/>'
        f'{states}</group_state><group_state name="standing" group="other"/></robot>',
        encoding="utf-8",
    )
    sim = perp.Simulation(path, step=0.01, keyframe="standing", free_base=True, ground=True, hold="servos")
    assert sim.joint("hind_right_knee").position == -1.0
    assert sim.body("trunk").position[2] == pytest.approx(0.4 * np.cos(0.5) + 0.02)
    assert "group_state standing of q.srdf: another group has a state of that name" in str(sim.report)
    assert perp.Simulation(path, step=0.01, keyframe="standing").joint(
        "hind_right_knee"
    ).position == pytest.approx(-1.0, rel=1e-12)
    with pytest.raises(SceneError, match="no keyframe named 'lying'; there are: standing"):
        perp.Simulation(path, step=0.01, keyframe="lying", ground=True)
    poses.write_text(poses.read_text(encoding="utf-8").replace('"-1.0"', '"bent"'), encoding="utf-8")
    with pytest.raises(SceneError, match=r"q.srdf: joint '.*' of group_state 'standing' has value 'bent'"):
        read_spec(path)
    poses.write_text("<robot", encoding="utf-8")
    with pytest.raises(SceneError, match=r"q\.srdf: "):
        read_spec(path)


def test_keyframes_of_a_scene_survive_new_joints_and_motors() -> None:
    text = """<mujoco><worldbody><body name="base" pos="0 0 1"><geom size="0.1"/>
     <body name="a" pos="0.2 0 0"><joint name="j" axis="0 1 0"/><geom size="0.05"/>
      <body name="b" pos="0.2 0 0"><joint axis="0 1 0"/><geom size="0.05"/></body></body></body></worldbody>
     <actuator><motor name="m" joint="j"/></actuator>
     <keyframe><key name="k" qpos="0.3 0.4" qvel="1 2" ctrl="7" time="2"/></keyframe></mujoco>"""
    sim = perp.Simulation(text, step=0.01, free_base=True, hold="servos", pose={"j": 0.1}, keyframe="k")
    assert sim.joint("j").position == pytest.approx(0.1, abs=1e-15)
    assert sim.time == 2.0
    sim.reset(keyframe="k")
    assert sim.joint("j").position == pytest.approx(0.3, abs=1e-15)
    assert sim.joint("j").velocity == pytest.approx(1.0)
    # the second joint has no name and no motor: it gets both
    assert sim.ctrl == pytest.approx([7.0, 0.4])


def test_a_joint_that_follows_another_starts_where_that_puts_it() -> None:
    text = quadruped().replace(
        '<parent link="front_left_thigh"/>',
        '<parent link="front_left_thigh"/><mimic joint="front_right_knee" multiplier="0.5" offset="-0.6"/>',
    )
    sim = perp.Simulation(text, step=0.01, hold="servos", pose={"front_right_knee": -1.0})
    assert sim.joint("front_left_knee").position == pytest.approx(-1.1)
    assert "front_left_knee" not in sim.stepper.motor_names
    sim.run(0.5)
    follower, leader = sim.joint("front_left_knee").position, sim.joint("front_right_knee").position
    assert follower == pytest.approx(0.5 * leader - 0.6, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"hold": "tightly"}, ProblemError, "hold = 'tightly': one of 'servos', 'locked'"),
        ({"pose": {"elbow": 1.0}}, SceneError, "no joint named 'elbow'; there are: "),
        ({"pose": {"front_left_knee": 1.0}}, SceneError, "outside of the joint's limits -2.5 and -0.2"),
        ({"pose": {"front_left_hip": np.nan}}, ProblemError, "a finite number is needed"),
    ],
)
def test_wrong_options_are_named(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        perp.Simulation(quadruped(), step=0.01, **options)


def test_ground_that_nothing_can_touch_is_reported() -> None:
    ghost = (
        '<robot name="g"><link name="a"><inertial><mass value="1"/>'
        + INERTIA.format(0.1)
        + "</inertial></link></robot>"
    )
    sim = perp.Simulation(ghost, step=0.01, free_base=True, ground=True)
    assert "ground: nothing that moves has a collision shape" in str(sim.report)


def test_what_cannot_be_freed_or_edited_says_so() -> None:
    free = "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    with pytest.raises(SceneError, match="no root that is fixed to the world"):
        perp.Simulation(free, step=0.01, free_base=True)
    with pytest.raises(SceneError, match="MjModel cannot be edited"):
        perp.Simulation(engine().MjModel.from_xml_string(free), step=0.01, ground=True)


@pytest.mark.parametrize(
    "shape",
    ['type="sphere" size="0.1"', 'type="capsule" size="0.1 0.3"', 'type="cylinder" size="0.1 0.3"',
     'type="box" size="0.1 0.2 0.3"', 'type="ellipsoid" size="0.1 0.2 0.3"', 'type="mesh" mesh="wedge"'],
)  # fmt: skip
def test_the_lowest_point_is_where_the_plane_touches(shape: str) -> None:
    text = f"""<mujoco><asset><mesh name="wedge" vertex="0 0 0 0.3 0 0 0 0.4 0 0.1 0.1 0.5"/></asset><worldbody>
     <body pos="0.3 0.2 5" euler="30 50 70"><freejoint/><geom {shape}/></body></worldbody></mujoco>"""
    sim = perp.Simulation(text, step=1e-3, ground=True)
    sim.step()
    assert min(contact.gap for contact in sim.contacts()) == pytest.approx(0.0, abs=1e-9)
    m = sim.model.shapes
    assert m.geom("ground").pos[2] == pytest.approx(lowest_point(m, m.qpos0))


def test_names_for_unnamed_joints_are_not_taken() -> None:
    text = """<mujoco><worldbody><body><joint/><geom size=".1"/><body pos="0 0 -1"><joint name="joint0"/>
     <geom size=".1"/></body></body></worldbody></mujoco>"""
    sim = perp.Simulation(text, step=0.005, hold="servos")
    assert sim.model.shapes.nu == 2


def test_a_freed_root_without_mass_gets_a_gram():
    """mujoco refuses what moves and weighs nothing: grippers that begin with a mere frame did not load."""
    hand = f"""<robot name="hand"><link name="root"/>{link("finger", 0.1, "")}
    {joint("hinge", "root", "finger", "0 0 0")}</robot>""".replace("<collision></collision>", "")
    sim = perp.Simulation(hand, step=0.005, free_base=True)
    assert "root" in str(sim.report)
    sim.run(0.1)
    assert sim.body("root").velocity[2] < -0.9
