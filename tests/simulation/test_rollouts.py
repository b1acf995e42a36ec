"""Gradients of runs against differences of runs and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import perp

PUSHED = """<mujoco><worldbody><geom type="plane" size="9 9 1" friction="0.3"/>
<body name="b" pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
<geom type="box" size=".1 .1 .1" mass="1" friction="0.3"/></body></worldbody>
<actuator><motor name="push" joint="{joint}"/></actuator></mujoco>""".replace(
    '<joint type="slide" axis="1', '<joint name="x" type="slide" axis="1'
).format(joint="x")


def charge(goal):
    def loss(k, sim):
        gradient = np.zeros(4)
        gradient[0], gradient[2] = sim.qpos[0] - goal, 0.1 * sim.qvel[0]
        return 0.5 * (sim.qpos[0] - goal) ** 2 + 0.05 * sim.qvel[0] ** 2, gradient

    return loss


def test_pushed_box_against_differences():
    """A box that is pushed over a floor: gradient by every control and by friction; nothing is left changed."""
    sim = perp.Simulation(PUSHED, step=0.02, coordinates="reduced")
    rng = np.random.default_rng(0)
    controls = 6.0 + rng.uniform(-1, 1, (23, 1))
    before = sim.snapshot()
    loss = charge(0.5)
    found = perp.rollout_gradient(sim, controls, loss, parameters=("friction",))
    for name, array in sim.snapshot().items():
        np.testing.assert_array_equal(array, before[name])

    def value(u):
        sim.restore(before)
        total = 0.0
        for k, row in enumerate(u):
            sim.step(row)
            total += loss(k + 1, sim)[0]
        return total

    assert found.value == pytest.approx(value(controls))
    for k in (0, 7, 22):
        e = np.zeros_like(controls)
        e[k] = 1e-5
        difference = (value(controls + e) - value(controls - e)) / 2e-5
        assert found.controls[k, 0] == pytest.approx(difference, rel=1e-5, abs=1e-9)
    # x(t) = (F − μ m g) t²/2 …: more friction is less way
    assert found.parameters["friction"][0] == pytest.approx(-9.81 * found.controls.sum(), rel=1e-6)


@pytest.mark.parametrize("segment", [1, 4, 100])
def test_checkpoints_do_not_matter(segment):
    sim = perp.Simulation(PUSHED, step=0.02, coordinates="reduced")
    controls = np.full((17, 1), 5.0)
    base = perp.rollout_gradient(sim, controls, charge(0.3))
    other = perp.rollout_gradient(sim, controls, charge(0.3), segment=segment)
    np.testing.assert_array_equal(base.controls, other.controls)
    np.testing.assert_array_equal(base.state, other.state)


def test_pendulum_closed_form():
    """A small swing: x(t) = x₀ cos ωt, so dx/dx₀ = cos ωt after a second."""
    text = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body pos="0 0 2"><joint axis="0 1 0"/>
    <geom type="sphere" size=".01" pos="0 0 -1" mass="1"/></body></worldbody></mujoco>"""
    sim = perp.Simulation(text, step=1e-3, coordinates="reduced")
    sim.qpos = [1e-4]

    def loss(k, sim):
        return (float(sim.qpos[0]), np.array([1.0, 0.0])) if k == 1000 else None

    found = perp.rollout_gradient(sim, np.zeros((1000, 0)), loss)
    omega = np.sqrt(9.81 / (1 + 0.4 * 0.01**2))
    assert found.state[0] == pytest.approx(np.cos(omega), abs=5e-3)
    assert found.state[1] == pytest.approx(np.sin(omega) / omega, abs=5e-3)


def test_ball_on_a_slope():
    """A ball that rolls down: a = 5/7 g sin α, so after t the way by g is 5/14 sin α t²."""
    angle, steps, h = np.radians(20), 200, 1e-3
    g = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    text = f"""<mujoco><option gravity="{g[0]} 0 {g[2]}"/><worldbody>
    <geom type="plane" size="9 9 1" friction="1"/><body name="b" pos="0 0 .1"><freejoint/>
    <geom type="sphere" size=".1" friction="1"/></body></worldbody></mujoco>"""
    sim = perp.Simulation(text, step=h, coordinates="maximal")

    def loss(k, sim):
        return (float(sim.body("b").position[0]), np.eye(12)[0]) if k == steps else None

    found = perp.rollout_gradient(sim, np.zeros((steps, 0)), loss, parameters=("gravity", "mass:b"))
    t = steps * h
    assert found.parameters["gravity"][0] == pytest.approx(5 / 14 * t**2, rel=1e-2)
    assert found.parameters["mass:b"][0] * 4.19 == pytest.approx(-5 / 14 * g[0] * t**2 * -2 / 7, rel=0.1)


def test_bad_controls():
    sim = perp.Simulation(PUSHED, step=0.02, coordinates="reduced")
    with pytest.raises(perp.ProblemError, match="columns"):
        perp.rollout_gradient(sim, np.zeros((3, 2)), charge(0.0))
