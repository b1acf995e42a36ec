"""Boxes: resting force, holding on a slope, sliding to a stop, stacks.

Against closed forms at several steps.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.scenes import library

G = library.GRAVITY
STEPS = [1e-4, 1e-3, 1e-2, 5e-2]
WAYS = [
    {"coordinates": "maximal"},
    {"coordinates": "reduced"},
    {"level": "velocity"},
    {"level": "velocity", "solver": "newton"},
    {"solver": "block-gauss-seidel"},
]
NAMES = ["maximal", "reduced", "velocity", "velocity by newton", "by gauss-seidel"]


@pytest.mark.parametrize("options", WAYS, ids=NAMES)
@pytest.mark.parametrize("h", STEPS)
def test_a_resting_box_weighs_what_it_weighs(h: float, options: dict) -> None:
    """Trap 1 and 2 of the notes: a smoothed complementarity gives 12 N to 40 N at 1 ms."""
    sim = perp.Simulation(library.box_on_plane(mass=1.0), step=h, **options)
    recording = sim.run(8 * h)
    for record in recording.records:
        force = record.contact_forces().sum(axis=0)
        assert force == pytest.approx([0.0, 0.0, G], abs=1e-7 * G)
        assert record.met
    assert abs(sim.body("box").position[2] - 0.05) < 1e-10


@pytest.mark.parametrize("options", WAYS, ids=NAMES)
def test_a_warm_resting_step_takes_one_iteration(options: dict) -> None:
    """Trap 8: friction off in a first iteration, or warm starts lost, would show here."""
    sim = perp.Simulation(library.box_on_plane(slope=0.2), step=0.01, **options)
    records = sim.run(0.1).records
    assert max(record.iterations for record in records[3:]) <= 1


@pytest.mark.parametrize("options", WAYS, ids=NAMES)
@pytest.mark.parametrize("h", STEPS)
def test_a_box_holds_at_half_the_friction_angle(h: float, options: dict) -> None:
    """Trap 3: a floor on the sliding speed makes it creep by 1e-5 to 1e-3 m/s."""
    mu = 0.5
    sim = perp.Simulation(library.box_on_plane(friction=mu, slope=0.5 * math.atan(mu)), step=h, **options)
    sim.run(50 * h)
    moved = np.linalg.norm(sim.body("box").position - [0, 0, 0.05])
    assert moved / sim.time < 1e-9
    assert set(sim.last.sticking) <= {-1, 1}
    assert 1 in sim.last.sticking


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("options", WAYS[:4], ids=NAMES[:4])
def test_a_cube_slides_as_far_as_the_step_predicts(h: float, options: dict) -> None:
    # a tenth of a millisecond needs 12,000 steps for 6 m/s: those are in benchmarks/long_runs.py
    mu, speed = 0.5, 6.0 if h > 2e-4 else 0.1
    sim = perp.Simulation(library.box_on_plane(friction=mu), step=h, **options)
    sim.body("box").set_velocity((speed, 0, 0))
    # each step loses μ g h, then moves with the new speed
    whole = int(speed / (mu * G * h))
    predicted = h * sum(speed - k * mu * G * h for k in range(1, whole + 1))
    heights = []
    while sim.time < speed / (mu * G) + 3 * h:
        sim.step()
        heights.append(sim.body("box").position[2])
    x, y, _ = sim.body("box").position
    assert np.abs(np.array(heights) - 0.05).max() < 1e-9
    assert x == pytest.approx(predicted, abs=1e-7)
    assert abs(y) < 1e-7
    assert 0 < speed**2 / (2 * mu * G) - x < 0.51 * h * speed


def test_a_box_beyond_the_friction_angle_accelerates_as_it_should() -> None:
    mu, slope, h = 0.3, 0.5, 0.01
    sim = perp.Simulation(library.box_on_plane(friction=mu, slope=slope), step=h)
    sim.run(0.5)
    acceleration = G * (math.sin(slope) - mu * math.cos(slope))
    assert sim.body("box").velocity == pytest.approx([acceleration * 0.5, 0, 0], abs=1e-8)
    assert set(sim.last.sticking) <= {-1, 0}


@pytest.mark.parametrize(("count", "ratio"), [(20, 1.0), (10, 2.0)])
@pytest.mark.parametrize(
    ("coordinates", "h"),
    [("maximal", 1e-4), ("maximal", 1e-3), ("maximal", 1e-2), ("maximal", 5e-2), ("reduced", 1e-2)],
)
def test_stacks_stand(count: int, ratio: float, coordinates: str, h: float) -> None:
    sim = perp.Simulation(library.stack(count, ratio=ratio), step=h, coordinates=coordinates)
    start = sim.state.position.copy()
    recording = sim.run(30 * h)
    assert np.abs(sim.state.position - start).max() < 1e-7
    assert recording.of("penetration").max() < 1e-9
    ground = sim.last.contacts.geom[:, 0] == 0
    weight = G * sum(ratio**i for i in range(count))
    assert sim.last.contact_forces()[ground, 2].sum() == pytest.approx(weight, rel=1e-6)


@pytest.mark.parametrize(("h", "steps"), [(1e-4, 200), (1e-3, 200), (5e-3, 400), (1e-2, 200), (5e-2, 100)])
def test_a_card_house_stands(h: float, steps: int) -> None:
    sim = perp.Simulation(library.card_house(), step=h)
    start = sim.state.position.copy()
    met = [sim.step().met for _ in range(steps)]
    assert sim.model.body_count == 7
    assert np.abs(sim.state.position - start).max() < 1e-9
    assert all(met)
