"""Free rigid-body motion: momentum, energy and the period of a tumbling body."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipk

import perp
from moved import moved
from perp.compilation.kernel import whole
from perp.dynamics.motion import rotation_matrices, turn, turn_coefficients
from perp.scenes.library import scene
from perp.stepping.fast_turns import mean_spin

MOMENTS = np.array([1.0, 2.0, 3.0])


def tumble(omega: np.ndarray, h: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Body rates, world momenta and energies of a torque-free body, one line per step."""
    x, quat = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
    R, spin, u = np.eye(3)[None], MOMENTS * omega, np.zeros((1, 6))
    rates, momenta = np.empty((steps, 3)), np.empty((steps, 3))
    for k in range(steps):
        rates[k] = R[0].T @ spin / MOMENTS
        momenta[k] = R[0] @ (MOMENTS * rates[k])
        u[0, 3:] = R[0] @ whole(mean_spin)(*rates[k], tuple(MOMENTS.tolist()), h)
        x, quat = moved(x, quat, u, h)
        whole(rotation_matrices)(quat, R)
    return rates, momenta, 0.5 * (MOMENTS * rates**2).sum(axis=1)


def elliptic_period(omega: np.ndarray) -> float:
    """Period of the body rates of an asymmetric body (Landau and Lifshitz, Mechanics, § 37)."""
    I1, I2, I3 = MOMENTS
    M2, E2 = ((MOMENTS * omega) ** 2).sum(), (MOMENTS * omega**2).sum()
    if M2 < E2 * I2:
        I1, I3 = I3, I1
    k2 = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    return 4 * ellipk(k2) * math.sqrt(I1 * I2 * I3 / ((I3 - I2) * (M2 - E2 * I1)))


def test_momentum_of_a_tumbling_body_over_10_s_at_1_ms() -> None:
    _, momenta, energy = tumble(np.array([0.01, 5.0, 0.01]), 1e-3, 10_000)
    size = np.linalg.norm(momenta[0])
    assert np.abs(momenta - momenta[0]).max() <= 1e-10 * size
    assert np.ptp(energy) <= 1e-5 * energy[0]


@pytest.mark.parametrize(
    ("omega", "h"), [((0.01, 5.0, 0.01), 1e-3), ((1.0, 3.0, 0.2), 2e-3), ((0.3, 2.0, 2.0), 1e-3)]
)
def test_dzhanibekov_period_landau_lifshitz_37(omega: tuple[float, float, float], h: float) -> None:
    start = np.array(omega)
    period = elliptic_period(start)
    rates, _, _ = tumble(start, h, int(2.2 * period / h))
    axis = 0 if (MOMENTS * start) @ (MOMENTS * start) < 2 * (MOMENTS * start) @ start else 2
    # a rate that passes through zero does so twice a period
    signal = rates[:, 1] if np.ptp(np.sign(rates[:, 1])) == 2 else rates[:, axis]
    signs = np.flatnonzero(np.diff(np.sign(signal)))
    crossings = signs + signal[signs] / (signal[signs] - signal[signs + 1])
    measured = h * (crossings[2] - crossings[0])
    assert measured == pytest.approx(period, rel=2e-4)


def test_the_tumbling_period_is_second_order_in_the_step() -> None:
    start = np.array([1.0, 3.0, 0.2])
    period, errors = elliptic_period(start), []
    for h in (0.02, 0.01):
        rates, _, _ = tumble(start, h, int(2.2 * period / h))
        signs = np.flatnonzero(np.diff(np.sign(rates[:, 1])))
        crossings = signs + rates[signs, 1] / (rates[signs, 1] - rates[signs + 1, 1])
        errors.append(abs(h * (crossings[2] - crossings[0]) - period))
    assert errors[1] < 0.35 * errors[0]


def test_eulers_equation_has_the_right_sign() -> None:
    """I ω̇ = −ω × I ω: over a short time the body rates change by that much (the published code has +)."""
    omega = np.array([1.0, 2.0, 3.0])
    rates, _, _ = tumble(omega, 1e-5, 2)
    expected = -np.cross(omega, MOMENTS * omega) / MOMENTS
    assert (rates[1] - rates[0]) / 1e-5 == pytest.approx(expected, rel=1e-4)


def test_the_kinematic_map_is_the_exponential() -> None:
    x, quat = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
    u = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 40.0]])
    new_x, new_quat = moved(x, quat, u, 0.1)
    assert new_x[0] == pytest.approx([0.1, 0.2, 0.3])
    assert new_quat[0] == pytest.approx([math.cos(2.0), 0, 0, math.sin(2.0)], abs=1e-15)


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_simulated_body_keeps_its_angular_momentum(level: str) -> None:
    inertial = '<inertial pos="0.1 0 0" mass="2" fullinertia="1.5 2 3 0.1 0.2 -0.1"/>'
    body = f'<body name="t"><freejoint/>{inertial}</body>'
    sim = perp.Simulation(scene(body, gravity=(0.0, 0.0, 0.0)), step=1e-3, level=level)
    sim.body("t").set_velocity((0.1, 0, 0), (1.0, 4.0, 0.5))
    momentum = sim.run(0.5).of("angular_momentum")
    assert np.abs(momentum - momentum[0]).max() <= 1e-12 * np.linalg.norm(momentum[0])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 3.1622e-2, 3.1624e-2, 0.3, 3.0])
def test_the_jacobian_of_a_rotation_is_the_mean_of_the_rotations_on_the_way(angle: float) -> None:
    """1 + first [w]× + second [w]×² = ∫₀¹ e^{s [w]×} ds, by Gauss's quadrature."""
    w = angle * np.array([2.0, -1.0, 2.0]) / 3.0
    p = np.array([0.3, 0.7, -0.2])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    mean = sum(
        0.5 * a * np.array(whole(turn)(*(0.5 * (1 + s) * w), *p)) for s, a in zip(nodes, weights, strict=True)
    )
    first, second = whole(turn_coefficients)(*w)
    once = np.cross(w, p)
    np.testing.assert_allclose(p + first * once + second * np.cross(w, once), mean, rtol=0, atol=1e-15)
