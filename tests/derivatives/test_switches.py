"""At a switch of modes the derivative of a step is the one-sided one that it names.

The switch is found by halving: within a zone about it constraints are marked as degenerate, and have the mode
that is named throughout. Each change of the state has a side to which differences agree, and it is the one
with that mode; beyond the zone the derivative is another one.
"""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.derivatives.tangent import moved, size
from perp.simulation.gradients.step_differences import differences
from steps_against_differences import ARM, COORDINATES, LOOP, SERVO, body, scene

LEVELS = pytest.mark.parametrize("level", ["position", "velocity"])
SPHERE = '<geom type="sphere" size=".1" friction="0.5 0.01 0.002"{}/>'
MOTOR = '<motor name="p" joint="j1"/>'


def ball(condim, height, velocity):
    """States of a ball by a number: its velocity and spin are velocity(s)."""

    def start(**options):
        sim = scene(body(SPHERE.format(f' condim="{condim}"')), **options)

        def put(s):
            sim.qpos = [0, 0, height, 1, 0, 0, 0]
            sim.body("b").set_velocity(*velocity(s))

        return sim, put

    return start


def mechanism(text, state):
    """States of a mechanism: coordinates, velocities and controls are state(s)."""

    def start(**options):
        sim = perp.Simulation(text, **({"step": 0.01} | options))

        def put(s):
            sim.qpos, sim.qvel, control = state(s)
            if control:
                sim.set_control(control)

        return sim, put

    return start


def arm(motor, rub, state, limited="false"):
    return mechanism(ARM.format(limited=limited, rub=rub, motor=motor), state)


HELD = LOOP.replace('<joint axis="0 1 0"/>', '<joint axis="0 1 0" frictionloss="3"/>', 1)
# What is driven over its switch by s from the first number to the second one, the mode that is named there.
CASES = {
    "opens": (ball(3, 0.1001, lambda s: ([0.3, 0.1, s], [1, 2, 3])), 0.07, 0.3, "open"),
    "opens from an overlap": (ball(3, 0.0999, lambda s: ([0.3, 0.1, s], [1, 2, 3])), 0.07, 0.3, "open"),
    "slides": (ball(3, 0.1001, lambda s: ([s, 0.1, -0.2], [0.1, 0.2, 3])), 0.1, 2.0, "stick"),
    "rolls": (ball(6, 0.1001, lambda s: ([s, 0, -0.2], [0, 10 * s, 0])), 0.001, 2.0, "stick"),
    "spins": (ball(4, 0.1001, lambda s: ([0, 0, -0.2], [0.01, 0.02, s])), 0.001, 20.0, "stick"),
    "leaves its limit": (
        arm(MOTOR, 0.1, lambda s: ([np.pi / 3 - 1e-3, 0.1], [s, 0.3], [0, 0.2]), "true"), -1.0, 2.0, "open",
    ),
    "joint friction slips": (
        arm(MOTOR, 0.1, lambda s: ([0.2, 0.1], [0.2, s], [0, 0.2])), 0.0, 2.0, "upper",
    ),
    "motor reaches its bound": (
        arm(SERVO.format(' forcerange="-1 1"'), 0, lambda s: ([0.2, 0.1], [0.2, 0.3], [s, 0.2])),
        0.2, 3.0, "upper",
    ),
    "friction in a loop": (
        mechanism(HELD, lambda s: ([0, 0, 0], [s, -1.5 * s, -0.5 * s], None)), 0.0, 3.0, "lower",
    ),
}  # fmt: skip


def halve(holds, a, b):
    """Neighbours between a, where something holds, and b, where it does not."""
    assert holds(a)
    assert not holds(b)
    while (middle := 0.5 * (a + b)) not in (a, b):
        a, b = (middle, b) if holds(middle) else (a, middle)
    return a, b


@COORDINATES
@LEVELS
@pytest.mark.parametrize("name", CASES)
def test_named_side(coordinates, level, name):
    start, low, high, named = CASES[name]
    sim, put = start(coordinates=coordinates, level=level, tolerance=1e-11)

    def at(s):
        put(s)
        return sim.derivatives()

    mode = at(low).mode
    edges = halve(lambda s: at(s).mode == mode, low, high)
    inside, beyond = edges if at(edges[0]).degenerate.any() else edges[::-1]
    last, _ = halve(lambda s: at(s).degenerate.any(), inside, low if inside == edges[0] else high)
    other = at(beyond)
    assert not other.degenerate.any()
    found = at(last)
    (switched,) = np.flatnonzero(found.degenerate)
    assert found.mode[switched] == named
    scale = np.abs(found.A).max()
    # one derivative throughout the zone, and another one behind it
    assert np.abs(at(inside).A - found.A).max() <= 1e-4 * scale
    assert np.abs(other.A - found.A).max() >= 1e-2 * scale
    agrees = set()
    for side in (1, -1):
        put(last)
        packed = sim.state.packed.copy()
        rough, fine = (differences(sim, "A", width, side) for width in (1e-6, 5e-7))
        off = np.abs(found.A - (2 * fine - rough)).max(axis=0)
        for k in range(size(sim.stepper)):
            to = moved(sim.stepper, packed, side * 1e-6 * np.eye(size(sim.stepper))[k])
            sim.state = sim.stepper.unpacked(sim.time, to)
            there = sim.derivatives()
            if off[k] <= 1e-6 * scale:
                agrees.add(k)
            elif not there.degenerate.any():
                # what leads out of the zone leads to the other side
                assert there.mode != found.mode, (side, k, off[k])
    assert agrees == set(range(size(sim.stepper)))


@COORDINATES
def test_gap_that_is_closed_at_velocity_level(coordinates):
    """Overlap is given back at a rate, a gap closes at once: with neither the derivative is that of a gap."""
    sim = scene(body(SPHERE.format("")), coordinates=coordinates, level="velocity", tolerance=1e-11)
    sim.body("b").set_velocity([1, 0.3, 0], [0.3, -0.2, 0.4])
    found = sim.derivatives()
    assert found.degenerate.all()
    up, down = (differences(sim, "A", 1e-6, side) for side in (1, -1))
    scale = np.abs(found.A).max()
    assert np.abs(found.A - up)[:, 2].max() <= 1e-5 * scale
    assert np.abs(found.A - down)[:, 2].max() >= 0.1 * scale
