"""The force–acceleration form: forces in newtons, accelerations in m/s², against a block on a slope."""

import numpy as np
import pytest

import perp

J = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(("angle", "mu"), [(0.4, 1.0), (0.4, 0.3), (0.0, 0.5)])
def test_block_on_a_slope(angle, mu):
    weight = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    solution = perp.solve(perp.ContactProblem.from_forces(np.eye(3), J, weight, sets=[perp.Coulomb(mu)]))
    normal = 9.81 * np.cos(angle)
    friction = min(9.81 * np.sin(angle), mu * normal)
    assert solution.impulse == pytest.approx([normal, -friction, 0.0], abs=1e-7)
    assert solution.velocity == pytest.approx([0.0, 9.81 * np.sin(angle) - friction, 0.0], abs=1e-7)


def test_bias_is_the_acceleration_of_the_surface():
    """On a lift that accelerates down at 2 m/s² the block weighs less; falling away from it, nothing."""
    weight = np.array([0.0, 0.0, -9.81])
    for lift, force in [(2.0, 7.81), (12.0, 0.0)]:
        problem = perp.ContactProblem.from_forces(np.eye(3), J, weight, [lift, 0, 0], [perp.Coulomb(0.5)])
        assert perp.solve(problem).impulse[0] == pytest.approx(force, abs=1e-8)
