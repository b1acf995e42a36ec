"""Steps that are divided at impacts: states and derivatives against closed forms.

Three tasks in which simulators that do not know the time of an impact have wrong gradients, after Zhong, Han,
Dey and Brikis (arXiv 2305.00092): two balls head-on, two balls that meet at an angle, so that the normal
depends on when, and a ball that bounces under gravity.
"""

from __future__ import annotations

import numpy as np
import pytest

import perp

RADIUS = 0.1
BALL = f'<geom type="sphere" size="{RADIUS}" friction="0"/>'
COORDINATES = pytest.mark.parametrize("coordinates", ["reduced", "maximal"])


def two_balls(place: str) -> str:
    bodies = (
        f'<body name="a" pos="0 0 1"><freejoint/>{BALL}</body><body name="c" pos="{place} 1"><freejoint/>'
    )
    return f'<mujoco><option gravity="0 0 0"/><worldbody>{bodies}{BALL}</body></worldbody></mujoco>'


def run(sim: perp.Simulation, steps: int) -> np.ndarray:
    """Derivative of the state after some steps by that of the start."""
    change = None
    for _ in range(steps):
        A = sim.derivatives().A
        change = A if change is None else A @ change
        sim.step()
    assert change is not None
    return change


def slopes(f, x):
    step = 1e-6 * np.eye(x.size)
    return np.array([(np.array(f(x + e)) - np.array(f(x - e))) / 2e-6 for e in step]).T


@COORDINATES
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_billiard(coordinates, level):
    """x₂(T) = x₁ + 2 r + v₁ T: by (x₁, x₂, v₁ T, v₂ T) that is (1, 0, 1, 0)."""
    sim = perp.Simulation(
        two_balls("0.4371 0"), step=0.01, restitution=1.0, coordinates=coordinates, level=level, impacts=True
    )
    sim.body("a").set_velocity([1, 0, 0], [0, 0, 0])
    change = run(sim, 50)
    assert sim.body("c").position[0] == pytest.approx(0.5 + 2 * RADIUS, abs=1e-9)
    np.testing.assert_allclose(change[6, [0, 6, 12, 18]], [1, 0, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(change[18, [0, 6, 12, 18]], [0, 0, 1, 0], atol=1e-6)


def oblique(x: np.ndarray) -> np.ndarray:
    """Where the second ball is after half a second; x: places in the plane and velocity of the first."""
    d, v = x[2:4] - x[:2], x[4:]
    b, a = d @ v, v @ v
    time = (b - np.sqrt(b * b - a * (d @ d - 4 * RADIUS**2))) / a
    n = (d - v * time) / (2 * RADIUS)
    return x[2:4] + (v @ n) * n * (0.5 - time)


def test_balls_that_meet_at_an_angle():
    sim = perp.Simulation(
        two_balls("0.4371 0.07"), step=0.01, restitution=1.0, coordinates="reduced", impacts=True
    )
    sim.body("a").set_velocity([1, 0.1, 0], [0, 0, 0])
    change, start = run(sim, 50), np.array([0, 0, 0.4371, 0.07, 1, 0.1])
    np.testing.assert_allclose(sim.body("c").position[:2], oblique(start), atol=1e-5)
    np.testing.assert_allclose(
        change[np.ix_([6, 7], [0, 1, 6, 7, 12, 13])], slopes(oblique, start), atol=1e-4
    )


def bounced(x: np.ndarray) -> np.ndarray:
    """Height after 0.4 s of a ball from height and velocity x, with restitution 0.8."""
    g = 9.81
    time = (x[1] + np.sqrt(x[1] ** 2 + 2 * g * (x[0] - RADIUS))) / g
    after, left = 0.8 * (g * time - x[1]), 0.4 - time
    return np.array([RADIUS + after * left - 0.5 * g * left**2])


@pytest.mark.parametrize(("impacts", "right"), [(True, True), (False, False)])
def test_ball_that_bounces_under_gravity(impacts, right):
    """First order in the step; without impacts of their own the derivative stays wrong however short it is."""
    floor = '<geom type="plane" size="5 5 1"/>'
    ball = f'<body name="a" pos="0 0 .5"><freejoint/>{BALL}</body>'
    text = f"<mujoco><worldbody>{floor}{ball}</worldbody></mujoco>"
    sim = perp.Simulation(text, step=5e-4, restitution=0.8, coordinates="reduced", impacts=impacts)
    sim.body("a").set_velocity([0, 0, -0.3], [0, 0, 0])
    change, start = run(sim, 800), np.array([0.5, -0.3])
    assert sim.body("a").position[2] == pytest.approx(bounced(start)[0], abs=2e-3)
    assert np.allclose(change[2, [2, 8]], slopes(bounced, start)[0], atol=6e-3) == right


def test_differences_of_a_divided_step_agree():
    text = (
        f'<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="a" pos="0 0 .5"><freejoint/>{BALL}'
    )
    text = text.replace('friction="0"', 'friction="0.3"') + "</body></worldbody></mujoco>"
    sim = perp.Simulation(text, step=0.01, restitution=0.8, coordinates="reduced", impacts=True)
    sim.body("a").set_velocity([0.2, 0.1, -0.3], [0.3, 0.2, 0.1])
    before = sim.snapshot()
    while sim.qvel[2] < 0:
        before = sim.snapshot()
        sim.step()
    sim.restore(before)
    found = sim.derivatives(("gravity", "restitution", "mass:a"), verify=True)
    g = np.arange(12.0)
    np.testing.assert_allclose(found.vjp(g)[0], found.A.T @ g)
    gradient = perp.rollout_gradient(
        sim, np.zeros((3, 0)), lambda k, sim: (0.0, np.eye(12)[2]) if k == 3 else None
    )
    assert gradient.state[2] < 0.0  # an earlier bounce is a higher ball
    with pytest.raises(perp.ProblemError, match="smoothing"):
        sim.derivatives(smoothing=1e-3)


def test_batches_refuse():
    sim = perp.Simulation(two_balls("0.4 0"), step=0.01, impacts=True)
    with pytest.raises(perp.ProblemError, match="impacts"):
        perp.Batch(sim, 2)
