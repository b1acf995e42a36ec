"""No scene without motors gains energy, whatever its restitution, friction and shapes."""

from __future__ import annotations

import math

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


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_step_that_does_not_hold_at_its_end_gains_no_energy(coordinates: str) -> None:
    """A cylinder that turned by 0.6 rad a step hit the ground: its rows did not settle, and 33 J came of 70."""
    text, restitution = random_scene(200)
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates, restitution=restitution)
    rng = np.random.default_rng(200)
    for name in sim.model.body_names:
        sim.body(name).set_velocity(rng.normal(size=3), 10 * rng.normal(size=3))
    assert rise(sim, 1.0) < FREE_FLIGHT


def fast_scene(seed: int) -> tuple[str, float, float, float]:
    """Thin and thick bodies of masses 1 : 10⁴, friction to ∞, on a plane that may lean.

    Returns the scene, a restitution, a step and a spin.
    """
    rng = np.random.default_rng([seed, 7])
    friction = float(rng.choice([0, 0.05, 0.3, 0.8, 2.0, 10.0, 1e6, np.inf]))
    bodies = library.plane(friction)
    if rng.random() < 0.3:
        bodies = bodies.replace('type="plane"', f'type="plane" euler="{rng.uniform(-0.5, 0.5):g} 0 0"')
    for i in range(rng.integers(1, 6)):
        sizes = rng.uniform(0.02, 0.12, 3)
        if rng.random() < 0.3:
            sizes[rng.integers(3)] *= 0.2
        (w, a, b, c), (x, y) = rng.normal(size=4), rng.uniform(-0.05, 0.05, 2)
        bodies += (
            f'<body name="b{i}" pos="{x} {y} {0.3 + 0.4 * i}" quat="{w} {a} {b} {c}"><freejoint/>'
            f'<geom {rng.choice(SHAPES).format(*sizes)} mass="{10 ** rng.uniform(-2, 2)}" '
            f'friction="{friction!r} 0 0"/></body>'
        )
    restitution, h = rng.choice([0, 0, 0.2, 0.5, 0.9, 1.0]), rng.choice([0.002, 0.005, 0.01, 0.02])
    return library.scene(bodies), float(restitution), float(h), float(rng.choice([5, 30, 100]))


@pytest.mark.parametrize("seed", [1, 5, 12, 28, 38, 44])
@pytest.mark.parametrize("coordinates", BOTH)
def test_bodies_that_turn_by_radians_a_step_gain_no_energy(seed: int, coordinates: str) -> None:
    """19 J of 34 came of nothing in free flight, whose Coriolis forces were given up while they changed."""
    text, restitution, h, spin = fast_scene(seed)
    sim = perp.Simulation(text, step=h, coordinates=coordinates, restitution=restitution)
    rng = np.random.default_rng([seed, 8])
    for name in sim.model.body_names:
        sim.body(name).set_velocity(rng.normal(size=3), spin * rng.normal(size=3))
    records = [sim.step() for _ in range(int(1.2 / h))]
    energy = np.array([record.energy for record in records])
    kinetic = max(record.kinetic_energy for record in records)
    assert np.diff(energy).max() < 5e-3 * kinetic


def hurled_scene(seed: int) -> tuple[str, float, float, float, float]:
    """As `fast_scene`, without ellipsoids, up to radians a step; also returns a speed."""
    rng = np.random.default_rng([seed, 99])
    friction = float(rng.choice([0, 0.05, 0.3, 0.8, 2.0, 10.0, 1e6, np.inf]))
    bodies = library.plane(friction)
    if rng.random() < 0.3:
        bodies = bodies.replace('type="plane"', f'type="plane" euler="{rng.uniform(-0.5, 0.5):g} 0 0"')
    rng.random()
    for i in range(rng.integers(1, 6)):
        sizes = rng.uniform(0.02, 0.12, 3)
        if rng.random() < 0.3:
            sizes[rng.integers(3)] *= 0.2
        (w, a, b, c), (x, y) = rng.normal(size=4), rng.uniform(-0.05, 0.05, 2)
        bodies += (
            f'<body name="b{i}" pos="{x} {y} {0.3 + 0.4 * i}" quat="{w} {a} {b} {c}"><freejoint/>'
            f'<geom {rng.choice(SHAPES[:4]).format(*sizes)} mass="{10 ** rng.uniform(-2, 2)}" '
            f'friction="{friction!r} 0 0"/></body>'
        )
    restitution, h = rng.choice([0, 0.2, 0.5, 0.9, 1.0]), rng.choice([0.001, 0.002, 0.005, 0.01, 0.02])
    spin, speed = (
        rng.choice([0, 5, 30, 100, 1000], p=[0.2, 0.3, 0.25, 0.2, 0.05]),
        rng.choice([0.3, 2.0, 10.0]),
    )
    return library.scene(bodies), float(restitution), float(h), float(spin), float(speed)


# Those that gained 0.1 to 860 % in a step that said nothing: Coriolis forces of a body that turned by radians
# were given up before the restitution was found, or contacts closed on the way did work on the spin.
SILENT = (33, 67, 119, 129, 204, 401, 452, 491, 501, 591, 726, 936, 1134, 1269, 1328, 1332, 1348, 1359, 1462)


