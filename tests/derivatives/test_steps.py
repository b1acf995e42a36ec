"""Derivatives of steps against central differences of the step, by mode, level and coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.derivatives import DerivativeError
from steps_against_differences import ARM, COORDINATES, LOOP, SERVO, agree, body, scene


@COORDINATES
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_open(coordinates, level):
    sim = scene(body('<geom type="box" size=".1 .2 .3"/>', "0 0 2"), coordinates=coordinates, level=level)
    sim.body("b").set_velocity([1, 2, 3], [3, -2, 4])
    assert agree(sim).mode == []


SPHERE = '<geom name="g" type="sphere" size=".1" friction="0.5 0.01 0.002"/>'


@COORDINATES
@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize(
    ("spin", "mode", "geom"),
    [
        ([0.3, -0.2, 0.4], "slide", SPHERE),
        ([-3.0, 10.0, 0.4], "stick", SPHERE),
        ([0.3, 3.2, 4.0], "slide", SPHERE.replace("/>", ' condim="6"/>')),
        ([0.3, 3.2, 4.0], "slide", SPHERE.replace("/>", ' condim="4"/>')),
    ],
)
def test_sphere(coordinates, level, spin, mode, geom):
    """A ball that slides, rolls, spins and rolls with resistance, with friction, size and inertia."""
    # a gap of zero is a switch at velocity level
    height, fall = (0.1, 0) if level == "position" else (0.1001, -0.1)
    sim = scene(body(geom, f"0 0 {height}"), coordinates=coordinates, level=level)
    sim.body("b").set_velocity([1, 0.3, fall], spin)
    if level == "position":
        sim.step()
    found = agree(sim, ("friction", "gravity", "mass:b", "inertia:b", "size:g"))
    assert found.mode == [mode]
    assert not found.frozen


@COORDINATES
def test_unbalanced_ball_slides(coordinates):
    """A centre of mass off the middle: Coriolis forces depend on the impulses of the step itself."""
    heavy = '<geom type="box" size=".05 .05 .02" pos=".03 .01 .02" contype="0" conaffinity="0"/>'
    sim = scene(body(SPHERE.replace("0.5", "0.6") + heavy), coordinates=coordinates)
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    sim.step()
    names = ("friction", "friction:g", "mass:b", "inertia:b")
    found = agree(sim, names + (("com:b",) if coordinates == "reduced" else ()), rtol=3e-6)
    assert found.mode == ["slide"]


@COORDINATES
@pytest.mark.parametrize("steps", [12, 20])
def test_box_on_a_corner(coordinates, steps):
    """A tumbling box on one corner, then on two."""
    geom = '<geom name="g" type="box" size=".1 .15 .1" euler="20 30 10"/>'
    sim = scene(body(geom, "0 0 .2"), coordinates=coordinates)
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    for _ in range(steps):
        sim.step()
    found = agree(sim, ("gravity", "mass:b", "size:g"), rtol=3e-6)
    assert "stick" in found.mode


@COORDINATES
def test_box_rests_on_four_corners(coordinates):
    """Impulses are not unique, velocities are."""
    sim = scene(body('<geom type="box" size=".1 .1 .1"/>'), coordinates=coordinates)
    sim.step()
    sim.step()
    found = agree(sim, ("gravity",))
    assert found.mode == ["stick"] * 4
    assert found.redundant


@COORDINATES
@pytest.mark.parametrize("geom", [SPHERE, '<geom type="box" size=".1 .1 .1" euler="20 30 40"/>'])
def test_bounce(coordinates, geom):
    sim = scene(body(geom, "0 0 .3"), coordinates=coordinates, restitution=0.7)
    sim.body("b").set_velocity([1, 0.3, -20], [0.3, 3.2, 4])
    found = agree(sim, ("restitution", "mass:b"))
    assert {"stick", "slide"} & set(found.mode)


@COORDINATES
def test_two_spheres_and_sphere_on_box(coordinates):
    """Normals between two movable shapes turn with both of them."""
    plain = SPHERE.replace('name="g"', "")
    one, two = body(plain, name="a"), body(SPHERE, "0.05 0.02 .295", name="c")
    sim = scene(one + two, coordinates=coordinates)
    sim.body("c").set_velocity([0.1, 0.1, -0.6], [1, 0.3, 0.2])
    found = agree(sim, ("gravity", "mass:c"), step=1e-5, rtol=5e-6)
    assert found.mode.count("open") == 0
    slab = body('<geom type="box" size=".2 .2 .1"/>', name="a")
    sim = scene(slab + body(SPHERE, "0.05 0.02 .31", name="c"), coordinates=coordinates)
    sim.body("c").set_velocity([0.3, 0.1, -0.2], [1, 0.3, 0.2])
    for _ in range(4):
        sim.step()
    agree(sim, rtol=2e-6)


@COORDINATES
def test_cylinder_on_its_side(coordinates):
    """Shapes without a formula: differences of the detector, whose contacts may swap places."""
    geom = '<geom type="cylinder" size=".1 .2" euler="0 80 0"/>'
    sim = scene(body(geom), coordinates=coordinates)
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    for _ in range(30):
        sim.step()
    found = agree(sim, step=1e-4, rtol=1e-3)
    assert len(found.mode) >= 2
    assert "open" not in found.mode


@COORDINATES
@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize(
    ("limited", "rub", "motor", "control", "mode"),
    [
        ("false", 0.1, SERVO.format(""), 0.3, {"lower", "upper"}),
        ("false", 9.0, SERVO.format(""), 0.3, {"free"}),
        ("false", 0.1, SERVO.format(' forcerange="-1 1"'), 2.0, {"upper"}),
        ("false", 0.1, SERVO.format(' forcerange="-90 90"'), 0.3, {"free"}),
        ("true", 0.1, '<motor name="p" joint="j1"/>', 20.0, {"closed"}),
        ("false", 0.1, '<velocity name="p" joint="j1" kv="3" forcerange="-90 90"/>', 0.5, {"free"}),
    ],
)
def test_arm(coordinates, level, limited, rub, motor, control, mode):
    """Dry friction that slips and sticks, a servo free and at its bound, a limit, a velocity servo."""
    text = ARM.format(limited=limited, rub=rub, motor=motor)
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates, level=level)
    sim.set_control([control, 0.2])
    if limited == "true" and level == "velocity":
        # a limit that is reached exactly is at a switch of what corrects it
        sim.qpos, sim.qvel = [np.pi / 3 - 1e-3, 0.1], [1.0, 0.3]
    else:
        for _ in range(40 if limited == "true" else 5):
            sim.step()
    names = ["damping:j1", "stiffness:j2", "armature:j1", "frictionloss:j2", "mass:lower", "gravity"]
    if "kp" in motor:
        names += ["kp:p", "kv:p"]
    found = agree(sim, names, rtol=2e-5 if coordinates == "maximal" else 1e-5)
    assert mode & set(found.mode)


@COORDINATES
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_loop(coordinates, level):
    sim = perp.Simulation(LOOP, step=0.005, coordinates=coordinates, level=level)
    for _ in range(10):
        sim.step()
    found = agree(sim, ("gravity",), rtol=2e-5)
    # the loop is closed by rows, and gravity along its axes moves nothing
    assert set(found.mode) <= {"free", "lower"}
    assert np.abs(found.parameters["gravity"][:, 1]).max() < 1e-9


def test_external_force_on_a_tree():
    sim = perp.Simulation(ARM.format(limited="false", rub=0, motor=""), step=0.01, coordinates="reduced")
    sim.wrench = [[1.0, 2.0, 3.0, 0.1, 0.2, 0.3], [0.5, 0.1, -1.0, 0.0, 0.2, 0.1]]
    sim.step()
    pushed = agree(sim).A
    sim.wrench = np.zeros((2, 6))
    # the torque of a force depends on where its body is
    assert np.abs(pushed - sim.derivatives().A).max() > 1e-6


def test_last_step_has_the_derivative_of_the_next_one():
    sim = scene(body(SPHERE))
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    sim.step()
    ahead = sim.derivatives(("friction",))
    sim.step()
    behind = sim.derivatives(("friction",), last=True)
    np.testing.assert_allclose(ahead.A, behind.A, atol=1e-9)
    np.testing.assert_allclose(ahead.parameters["friction"], behind.parameters["friction"], atol=1e-9)
    with pytest.raises(perp.ProblemError, match="verify"):
        sim.derivatives(last=True, verify=True)


def test_verify_and_names():
    sim = scene(body(SPHERE))
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    sim.step()
    before = sim.state.packed.copy()
    found = sim.derivatives(("friction", "size:g", "size:floor"), verify=True)
    assert not found.parameters["size:floor"].any()
    np.testing.assert_array_equal(before, sim.state.packed)
    with pytest.raises(perp.ProblemError, match="there is no parameter"):
        sim.derivatives(("colour",))
    with pytest.raises(perp.ProblemError, match="needs a name"):
        sim.derivatives(("mass",))


def test_verify_finds_a_wrong_derivative(monkeypatch):
    from perp.derivatives.step import StepDerivative

    honest = StepDerivative._whole.func

    def wrong(self):
        whole, *more = honest(self)
        return 1.001 * whole, *more

    monkeypatch.setattr(StepDerivative, "_whole", property(wrong))
    sim = scene(body(SPHERE, "0 0 1"))
    with pytest.raises(DerivativeError, match="differs"):
        sim.derivatives(verify=True)


def test_billiard():
    """A ball hits an equal one head-on, e = 1: they exchange velocities, d v⁺ / d v = (0, 1; 1, 0)."""
    plain = SPHERE.replace('name="g"', "")
    balls = body(plain, "0 0 1", "a") + body(plain, ".201 0 1", "c")
    text = f'<mujoco><option gravity="0 0 0"/><worldbody>{balls}</worldbody></mujoco>'
    for coordinates in ("maximal", "reduced"):
        sim = perp.Simulation(text, step=0.01, restitution=1.0, coordinates=coordinates)
        sim.body("a").set_velocity([1, 0, 0], [0, 0, 0])
        A = sim.derivatives().A[12:, 12:]
        np.testing.assert_allclose(A[np.ix_([0, 6], [0, 6])], [[0, 1], [1, 0]], atol=1e-9)


def test_stopping_distance():
    """A block that slides from v stops after v²/(2 μ g): the sum of its steps has the derivative by μ."""
    v, mu, g, h = 2.0, 0.4, 9.81, 1e-3
    text = (
        f'<mujoco><option gravity="0 0 {-g}"/><worldbody><geom type="plane" size="9 9 1" friction="{mu}"/>'
        + body(f'<geom type="box" size=".1 .1 .1" friction="{mu}"/>')
        + "</worldbody></mujoco>"
    )
    sim = perp.Simulation(text, step=h)
    sim.body("b").set_velocity([v, 0, 0], [0, 0, 0])
    change = np.zeros(12)
    start = sim.body("b").position[0]
    while sim.body("b").velocity[0] > 1e-6 and sim.time < 2:
        found = sim.derivatives(("friction",))
        sim.step()
        change = found.A @ change + found.parameters["friction"][:, 0]
    assert sim.body("b").position[0] - start == pytest.approx(v**2 / (2 * mu * g), rel=2e-3)
    assert change[0] == pytest.approx(-(v**2) / (2 * mu**2 * g), rel=5e-3)
