"""Motion without contacts against what is known of it, in both coordinates, at steps that people use."""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.scenes.frames import rotate

BOTH = ["maximal", "reduced"]


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize(("angle", "bound"), [(math.pi / 2, 0.3), (2.0, 0.5), (2.5, 0.75), (3.0, 1.0)])
def test_a_double_pendulum_shows_no_spike(angle: float, bound: float, coordinates: str, joint: str) -> None:
    """At 10 ms it gained 5.8 J of 9 in one spike; the energy between hanging and standing is 19.6 J."""
    chain = library.chain(2, length=0.5, joint=joint, angle=angle)
    run = perp.Simulation(chain, step=0.01, coordinates=coordinates).run(10.0)
    assert np.abs(run.energy - run.start_energy).max() < bound


@pytest.mark.parametrize(
    ("spin", "radius", "height", "coordinates"),
    [
        (100.0, 0.05, 0.03, "maximal"),
        (100.0, 0.05, 0.03, "reduced"),
        (200.0, 0.05, 0.05, "maximal"),
        (200.0, 0.05, 0.05, "reduced"),
    ],
)
def test_a_fast_top_precesses_at_its_rate(
    spin: float, radius: float, height: float, coordinates: str
) -> None:
    """21 % too slow in reduced coordinates at 5 ms. Steady precession Ω: I₁ Ω² cos θ − I₃ ω₃ Ω + m g l = 0."""
    tilt, mass = 0.4, 1.0
    axial, across = 0.5 * mass * radius**2, 0.25 * mass * radius**2
    a, b = (across + mass * height**2) * math.cos(tilt), axial * spin
    rate = (b - math.sqrt(b * b - 4 * a * mass * library.GRAVITY * height)) / (2 * a)
    body = (
        f'<body name="top" euler="0 {tilt} 0"><joint name="tip" type="ball"/>'
        f'<inertial pos="0 0 {height}" mass="{mass}" diaginertia="{across} {across} {axial}"/></body>'
    )
    sim = perp.Simulation(library.scene(body), step=0.005, coordinates=coordinates)
    axis, up = np.array([math.sin(tilt), 0, math.cos(tilt)]), np.array([0.0, 0, 1])
    omega = spin * axis + rate * (up - (up @ axis) * axis)
    if coordinates == "reduced":
        c, s = math.cos(tilt), math.sin(tilt)
        sim.joint("tip").set_velocity(np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) @ omega)
    else:
        sim.body("top").set_velocity(angular=omega)
    run = sim.run(1.0)
    pointing = np.array([rotate(q, np.array([0.0, 0, 1])) for q in run.quaternions[:, 0]])
    turned = np.unwrap(np.arctan2(pointing[:, 1], pointing[:, 0]))
    assert np.polyfit(run.time, turned, 1)[0] == pytest.approx(rate, rel=0.01)
    assert np.ptp(np.arccos(pointing[:, 2])) < 0.02


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("speed", [5.0, 10.0])
def test_dzhanibekovs_body_keeps_its_angular_momentum(speed: float, coordinates: str) -> None:
    """At 10 ms it lost 3 % in reduced coordinates; |L| to 1e-6, and where L points to 1e-3."""
    body = '<body name="t"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body>'
    sim = perp.Simulation(library.scene(body, gravity=(0.0, 0.0, 0.0)), step=0.01, coordinates=coordinates)
    sim.body("t").set_velocity(angular=(0.01, speed, 0.01))
    start = np.array([0.01, 2 * speed, 0.03])
    run = sim.run(10.0)
    momenta = run.of("angular_momentum")
    size = np.linalg.norm(start)
    assert np.linalg.norm(momenta, axis=1) == pytest.approx(size, rel=1e-6)
    assert np.linalg.norm(momenta - start, axis=1).max() < 1e-3 * size
    # it turned over, which is what makes it hard
    assert min(rotate(q, np.array([0.0, 1, 0]))[1] for q in run.quaternions[:, 0]) < -0.9


@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize("speed", [20.0, 60.0, 200.0, 390.0])
def test_a_body_that_tumbles_by_radians_a_step_keeps_what_it_has(speed: float, coordinates: str) -> None:
    """At 2 rad a step the midpoint rule gained 58 % of the energy: its fixed point does not converge."""
    body = '<body name="t"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body>'
    sim = perp.Simulation(library.scene(body, gravity=(0.0, 0.0, 0.0)), step=0.01, coordinates=coordinates)
    sim.body("t").set_velocity(angular=(0.01, speed, 0.01))
    start = np.array([0.01, 2 * speed, 0.03])
    run = sim.run(5.0)
    size = np.linalg.norm(start)
    momenta = run.of("angular_momentum")
    assert np.linalg.norm(momenta, axis=1) == pytest.approx(size, rel=1e-9)
    assert np.linalg.norm(momenta - start, axis=1).max() < 3e-3 * size
    assert run.energy == pytest.approx(run.start_energy, rel=1e-9)


@pytest.mark.parametrize("coordinates", BOTH)
def test_whole_turns_within_a_step_are_not_lost(coordinates: str) -> None:
    """400 rad/s about a principal axis: 4 rad a step, which a difference of quaternions takes for −2.28."""
    body = '<body name="t"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body>'
    sim = perp.Simulation(library.scene(body, gravity=(0.0, 0.0, 0.0)), step=0.01, coordinates=coordinates)
    sim.body("t").set_velocity(angular=(0.0, 0.0, 400.0))
    run = sim.run(1.0)
    turned = np.array([math.cos(200.0), 0.0, 0.0, math.sin(200.0)])
    assert abs(run.quaternions[-1, 0] @ turned) == pytest.approx(1.0, abs=1e-12)
    assert sim.body("t").angular_velocity == pytest.approx([0.0, 0.0, 400.0], rel=1e-12)


def test_a_chain_of_hinges_that_turns_by_radians_a_step_neither_explodes_nor_stops() -> None:
    """Sweeps do not converge there: with what they had last a pendulum went from 300 rad/s to 1e149."""
    link = '<joint axis="1 0 0"/><geom pos="0 0.5 0" size="0.15" mass="1" contype="0" conaffinity="0"/>'
    sim = perp.Simulation(
        f"""<mujoco><option gravity="0 0 0"/><worldbody><body>{link}<body pos="0 0.5 0">{link}</body></body>
        </worldbody></mujoco>""",
        step=0.005,
        coordinates="reduced",
    )
    sim.qvel = np.array([-70.0, 400.0])
    recording = sim.run(0.5)
    assert np.isfinite(sim.qpos).all()
    assert 0.5 * recording.start_energy < recording.energy.min()
    assert recording.energy.max() < 1.5 * recording.start_energy