@pytest.mark.parametrize("seed", SILENT)
@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize("coordinates", BOTH)
def test_a_step_that_gains_energy_says_so(seed: int, level: str, coordinates: str) -> None:
    text, restitution, h, spin, speed = hurled_scene(seed)
    sim = perp.Simulation(text, step=h, coordinates=coordinates, level=level, restitution=restitution)
    rng = np.random.default_rng([seed, 98])
    for name in sim.model.body_names:
        sim.body(name).set_velocity(speed * rng.normal(size=3), spin * rng.normal(size=3))
    records = [sim.step() for _ in range(min(300, int(1.2 / h)))]
    energy = np.array([record.energy for record in records])
    kinetic = np.maximum.accumulate([record.kinetic_energy for record in records])
    gains = np.diff(energy) > 1e-3 * kinetic[:-1]
    assert not any(record.met for record, gain in zip(records[1:], gains, strict=True) if gain)
    # of bodies that turn by radians a step, last bits decide whether 4 or 24 of 60 miss their tolerance
    assert sum(not record.met for record in records) < (0.3 if spin * h < 1 else 0.5) * len(records)


def chain(seed: int) -> tuple[str, float, float]:
    """Up to five capsules on random joints, on the ground or in the air; a restitution and a step."""
    rng = np.random.default_rng([seed, 5])
    friction = float(rng.choice([0, 0.3, 0.8, 3.0]))
    count, free, reach = rng.integers(2, 6), rng.random() < 0.6, 0.0
    bodies = ""
    for i in range(count):
        kind = rng.choice(["hinge", "ball", "slide"], p=[0.6, 0.3, 0.1])
        axis = " ".join(f"{x:.3f}" for x in rng.normal(size=3))
        joint = "<freejoint/>" if i == 0 and free else f'<joint type="{kind}" axis="{axis}"/>'
        length, size, mass = rng.uniform(0.1, 0.3), rng.uniform(0.02, 0.04), 10 ** rng.uniform(-1, 1)
        bodies += (
            f'<body pos="{reach} 0 {0 if i else 1.2}">{joint}<geom type="capsule" '
            f'fromto="0.04 0 0 {length} 0 0" size="{size}" mass="{mass}" friction="{friction!r} 0 0"/>'
        )
        reach = length + 0.1
    text = library.scene(library.plane(friction) + bodies + "</body>" * count)
    return text, float(rng.choice([0, 0.5, 1.0])), float(rng.choice([0.001, 0.002, 0.005, 0.01]))


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_light_link_that_whips_round_gains_no_energy(level: str) -> None:
    """At 10 ms it gained thirteen times what there was."""
    seed = 32
    text, restitution, h = chain(seed)
    sim = perp.Simulation(text, step=h, coordinates="reduced", level=level, restitution=restitution)
    sim.qvel = 3 * np.random.default_rng([seed, 6]).normal(size=sim.qvel.size)
    records = [sim.step() for _ in range(min(400, int(1.0 / h)))]
    energy = np.array([record.energy for record in records])
    kinetic = np.maximum.accumulate([record.kinetic_energy for record in records])
    assert np.all(np.diff(energy) <= 7e-2 * kinetic[:-1])
    assert sum(not record.met for record in records) < 0.1 * len(records)


def test_a_step_that_gains_energy_is_named() -> None:
    """A rod that hops at half a radian a step gains 0.15 %: the cause and what to do are in words."""
    text, restitution, h, spin, speed = hurled_scene(129)
    sim = perp.Simulation(text, step=h, restitution=restitution)
    rng = np.random.default_rng([129, 98])
    for name in sim.model.body_names:
        sim.body(name).set_velocity(speed * rng.normal(size=3), spin * rng.normal(size=3))
    causes = {sim.step().cause for _ in range(200)}
    assert any("energy that nothing drives; try a smaller step" in cause for cause in causes)


@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("coordinates", BOTH)
def test_an_elastic_ball_loses_what_gravity_takes_in_its_step_and_no_more(coordinates: str, h: float) -> None:
    """Of its speed v it keeps s with s² v² / 2 + h g s v = v² / 2: it was 0.99, whatever the step."""
    ball = '<body name="ball" pos="0 0 0.6"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>'
    text = library.scene(library.plane(0.0) + ball)
    sim = perp.Simulation(text, step=h, coordinates=coordinates, restitution=1.0)
    speed = 0.0
    for _ in range(round(0.5 / h)):
        sim.step()
        if sim.body("ball").velocity[2] > 0:
            break
        speed = -sim.body("ball").velocity[2]
    fall = h * library.GRAVITY
    kept = math.hypot(speed, fall) - fall
    assert sim.body("ball").velocity[2] == pytest.approx(kept, rel=1e-3)
    assert sim.body("ball").velocity[2] <= kept


def test_bodies_that_turn_by_radians_a_step_gain_nothing_from_overlap_or_lowered_restitution() -> None:
    """17 J of 30 came of a contact whose restitution was lowered to nothing, 7 J of one that overlapped."""
    bodies = (
        '<body name="small" pos="0 0 0.4"><freejoint/>'
        '<geom type="capsule" size="0.029 0.026" mass="0.0019" friction="0 0 0"/></body>'
        '<body name="large" pos="0.5 0 0.3"><freejoint/>'
        '<geom type="capsule" size="0.075 0.145" mass="0.025" friction="0 0 0"/></body>'
    )
    for seed in range(4):
        sim = perp.Simulation(library.scene(library.plane(0.0) + bodies), step=0.02, restitution=0.5)
        rng = np.random.default_rng(seed)
        for name in ("small", "large"):
            sim.body(name).set_velocity(2 * rng.normal(size=3), 300 * rng.normal(size=3))
        assert rise(sim, 1.2) < 0.02
