"""Universal, cylindrical, planar and ball joints with limits, springs, losses, rotors and motors."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import SceneError, attach, library, load_scene

LOOSE = 'contype="0" conaffinity="0"'
# Anchors apart along axes, axes that count the other way: what the reader has to sort out.
JOINTS = {
    "universal": ('axis="0 0 1"', 'axis="0 1 0" pos="0 0.02 0"'),
    "cylindrical": ('type="slide" axis="1 0 0.2" pos="0.1 0.3 0.1"', 'axis="-1 0 -0.2"'),
    "planar": ('type="slide" axis="1 0 0"', 'type="slide" axis="0 0 1"', 'axis="0 -1 0" pos="0.02 0.1 0"'),
    "ball": ('type="ball" pos="0.02 0.01 0"',),
}
LAWS = {
    "spring": 'stiffness="6"',
    "damping": 'damping="0.2"',
    "friction": 'frictionloss="0.15"',
    "armature": 'armature="0.03"',
}


def link(name: str, joints: str, inner: str = "", pos: str = "0 0 0") -> str:
    """A box whose principal axes lie along nothing."""
    return (
        f'<body name="{name}" pos="{pos}" euler="0.2 0.3 0.1">{joints}<geom type="box" size="0.2 0.03 0.06" '
        f'pos="0.15 0.05 -0.04" euler="0.3 0.5 0.2" mass="1" {LOOSE}/>{inner}</body>'
    )


def arm(kind: str, law: str, rest: str = "") -> str:
    """A compound joint on a link that swings."""
    joints = "".join(f'<joint name="q{k}" {joint} {law}/>' for k, joint in enumerate(JOINTS[kind]))
    inner = link("b", joints, pos="0.3 0 0")
    body = link("a", '<joint name="base" axis="0 0 1" damping="0.1"/>', inner)
    return f'<mujoco><compiler angle="radian"/><worldbody>{body}</worldbody>{rest}</mujoco>'


def run(text: str, coordinates: str, h: float, time: float = 0.3, control: Any = None) -> perp.Simulation:
    sim = perp.Simulation(text, step=h, coordinates=coordinates)
    assert str(sim.report) == "nothing was ignored"
    sim.run(time, control)
    return sim


def coordinates_of(sim: perp.Simulation, kind: str) -> tuple[np.ndarray, np.ndarray]:
    joints = [sim.joint(name) for name in ("base", *(f"q{k}" for k in range(len(JOINTS[kind]))))]
    q, v = ([np.atleast_1d(getattr(joint, name)) for joint in joints] for name in ("position", "velocity"))
    return np.concatenate(q), np.concatenate(v)


@cache
def without(kind: str) -> np.ndarray:
    return coordinates_of(run(arm(kind, ""), "maximal", 2e-3), kind)[0]


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("kind", list(JOINTS))
def test_both_kinds_of_coordinates_agree_to_the_order_of_the_step(kind: str, law: str) -> None:
    """Positions and rates of every coordinate; halving the step halves what is between them."""
    apart = []
    for h in (4e-3, 2e-3):
        ends = [coordinates_of(run(arm(kind, LAWS[law]), c, h), kind) for c in ("maximal", "reduced")]
        apart.append([float(np.abs(a - b).max()) for a, b in zip(*ends, strict=True)])
    assert np.abs(ends[0][0] - without(kind)).max() > 0.01  # the law acts
    assert apart[1][0] < 2.5e-3
    assert apart[1][1] < 0.03
    assert apart[1][0] < 0.7 * apart[0][0] + 1e-5


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar"])
def test_limits_of_every_coordinate_hold(kind: str) -> None:
    sim = perp.Simulation(arm(kind, 'range="-0.2 0.25" limited="true"'), step=4e-3, coordinates="maximal")
    recording = sim.run(0.6)
    q = recording.joint_positions[:, 1:]
    assert q.shape[1] == len(JOINTS[kind])
    assert q.min() > -0.2 - 1e-9
    assert q.max() < 0.25 + 1e-9
    assert (np.isclose(q, -0.2, atol=1e-9) | np.isclose(q, 0.25, atol=1e-9)).any()


def test_the_angle_of_a_ball_joint_has_a_limit_and_comes_to_rest_on_it() -> None:
    """A rod let go at the limit's cone hangs on it with the torque m g l sin θ."""
    rod = (
        f'<body name="rod"><joint name="j" type="ball" range="0 0.3" limited="true" damping="1"/><geom '
        f'type="capsule" fromto="0 0 0 0.4 0 0" size="0.02" mass="1" {LOOSE}/></body>'
    )
    text = f'<mujoco><compiler angle="radian"/><worldbody>{rod}</worldbody></mujoco>'
    sim = perp.Simulation(text, step=0.01, coordinates="maximal")
    sim.body("rod").set_velocity((0, 0, 0), (0, 0, 1.0))
    angles = []
    for _ in range(800):
        sim.step()
        angles.append(2 * math.acos(min(1.0, sim.joint("j").position[0])))
    assert max(angles) < 0.3 + 1e-7
    assert angles[-1] == pytest.approx(0.3, abs=1e-7)
    expected = library.GRAVITY * 0.2 * math.cos(0.3)
    # behind the three rows that hold
    assert sim.last.joint_impulse[3:].max() / 0.01 == pytest.approx(expected, rel=1e-3)


