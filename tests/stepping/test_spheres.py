"""Spheres: rolling, the change from sliding to rolling, bouncing, rolling friction."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

G = library.GRAVITY


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_a_pushed_sphere_rolls(h: float) -> None:
    """Trap 5: 2 N on 1 kg without slip gives f = 4/7 N and v(0.3 s) = 3/7 m/s; that is no sticking bug."""
    sim = perp.Simulation(library.sphere_on_plane(), step=h)
    sim.body("sphere").apply(force=(2, 0, 0))
    recording = sim.run(0.3)
    assert sim.last.contact_forces()[0] == pytest.approx([-4 / 7, 0, G], abs=1e-7 * G)
    assert sim.body("sphere").velocity[0] == pytest.approx(3 / 7, rel=1e-8)
    assert sim.body("sphere").angular_velocity[1] == pytest.approx(30 / 7, rel=1e-8)
    assert np.abs(recording.position("sphere")[:, 2] - 0.1).max() < 1e-10


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_sliding_turns_into_rolling_after_2v_over_7_mu_g(h: float) -> None:
    speed, mu = 2.0, 0.2
    sim = perp.Simulation(library.sphere_on_plane(friction=mu), step=h)
    sim.body("sphere").set_velocity((speed, 0, 0))
    recording = sim.run(0.35 + 2 * h)
    v = recording.velocity("sphere")
    rolling = recording.time[np.argmax(np.abs(v[:, 0] - 0.1 * v[:, 4]) < 1e-9)]
    exact = 2 * speed / (7 * mu * G)
    assert exact <= rolling <= exact + h * (1 + 1e-6)
    assert v[-1, 0] == pytest.approx(5 / 7 * speed, rel=1e-9)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_ball_bounces_with_e_times_its_speed(h: float, level: str) -> None:
    e, height = 0.7, 0.5 if h > 2e-4 else 0.02
    sim = perp.Simulation(library.sphere_on_plane(height=height), step=h, restitution=e, level=level)
    bounces, energy = 0, np.inf
    for _ in range(int(1.5 * (height / 0.5) ** 0.5 / h)):
        before = sim.state.velocity[0, 2]
        record = sim.step()
        after = sim.state.velocity[0, 2]
        if before < -2 * G * h and after > 0:
            # a long step with a slow ball would gain more height than the bounce loses speed
            gains = 0.5 * (e * e - 1) * before**2 - G * h * e * before > 0
            assert after <= -e * before * (1 + 1e-9)
            assert gains or after == pytest.approx(-e * before, rel=1e-9)
            bounces += 1
        assert record.energy <= energy + 0.5 * (G * h) ** 2 + 1e-12
        energy = record.energy
    assert bounces >= (3 if h < 0.02 else 1)


def test_a_resting_stack_with_restitution_gains_no_energy() -> None:
    """Restitution of contacts that do not close would lift a resting box."""
    sim = perp.Simulation(library.stack(5), step=0.01, restitution=0.5)
    energy = sim.run(0.5).of("energy")
    assert np.diff(energy).max() < 1e-9
    assert np.abs(sim.state.velocity).max() < 1e-8


def cradle(count: int, moving: int, e: float, apart: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Speeds after `moving` balls at 1 m/s met the others, and the energy over the steps."""
    spheres = "".join(
        f'<body name="s{i}" pos="{(0.2 + apart) * i - (0.05 if i < moving else 0)} 0 0"><freejoint/>'
        f'<geom type="sphere" size="0.1" mass="1" friction="0 0 0"/></body>'
        for i in range(count)
    )
    sim = perp.Simulation(library.scene(spheres, gravity=(0.0, 0.0, 0.0)), step=h, restitution=e)
    for i in range(moving):
        sim.body(f"s{i}").set_velocity((1, 0, 0))
    energy = sim.run(0.3).of("energy")
    return np.array([sim.body(f"s{i}").velocity[0] for i in range(count)]), energy


@pytest.mark.parametrize(("count", "moving", "e"), [(3, 1, 1.0), (5, 1, 1.0), (5, 2, 1.0), (5, 1, 0.5)])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_balls_that_touch_meet_as_two_blocks_with_newtons_law(
    count: int, moving: int, e: float, h: float
) -> None:
    """k balls of n hit the rest: (k − e (n − k)) / n and k (1 + e) / n, as two bodies of mass k and n − k."""
    speeds, energy = cradle(count, moving, e, 0.0, h)
    still = count - moving
    expected = [(moving - e * still) / count] * moving + [moving * (1 + e) / count] * still
    assert speeds == pytest.approx(expected, abs=1e-7)
    lost = 0.5 * moving * still / count * (1 - e**2)
    assert energy[-1] == pytest.approx(0.5 * moving - lost, rel=1e-7)


