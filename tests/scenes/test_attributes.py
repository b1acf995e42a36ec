"""Nothing of a scene is dropped silently: every attribute changes the simulation or stands in the report."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import perp
from perp.scenes import SceneError, attributes
from perp.scenes.engine import engine
from perp.scenes.model import ImportReport
from perp.stepping import StepInaccurate

SCENE = """<mujoco><compiler angle="radian"/><option {option}/><worldbody>
  <geom name="ground" type="plane" size="5 5 1" {ground}/>
  <body name="arm" pos="0 0 1" {body}><joint name="turn" {joint}/>
   <geom name="arm" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1" {geom}/>
   <body name="slide" pos="0.3 0 0"><joint name="out" type="slide" axis="1 0 0" damping="0.1"/>
    <geom name="tip" type="sphere" size="0.03" mass="0.5"/></body></body>
  <body name="ball" pos="1 0 0.1"><freejoint/><geom name="ball" type="sphere" {ball}/></body>
 </worldbody>
 <tendon><fixed name="cable" {tendon}><joint joint="turn" coef="0.3"/><joint joint="out" coef="1"/></fixed></tendon>
 <equality>{equality}</equality><contact>{contact}</contact>
 <actuator><general name="motor" joint="turn" {motor}/></actuator></mujoco>"""
PLAIN = dict.fromkeys(
    ["option", "ground", "body", "joint", "geom", "ball", "tendon", "equality", "contact", "motor"], ""
)
PLAIN |= {"ball": 'size="0.1"', "joint": 'axis="0 1 0"', "motor": 'gainprm="2"'}
CHANGES = [
    ("option", 'gravity="0 0 -5"'), ("option", 'integrator="implicit"'), ("option", 'cone="elliptic"'),
    ("option", 'impratio="10"'), ("option", 'timestep="0.005"'), ("option", 'density="1000"'),
    ("ground", 'friction="2 0 0"'), ("ground", 'solref="0.01 1"'), ("ground", 'solimp="0.8 0.9 0.01"'),
    ("ground", 'margin="0.01"'), ("ground", 'condim="4"'), ("ground", 'contype="2" conaffinity="2"'),
    ("ground", 'priority="1" friction="0.05 0 0"'), ("ball", 'condim="6"'), ("ball", 'gap="0.01"'),
    ("ball", 'mass="7"'), ("ball", 'size="0.05"'), ("body", 'gravcomp="1"'),
    ("joint", 'range="-1 0.001" limited="true"'), ("joint", 'stiffness="3"'), ("joint", 'damping="3"'),
    ("joint", 'frictionloss="3"'), ("joint", 'armature="1"'), ("joint", 'springref="0.5" stiffness="2"'),
    ("joint", 'actuatorfrcrange="-0.1 0.1"'), ("joint", 'axis="1 0 0"'), ("joint", 'pos="0.1 0 0"'),
    ("joint", 'range="-1 1" limited="true" solreflimit="0.01 1"'), ("joint", 'ref="0.2" stiffness="2"'),
    ("joint", 'range="-1 1" limited="true" margin="0.1"'), ("joint", 'frictionloss="1" solimpfriction="0.8"'),
    ("tendon", 'stiffness="50"'), ("tendon", 'damping="20"'), ("tendon", 'frictionloss="20"'),
    ("tendon", 'range="-1 0.001" limited="true"'), ("tendon", 'armature="3"'),
    ("tendon", 'springlength="0.3" stiffness="10"'),
    ("equality", '<joint joint1="turn" joint2="out"/>'), ("equality", '<connect body1="ball" anchor="0 0 0"/>'),
    ("equality", '<weld body1="ball"/>'), ("equality", '<tendon tendon1="cable"/>'),
    ("equality", '<weld body1="ball" active="false"/>'),
    ("equality", '<weld body1="ball" solref="0.1 1"/>'),
    ("contact", '<exclude body1="world" body2="ball"/>'),
    ("contact", '<pair geom1="ground" geom2="ball" friction="0.01 0.01 0 0 0"/>'),
    ("contact", '<pair geom1="ground" geom2="ball" solref="0.1 1"/>'),
    ("contact", '<pair geom1="ground" geom2="ball" condim="1"/>'),
    ("motor", 'gear="3"'), ("motor", 'ctrlrange="-0.1 0.1" ctrllimited="true"'),
    ("motor", 'forcerange="-0.1 0.1" forcelimited="true"'), ("motor", 'biastype="affine" biasprm="1 0 0"'),
    ("motor", 'biastype="affine" biasprm="0 -9 0"'), ("motor", 'biastype="affine" biasprm="0 0 -9"'),
    ("motor", 'gaintype="affine" gainprm="2 5 5"'), ("motor", 'dyntype="filter" dynprm="0.1"'),
    ("motor", 'armature="1"'), ("motor", 'damping="3"'), ("option", 'viscosity="5"'),
    ("option", 'wind="3 0 0" density="10"'),
    ("motor", 'dyntype="integrator"'), ("motor", 'dyntype="filterexact" dynprm="0.1"'),
]  # fmt: skip


BOTH = ("reduced", "maximal")


def after(text: str, coordinates: str) -> tuple[np.ndarray, set[tuple[str, str]]]:
    """Where the bodies are after some steps of a scene that is pushed about, and its report."""
    level = "velocity" if coordinates == "reduced" else "position"
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates, level=level)
    for joint, speed in (("turn", 1.0), ("out", 0.3)):
        sim.joint(joint).set_velocity(speed)
    if "ball" in sim.model.body_names:
        sim.body("ball").set_velocity((1, 0, 0), (0, 0, 3))
    sim.set_control([1.5])
    with warnings.catch_warnings():
        # what is welded moves at first: the step that stops it is no matter here
        warnings.simplefilter("ignore", StepInaccurate)
        for _ in range(12):
            sim.step()
    return sim.state.position, set(sim.report.ignored)


@pytest.fixture(scope="module")
def plain() -> dict[str, tuple[np.ndarray, set[tuple[str, str]]]]:
    return {coordinates: after(SCENE.format(**PLAIN), coordinates) for coordinates in BOTH}


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize(("place", "change"), CHANGES, ids=lambda part: part[:60])
def test_an_attribute_changes_the_motion_or_stands_in_the_report(
    place: str, change: str, coordinates: str, plain: dict[str, tuple[np.ndarray, set[tuple[str, str]]]]
) -> None:
    # a change of an attribute that the plain scene gives takes its place
    given = PLAIN[place] if not PLAIN[place] or PLAIN[place].split("=")[0] not in change else ""
    position, report = after(SCENE.format(**{**PLAIN, place: f"{given} {change}"}), coordinates)
    if 'active="false"' in change:
        assert np.array_equal(position, plain[coordinates][0])
        return
    assert not np.array_equal(position, plain[coordinates][0]) or report - plain[coordinates][1]


def test_the_table_names_every_attribute_of_a_compiled_scene() -> None:
    model = engine().MjModel.from_xml_string(SCENE.format(**PLAIN))
    for element in attributes.USED:
        fields = {name.removeprefix(element + "_") for name in dir(model) if name.startswith(element + "_")}
        used = set(attributes.USED[element].split())
        look = set(attributes.NOT_MECHANICS.get(element, "").split())
        ignored = set(attributes.IGNORED[element])
        assert used | look | ignored == fields, element
        assert len(used) + len(look) + len(ignored) == len(fields), element
    assert set(attributes.OPTIONS) == {name for name in dir(model.opt) if not name.startswith("_")}


def test_strict_refuses_what_is_ignored_and_the_default_carries_what_it_can() -> None:
    soft = SCENE.format(**{**PLAIN, "ground": 'solref="0.01 1"'})
    with pytest.raises(SceneError, match=r"strict: .*\ngeom solref of ground: contacts, limits"):
        perp.Simulation(soft, step=0.01, strict=True)
    # robots, and what has tendons, take less time in reduced coordinates: they are chosen
    sim = perp.Simulation(SCENE.format(**{**PLAIN, "tendon": 'stiffness="5"'}), step=0.01, strict=True)
    assert sim.coordinates == "reduced"
    assert "option timestep" in str(
        perp.Simulation(SCENE.format(**{**PLAIN, "option": 'timestep="1"'}), step=0.1).report
    )


def test_keyframes_and_joints_by_name_in_both_coordinates() -> None:
    text = """<mujoco><compiler angle="radian"/><worldbody><body name="a" pos="0 0 1"><joint name="turn"
     axis="0 1 0" range="-9 9"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/><body name="b" pos="0.3 0 0">
     <joint name="out" type="slide" axis="1 0 0"/><geom size="0.03"/></body></body></worldbody>
     <actuator><motor name="m" joint="turn"/></actuator>
     <keyframe><key name="up" qpos="0.5 0.1" qvel="2 0.3" ctrl="0.7" time="3"/></keyframe></mujoco>"""
    for coordinates in ("maximal", "reduced"):
        sim = perp.Simulation(text, step=0.01, coordinates=coordinates, keyframe="up")
        assert sim.joint("turn").position == pytest.approx(0.5)
        assert sim.joint("out").position == pytest.approx(0.1)
        assert sim.joint("turn").velocity == pytest.approx(2.0)
        assert sim.joint("out").velocity == pytest.approx(0.3)
        assert sim.ctrl == pytest.approx([0.7])
        assert sim.time == 3.0
        sim.step()
        sim.reset(keyframe=0)
        assert sim.joint("turn").position == pytest.approx(0.5)
        with pytest.raises(SceneError, match="no keyframe named 'down'; there are: up"):
            sim.reset(keyframe="down")
        with pytest.raises(SceneError, match="the scene has 1"):
            sim.reset(keyframe=1)
        with pytest.raises(SceneError, match="no joint named 'elbow'; there are: turn, out"):
            sim.joint("elbow")
    sim.joint("turn").set_position(1.5)
    assert sim.body("b").position == pytest.approx([0.4 * np.cos(1.5), 0, 1 - 0.4 * np.sin(1.5)])


def test_a_report_has_a_line_for_each_reason() -> None:
    report = ImportReport(
        (("geom solref of a, b", "exact"), ("joint solref of c", "exact"), ("option cone", "own solver"))
    )
    assert report.lines() == ["geom solref of a, b; joint solref of c: exact", "option cone: own solver"]
    assert report.lines(brief=True) == ["geom solref; joint solref: exact", "option cone: own solver"]