def test_damping_of_a_ball_joint_is_the_same_at_every_angle() -> None:
    """ω = ω₀ / (1 + h d / I)ⁿ about a principal axis, through whole turns."""
    body = f'<body name="top"><joint name="j" type="ball" damping="0.01"/><geom type="sphere" size="0.1" mass="1" {LOOSE}/></body>'
    sim = perp.Simulation(library.scene(body), step=0.01, coordinates="maximal")
    sim.body("top").set_velocity((0, 0, 0), (0, 0, 12.0))
    sim.run(1.0)
    inertia = sim.model.inertia[0, 0]
    assert sim.joint("j").velocity[2] == pytest.approx(12.0 / (1 + 0.01 * 0.01 / inertia) ** 100, rel=1e-6)


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar"])
def test_motors_drive_every_coordinate(kind: str) -> None:
    names = [f"q{k}" for k in range(len(JOINTS[kind]))]
    rest = "".join(
        f'<position joint="{name}" kp="20" kv="1"/><motor joint="{name}" gear="2"/>' for name in names
    )
    text = arm(kind, 'damping="0.5"', f"<actuator>{rest}</actuator>")
    control = np.tile([0.3, 0.1], len(names))
    ends = [coordinates_of(run(text, c, 2e-3, 0.3, control), kind)[0] for c in ("maximal", "reduced")]
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)
    assert np.abs(ends[0] - without(kind)).max() > 0.05


def test_hinges_whose_axes_do_not_cross_are_no_universal_joint() -> None:
    text = library.scene(
        '<body name="x"><joint axis="0 0 1"/><joint axis="1 0 0" pos="0 0.1 0"/><geom size="0.1"/></body>'
    )
    with pytest.raises(SceneError, match="combination of 2 joints"):
        load_scene(text)
    assert perp.Simulation(text, step=0.01).coordinates == "reduced"


def hung(**options: Any) -> perp.Simulation:
    """A ball of 2 kg, 0.5 m below a point that a distance joint ties it to."""
    body = (
        f'<body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1" mass="2" {LOOSE}/></body>'
    )
    model = attach(
        load_scene(library.scene(body)),
        "distance",
        "ball",
        anchor=(0, 0, 1),
        other_anchor=(0, 0, 1.5),
        **options,
    )
    return perp.Simulation(model, step=0.005)


def test_a_distance_joint_with_an_upper_limit_is_a_rope() -> None:
    """Free fall while it is slack, then it hangs with the tension m g."""
    sim = hung(upper=0.8, name="rope")
    sim.run(0.2)
    fallen = library.GRAVITY * 0.005**2 * 40 * 41 / 2  # of implicit Euler in 40 steps
    assert sim.joint("rope").position == pytest.approx(0.5 + fallen, abs=1e-9)
    sim.run(0.5)
    assert sim.joint("rope").position == pytest.approx(0.8, abs=1e-9)
    assert sim.last.joint_impulse[0] / 0.005 == pytest.approx(2 * library.GRAVITY, rel=1e-6)


def test_a_distance_joint_with_stiffness_is_a_spring() -> None:
    """It rests stretched by m g / k; without anything it keeps its length."""
    sim = hung(stiffness=200.0, spring_reference=0.5, damping=40.0, name="spring")
    sim.run(3.0)
    assert sim.joint("spring").position == pytest.approx(0.5 + 2 * library.GRAVITY / 200, abs=1e-6)
    rod = hung(name="rod")
    rod.run(0.1)
    assert rod.joint("rod").position == pytest.approx(0.5, abs=1e-10)
