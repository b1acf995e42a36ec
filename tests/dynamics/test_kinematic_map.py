"""G(q) against the derivative of a rotation, and how far its update is from the exponential map."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.dynamics.kinematic_map import advanced_by_map, kinematic_map, kinematic_residual
from perp.scenes.frames import multiply

THETA = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])


def turned(theta, omega, h):
    """The quaternion after turning with ω for a time h, exactly."""
    angle = h * np.linalg.norm(omega)
    axis = omega / np.linalg.norm(omega)
    return multiply(np.r_[np.cos(angle / 2), np.sin(angle / 2) * axis], theta)


def test_it_is_the_derivative_of_a_rotation():
    u = np.array([1.0, 2.0, 3.0, 0.3, -0.4, 0.5])
    rate = kinematic_map(THETA) @ u
    slope = (turned(THETA, u[3:], 1e-6) - turned(THETA, u[3:], -1e-6)) / 2e-6
    assert rate[:3].tolist() == [1, 2, 3]
    assert rate[3:] == pytest.approx(slope, abs=1e-9)
    assert np.abs(kinematic_map(THETA)[3:, 3:].T @ THETA).max() < 1e-15  # the length of θ stays


@pytest.mark.parametrize("angle", [1.0, 0.1, 0.01])
def test_its_update_turns_by_the_arctangent(angle):
    omega = angle * np.array([0.6, 0.0, 0.8])
    found = advanced_by_map(np.r_[0, 0, 0, THETA], np.r_[0, 0, 0, omega], 1.0)[3:]
    expected = turned(THETA, omega / angle, 2 * np.arctan(angle / 2))
    assert found == pytest.approx(expected, abs=1e-14)
    behind = angle - 2 * np.arctan(angle / 2)
    assert behind == pytest.approx(angle**3 / 12, rel=0.2)


def test_the_residual_of_a_step_is_of_second_order():
    """A torque-free ball, stepped: the exponential map against the implicit update of source 002."""
    scene = """<mujoco><option gravity="0 0 0"/><worldbody><body name="ball"><freejoint/>
    <geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""
    sizes = []
    for h in (0.02, 0.01):
        sim = perp.Simulation(scene, step=h)
        sim.body("ball").set_velocity([1.0, 0, 0], [0.0, 2.0, 1.0])
        before = np.r_[sim.state.position[0], sim.state.quaternion[0]]
        sim.step()
        after = np.r_[sim.state.position[0], sim.state.quaternion[0]]
        after[3:] *= np.sign(after[3:] @ before[3:])
        residual = kinematic_residual(before, after, sim.state.velocity[0], h)
        assert residual[:3] == pytest.approx(np.zeros(3), abs=1e-14)
        sizes.append(np.linalg.norm(residual))
    assert sizes[0] / sizes[1] == pytest.approx(4, rel=0.05)
