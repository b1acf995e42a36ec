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


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
def test_sliding_turns_into_rolling_after_2v_over_7_mu_g(h: float) -> None:
    speed, mu = 2.0, 0.2
    sim = perp.Simulation(library.sphere_on_plane(friction=mu), step=h)
    sim.body("sphere").set_velocity((speed, 0, 0))
    recording = sim.run(0.35)
    v = recording.velocity("sphere")
    rolling = recording.time[np.argmax(np.abs(v[:, 0] - 0.1 * v[:, 4]) < 1e-9)]
    exact = 2 * speed / (7 * mu * G)
    assert exact <= rolling <= exact + h * (1 + 1e-6)
    assert v[-1, 0] == pytest.approx(5 / 7 * speed, rel=1e-9)


@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_ball_bounces_with_e_times_its_speed(h: float, level: str) -> None:
    e = 0.7
    sim = perp.Simulation(library.sphere_on_plane(height=0.5), step=h, restitution=e, level=level)
    bounces, energy = 0, np.inf
    for _ in range(int(1.5 / h)):
        before = sim.state.velocity[0, 2]
        record = sim.step()
        after = sim.state.velocity[0, 2]
        if before < -2 * G * h and after > 0:
            assert after == pytest.approx(-e * before, rel=1e-9)
            bounces += 1
        assert record.energy <= energy + 0.5 * (G * h) ** 2 + 1e-12
        energy = record.energy
    assert bounces >= 3


def test_a_resting_stack_with_restitution_gains_no_energy() -> None:
    """Restitution of contacts that do not close would lift a resting box."""
    sim = perp.Simulation(library.stack(5), step=0.01, restitution=0.5)
    energy = sim.run(0.5).of("energy")
    assert np.diff(energy).max() < 1e-9
    assert np.abs(sim.state.velocity).max() < 1e-8


def test_newtons_cradle_is_not_a_cradle_with_newtons_law() -> None:
    """Simultaneous impacts with Newton's law: momentum and energy bounds hold, the pattern is another one."""
    spheres = "".join(
        f'<body name="s{i}" pos="{0.2 * i + (0 if i else -0.05)} 0 0"><freejoint/>'
        f'<geom type="sphere" size="0.1" mass="1" friction="0 0 0"/></body>'
        for i in range(3)
    )
    sim = perp.Simulation(library.scene(spheres, gravity=(0.0, 0.0, 0.0)), step=0.01, restitution=1.0)
    sim.body("s0").set_velocity((1, 0, 0))
    sim.run(0.2)
    speeds = [sim.body(f"s{i}").velocity[0] for i in range(3)]
    assert sum(speeds) == pytest.approx(1.0, abs=1e-9)
    assert sum(v * v for v in speeds) <= 1 + 1e-9
    assert speeds[0] <= speeds[1] + 1e-9 <= speeds[2] + 2e-9


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_rolling_friction_stops_a_sphere_when_it_should(h: float) -> None:
    """Rolling(μ, μ_r): the torque μ_r N slows the rolling sphere by a = μ_r N / (7/5 m r)."""
    length, speed, radius = 0.002, 0.3, 0.1
    sim = perp.Simulation(library.sphere_on_plane(rolling=length, radius=radius), step=h)
    sim.body("sphere").set_velocity((speed, 0, 0), (0, speed / radius, 0))
    sim.run(0.5)
    slowing = length * G / (1.4 * radius)
    assert sim.body("sphere").velocity[0] == pytest.approx(speed - 0.5 * slowing, rel=1e-6)
    sim.run(speed / slowing - 0.5 + 2 * h)
    assert np.abs(sim.state.velocity).max() < 1e-9
    assert sim.last.contacts.rows[0] == 5
