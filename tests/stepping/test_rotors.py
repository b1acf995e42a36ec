"""Rotor inertia of hinges and sliders, and what rotors and springs store, in both kinds of coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipk

import perp
from perp.scenes import library, load_scene

G = library.GRAVITY
# Two hinges at right angles, with links whose principal axes lie along neither: spins change by themselves.
ARM = library.scene(
    '<body name="a" euler="0.4 0.3 0"><joint name="one" axis="0 0 1" armature="0.02"/>'
    '<geom type="box" size="0.2 0.03 0.05" pos="0.15 0 0.05" euler="0.3 0.5 0.2" mass="1" contype="0" '
    'conaffinity="0"/><body name="b" pos="0.3 0 0"><joint name="two" axis="0 1 0" armature="0.01"/>'
    '<geom type="box" size="0.15 0.02 0.04" pos="0.1 0.02 -0.05" euler="0.2 0.7 0.1" mass="0.5" contype="0" '
    'conaffinity="0"/></body></body>'
)


def slider(armature: float, extra: str = "", gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> str:
    """A body of 2 kg on a slider along x."""
    return library.scene(
        f'<body name="cart"><joint name="x" type="slide" axis="1 0 0" armature="{armature!r}" {extra}/>'
        '<geom type="box" size="0.1 0.1 0.1" mass="2"/></body>',
        gravity=gravity,
    )


@pytest.mark.parametrize("armature", [0.05, 5.0])
def test_pendulum_with_a_rotor_has_the_period_of_the_sum_of_inertias(armature: float) -> None:
    """T = 4 √((I + I_a) / m g l) K(sin² θ₀/2) (elliptic integral)."""
    rod = (
        f'<body name="rod" euler="0 0.5 0"><joint name="j" axis="0 1 0" armature="{armature!r}"/><geom '
        'type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1" contype="0" conaffinity="0"/></body>'
    )
    sim = perp.Simulation(library.scene(rod), step=1e-3, coordinates="maximal")
    inertia = sim.model.inertia[0].max() + 0.25**2 + armature
    period = 4 * math.sqrt(inertia / (G * 0.25)) * ellipk(math.sin(0.25) ** 2)
    recording = sim.run(1.1 * period)
    time, spin = recording.time, recording.velocity("rod")[:, 4]
    turns = np.flatnonzero(spin[:-1] * spin[1:] < 0)
    crossing = time[turns] - spin[turns] * 1e-3 / (spin[turns + 1] - spin[turns])
    assert crossing[1] == pytest.approx(period, rel=5e-6)
    # the energy with the rotor's is kept to the first order of the step, without drift
    energy = recording.of("energy") - recording.start_energy
    assert np.abs(energy).max() < 2e-3
    assert recording.start_energy == pytest.approx(-G * 0.25 * math.cos(0.5))


@pytest.mark.parametrize("h", [1e-3, 5e-2])
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_rotor_adds_its_inertia_and_no_weight(h: float, level: str) -> None:
    """v = m g t / (m + I_a), at every step size."""
    sim = perp.Simulation(slider(3.0, gravity=(G, 0.0, 0.0)), step=h, coordinates="maximal", level=level)
    sim.run(1.0)
    assert sim.body("cart").velocity[0] == pytest.approx(2 * G / 5, rel=1e-9)
    assert sim.last.kinetic_energy == pytest.approx(0.5 * 5 * (2 * G / 5) ** 2, rel=1e-9)


def test_rotors_in_maximal_and_reduced_coordinates_agree_to_the_order_of_the_step() -> None:
    """And better: the rates of rotors telescope, also where spins of bodies change without torque."""
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        ends = []
        for coordinates in ("maximal", "reduced"):
            sim = perp.Simulation(ARM, step=h, coordinates=coordinates)
            sim.run(0.5)
            ends.append([sim.joint(name).position for name in ("one", "two")])
        errors.append(np.abs(np.subtract(*ends)).max())
    assert errors[0] < 1e-5
    assert errors[2] < 0.5 * errors[0]


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("armature", [0.0, 3.0])
def test_energy_of_an_implicit_spring_falls_by_1_plus_h2_omega2_per_step(
    coordinates: str, armature: float
) -> None:
    """Implicit Euler's oscillator: E⁺ = E / (1 + h² k / (m + I_a)), with spring and rotor in the record."""
    h, k, rest = 0.01, 50.0, 0.3
    text = slider(armature, f'stiffness="{k}" springref="{rest}"')
    sim = perp.Simulation(text, step=h, coordinates=coordinates)
    recording = sim.run(0.5)
    start = 0.5 * k * rest**2
    assert recording.start_energy == pytest.approx(start, rel=1e-12)
    loss = 1 + h * h * k / (2 + armature)
    steps = np.arange(1, recording.time.size + 1)
    assert recording.of("energy") == pytest.approx(start * loss**-steps, rel=1e-7)
    assert sim.copy().run(h).start_energy == pytest.approx(recording.of("energy")[-1], rel=1e-12)


@pytest.mark.parametrize("armature", [0.0, 3.0, 100.0])
def test_a_spring_alone_gives_the_step_its_scale(armature: float) -> None:
    """At rest without gravity only the spring says what is fast: the first step needs no retry."""
    sim = perp.Simulation(
        slider(armature, 'stiffness="50" springref="0.3"'), step=0.01, coordinates="maximal"
    )
    record = sim.step()
    assert record.met
    speed = 0.01 * 50 * 0.3 / (2 + armature + 0.01**2 * 50)
    assert sim.body("cart").velocity[0] == pytest.approx(speed, rel=1e-8)


def test_a_copy_goes_on_to_the_same_bits_and_a_new_velocity_reaches_the_rotor() -> None:
    sim = perp.Simulation(ARM, step=1e-3, coordinates="maximal")
    sim.run(0.1)
    other = sim.copy()
    sim.run(0.05)
    other.run(0.05)
    assert np.array_equal(sim.state.velocity, other.state.velocity)
    cart = perp.Simulation(slider(3.0), step=1e-3, coordinates="maximal")
    cart.run(0.01)
    cart.body("cart").set_velocity((2, 0, 0))
    cart.run(0.01)
    assert cart.body("cart").velocity[0] == pytest.approx(2.0, rel=1e-9)


def test_scenes_with_rotors_are_stepped_in_reduced_coordinates_unless_asked_otherwise() -> None:
    assert perp.Simulation(ARM, step=1e-3).coordinates == "reduced"
    assert str(load_scene(ARM).report) == "nothing was ignored"
    ball = library.scene('<body><joint type="ball" armature="1"/><geom size="0.1"/></body>')
    assert str(load_scene(ball).report) == "nothing was ignored"
    loose = library.scene('<body><joint type="free" armature="1"/><geom size="0.1"/></body>')
    assert "rotor inertia" in str(load_scene(loose).report)
