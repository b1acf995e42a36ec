"""No scene without motors gains energy, whatever its restitution, friction and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BOTH = ["maximal", "reduced"]
# Free flight may lose and regain as much of the energy at the start: the integrator's own oscillation.
FREE_FLIGHT = 2e-3


def rise(sim: perp.Simulation, seconds: float) -> float:
    """The largest rise of the energy above its lowest value before, over the energy at the start.

    The potential energy of these scenes counts from the ground.
    """
    records = [sim.step() for _ in range(round(seconds / sim.step_size))]
    energy = np.array([record.energy for record in records])
    return float((energy - np.minimum.accumulate(energy)).max() / energy[0])


def thrown(shape: str, friction: float) -> str:
    """One body half a metre above the ground."""
    return library.scene(
        library.plane(friction) + '<body name="body" pos="0 0 0.5" euler="0.4 0.5 0.3"><freejoint/>'
        f'<geom name="body" {shape} mass="1" friction="{friction!r} 0 0"/></body>'
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coordinates", BOTH)
@pytest.mark.parametrize(
    ("shape", "restitution", "friction"),
    [('type="capsule" size="0.05 0.1"', 1.0, 0.3), ('type="box" size="0.1 0.06 0.04"', 0.9, 0.8)],
)
def test_a_tumbling_body_that_bounces_gains_no_energy(
    shape: str, restitution: float, friction: float, coordinates: str, seed: int
) -> None:
    """The capsule gained 1.7 J on 5 J, the box 0.65 J."""
    sim = perp.Simulation(
        thrown(shape, friction), step=0.005, coordinates=coordinates, restitution=restitution
    )
    rng = np.random.default_rng(seed)
    sim.body("body").set_velocity(rng.normal(size=3), 8 * rng.normal(size=3))
    assert rise(sim, 2.0) < FREE_FLIGHT


SHAPES = (
    'type="sphere" size="{0}"', 'type="box" size="{0} {1} {2}"', 'type="capsule" size="{0} {1}"',
    'type="cylinder" size="{0} {1}"', 'type="ellipsoid" size="{0} {1} {2}"',
)  # fmt: skip


def random_scene(seed: int) -> tuple[str, float]:
    """Up to four bodies with random shapes, masses and friction above each other, and a restitution."""
    rng = np.random.default_rng(seed)
    friction = float(rng.choice([0.0, 0.1, 0.5, 1.0, 3.0]))
    bodies = library.plane(friction)
    for i in range(rng.integers(1, 5)):
        shape = rng.choice(SHAPES).format(*rng.uniform(0.03, 0.1, 3))
        w, a, b, c = rng.normal(size=4)
        x, y = rng.uniform(-0.03, 0.03, 2)
        bodies += (
            f'<body name="b{i}" pos="{x} {y} {0.25 + 0.45 * i}" quat="{w} {a} {b} {c}"><freejoint/>'
            f'<geom {shape} mass="{10 ** rng.uniform(-1, 1)}" friction="{friction!r} 0 0"/></body>'
        )
    return library.scene(bodies), float(rng.choice([0.0, 0.3, 0.7, 0.95, 1.0]))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("coordinates", BOTH)
def test_random_scenes_without_motors_gain_no_energy(seed: int, coordinates: str) -> None:
    text, restitution = random_scene(seed)
    sim = perp.Simulation(text, step=0.005, coordinates=coordinates, restitution=restitution)
    rng = np.random.default_rng(1000 + seed)
    for name in sim.model.body_names:
        sim.body(name).set_velocity(0.5 * rng.normal(size=3), 5 * rng.normal(size=3))
    assert rise(sim, 1.5) < FREE_FLIGHT


GAINS = pytest.mark.xfail(reason="1.2 J of 70 in a step that says that it was not solved", strict=False)


@pytest.mark.parametrize("coordinates", [pytest.param("maximal", marks=GAINS), "reduced"])
def test_a_step_that_does_not_hold_at_its_end_gains_no_energy(coordinates: str) -> None:
    """A cylinder that turned by 0.6 rad a step hit the ground: its rows did not settle, and 33 J came of 70."""
    text, restitution = random_scene(200)
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates, restitution=restitution)
    rng = np.random.default_rng(200)
    for name in sim.model.body_names:
        sim.body(name).set_velocity(rng.normal(size=3), 10 * rng.normal(size=3))
    assert rise(sim, 1.0) < FREE_FLIGHT
