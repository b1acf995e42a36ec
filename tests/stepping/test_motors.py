"""Motors: targets, stalling at the limit, and the servo as the damped oscillator that it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.scenes import library

G = library.GRAVITY


def arm(actuator: str) -> str:
    """A 2 kg arm on a hinge, its centre 0.5 m from the axis, turning in a vertical plane from horizontal."""
    body = (
        '<body name="arm"><joint name="hinge" type="hinge" axis="0 -1 0"/>'
        '<geom type="box" pos="0.5 0 0" size="0.5 0.02 0.02" mass="2" contype="0" conaffinity="0"/></body>'
    )
    return library.scene(body, extra=f"<actuator>{actuator}</actuator>")


def cart(actuator: str = "", joint: str = "") -> str:
    """A 2 kg cart on a rail."""
    rail = f'<joint name="rail" type="slide" axis="1 0 0" {joint}/>'
    body = f'<body name="cart">{rail}<geom size="0.1" mass="2"/></body>'
    return library.scene(body, extra=f"<actuator>{actuator}</actuator>")


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_a_strong_velocity_motor_reaches_its_target(h: float) -> None:
    sim = perp.Simulation(cart('<velocity joint="rail" kv="1e6" forcerange="-10 10"/>'), step=h)
    sim.step([1.5])
    assert sim.last.joint_impulse[-1] / h == pytest.approx(min(10.0, 2 * 1.5 / h), rel=1e-3)
    sim.run(0.5)
    assert sim.body("cart").velocity[0] == pytest.approx(1.5, rel=1e-8)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_an_overloaded_motor_stalls_at_exactly_its_limit(h: float) -> None:
    torque = 2 * G * 0.5
    for limit, lifts in ((1.2 * torque, True), (0.8 * torque, False)):
        sim = perp.Simulation(
            arm(f'<velocity joint="hinge" kv="1e5" forcerange="{-limit} {limit}"/>'), step=h
        )
        sim.step([0.2])
        rises = sim.body("arm").angular_velocity[1] < 0
        assert rises == lifts
        applied = sim.last.joint_impulse[-1] / h
        inertia = sim.model.inertia[0].max() + 2 * 0.25
        expected = limit if not lifts else min(limit, torque + inertia * 0.2 / h)
        assert applied == pytest.approx(expected, rel=1e-2 if lifts and applied < limit else 1e-9)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_position_servo_is_the_implicit_damped_oscillator(h: float) -> None:
    """Trap 6: λ = −kp (q⁺ − target) − kd q̇⁺; damping must not become a stiffness kd / h."""
    kp, kd, m, target = 50.0, 4.0, 2.0, 0.3
    sim = perp.Simulation(cart(f'<position joint="rail" kp="{kp}" kv="{kd}"/>'), step=h)
    x = v = 0.0
    for _ in range(60):
        sim.step([target])
        v = (m * v - h * kp * (x - target)) / (m + h * kd + h * h * kp)
        x += h * v
        assert sim.body("cart").position[0] == pytest.approx(x, abs=1e-9)
        assert sim.body("cart").velocity[0] == pytest.approx(v, abs=1e-8)


def test_position_servo_against_the_analytic_oscillator() -> None:
    kp, kd, m, target, h = 50.0, 4.0, 2.0, 0.3, 1e-3
    sim = perp.Simulation(cart(f'<position joint="rail" kp="{kp}" kv="{kd}"/>'), step=h)
    recording = sim.run(1.5, [target])
    decay, omega = kd / (2 * m), math.sqrt(kp / m - (kd / (2 * m)) ** 2)
    t = recording.time
    exact = target * (1 - np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t)))
    assert recording.position("cart")[:, 0] == pytest.approx(exact, abs=2e-3)


def test_damping_alone_has_no_rest_position() -> None:
    h, d, m = 0.01, 3.0, 2.0
    sim = perp.Simulation(cart(joint=f'damping="{d}"'), step=h)
    sim.body("cart").set_velocity((1, 0, 0))
    sim.run(0.5)
    assert sim.body("cart").velocity[0] == pytest.approx((1 + h * d / m) ** -50, rel=1e-9)
    assert sim.body("cart").position[0] == pytest.approx(m / d * (1 - (1 + h * d / m) ** -50), rel=1e-9)


def test_a_force_motor_pushes_and_is_clipped() -> None:
    sim = perp.Simulation(cart('<motor joint="rail" gear="2" forcerange="-3 3"/>'), step=0.01)
    sim.run(0.5, [1.0])
    assert sim.body("cart").velocity[0] == pytest.approx(2.0 / 2 * 0.5, rel=1e-12)
    sim.run(0.5, [100.0])
    assert sim.body("cart").velocity[0] == pytest.approx(0.5 + 6.0 / 2 * 0.5, rel=1e-12)


def test_controls_are_checked_and_may_be_given_by_name() -> None:
    sim = perp.Simulation(cart('<motor name="push" joint="rail"/>'), step=0.01)
    sim.set_control({"push": 4.0})
    sim.step()
    assert sim.body("cart").velocity[0] == pytest.approx(0.02)
    with pytest.raises(perp.ProblemError, match="nan"):
        sim.step([float("nan")])
    with pytest.raises(perp.ProblemError, match="it needs 1"):
        sim.step([1.0, 2.0])
    with pytest.raises(perp.PerpError, match="there are: push"):
        sim.set_control({"pull": 1.0})