@pytest.mark.parametrize("moving", [1, 2])
def test_balls_apart_are_newtons_cradle(moving: int) -> None:
    """One impact per step: as many balls leave as came, and energy is kept."""
    speeds, energy = cradle(5, moving, 1.0, 0.005, 1e-3)
    assert speeds == pytest.approx([0.0] * (5 - moving) + [1.0] * moving, abs=1e-9)
    assert energy == pytest.approx(0.5 * moving, rel=1e-9)


def test_gaps_that_close_in_the_step_of_the_impact_close_without_bounce() -> None:
    """v₁ … v₄ differ by g / h at the end of that step; the energy that this costs is the formula's."""
    gap, h = 1e-4, 1e-2
    speeds, energy = cradle(5, 1, 1.0, gap, h)
    first = (2 + 6 * gap / h) / 5
    after = np.array([first - 1, *(first - gap / h * np.arange(4))])
    assert speeds.sum() == pytest.approx(1.0, abs=1e-9)
    assert energy[-1] == pytest.approx(0.5 * (after @ after), rel=1e-9)
    assert sorted(speeds) == pytest.approx(sorted(after), abs=1e-9)


def rolling_deceleration(gyration: float, radius: float, length: float, mu: float) -> float:
    """Of a body with I = gyration · m r² that rolls, with force and torque in one cone [m/s²].

    Along the normal of the cone it slips by u = c ω with c = (f/τ) (μ_r/μ)²; v = ω (r + c), m a = f and I ω̇ =
    f r − τ give τ = m a (r + gyration r² / (r + c)), and the cone is (a/μ)² + (τ / m μ_r)² = g².
    """
    slip, arm = 0.0, radius
    for _ in range(50):
        arm = radius + gyration * radius**2 / (radius + slip)
        slip = (length / mu) ** 2 / arm
    return G / np.hypot(1 / mu, arm / length)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_rolling_friction_stops_a_sphere_when_it_should(h: float) -> None:
    length, radius, mu = 0.002, 0.1, 0.5
    slowing = rolling_deceleration(0.4, radius, length, mu)
    speed = 0.3 if h > 2e-4 else 0.02
    quarter = h * round(0.25 * speed / slowing / h)
    sim = perp.Simulation(library.sphere_on_plane(rolling=length, radius=radius), step=h)
    sim.body("sphere").set_velocity((speed, 0, 0), (0, speed / radius, 0))
    sim.run(quarter)  # in the beginning it does not slip yet
    before = sim.body("sphere").velocity[0]
    assert before == pytest.approx(speed - quarter * slowing, rel=3e-3)
    sim.run(2 * quarter)
    assert before - sim.body("sphere").velocity[0] == pytest.approx(2 * quarter * slowing, rel=1e-6)
    sim.run(quarter + 3 * h)
    assert np.abs(sim.state.velocity).max() < 1e-9
    assert sim.last.contacts.rows[0] == 6


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 5e-2])
def test_rolling_friction_stops_a_disc_when_it_should(h: float) -> None:
    """A disc on its rim has I = m r² / 2: the torque is 3/2 m r a, the force m a, both in one cone."""
    length, speed, radius = 0.002, 0.3 if h > 2e-4 else 0.02, 0.1
    friction = f'friction="0.5 0 {length!r}" condim="6"'
    sim = perp.Simulation(
        library.scene(
            f'<geom type="plane" size="50 50 1" {friction}/><body name="disc" pos="0 0 {radius!r}" '
            f'euler="{np.pi / 2!r} 0 0"><freejoint/>'
            f'<geom type="cylinder" size="{radius!r} 0.02" mass="1" {friction}/></body>'
        ),
        step=h,
    )
    sim.body("disc").set_velocity((speed, 0, 0), (0, speed / radius, 0))
    slowing = rolling_deceleration(0.5, radius, length, 0.5)
    recording = sim.run(speed / slowing + 3 * h)
    v = recording.velocity("disc")[:, 0]
    stopped = recording.time[np.argmax(np.abs(v) < 1e-9)]
    assert stopped == pytest.approx(speed / slowing, abs=2 * h, rel=3e-3)
    rolling = v[int(0.2 * speed / slowing / h) : int(0.9 * speed / slowing / h)]
    assert np.diff(rolling) == pytest.approx(-slowing * h, rel=1e-6)
    steps = np.arange(1, int(speed / (slowing * h)) + 1)
    assert sim.body("disc").position[0] == pytest.approx(h * (speed - steps * slowing * h).sum(), rel=5e-3)
