"""Many worlds: the same bits as single simulations, whatever the threads, chunks and neighbours."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.simulation.batches.status import WorldStatus

ROVER = library.rover(step_at=0.5)
BOX = library.scene(
    library.plane(0.5) + library.box("box", (0.05, 0.05, 0.05), (0, 0, 0.08), turn=(0.3, 0.2, 0.1))
)
# On three feet: how a box slides and turns on four corners is not unique.
FEET = library.scene(
    library.plane(0.5)
    + '<body name="box" pos="0 0 0.06"><freejoint/><geom type="box" size="0.05 0.05 0.04" mass="1" contype="0"'
    ' conaffinity="0"/>'
    + "".join(
        f'<geom type="sphere" size="0.01" mass="0.01" pos="{x} {y} -0.05"/>'
        for x, y in ((0.04, 0.0), (-0.03, 0.04), (-0.03, -0.04))
    )
    + "</body>"
)
WORLDS = 5


def spread(batch: perp.Batch) -> None:
    """Give every world something of its own."""
    random = np.random.default_rng(3)
    batch.qvel[:] += 0.3 * random.standard_normal(batch.qvel.shape)
    batch.ctrl[:] = 6.0 * random.random(batch.ctrl.shape)
    batch.wrench[:, 0, :3] = random.standard_normal((batch.worlds, 3))


def singles(batch: perp.Batch, scene: Any, **options: Any) -> list[perp.Simulation]:
    """A simulation for each world of a fresh batch, in its state."""
    out = []
    for i in range(batch.worlds):
        sim = perp.Simulation(scene, **options)
        sim.state.qvel[:] = batch.qvel[i]
        sim.stepper.refresh(sim.state)
        if batch.ctrl.shape[1]:
            sim.set_control(batch.ctrl[i])
        sim.wrench = batch.wrench[i]
        out.append(sim)
    return out


CASES: list[tuple[Any, dict[str, Any]]] = [
    (ROVER, {"step": 0.01, "coordinates": "reduced"}),
    (ROVER, {"step": 0.01, "coordinates": "maximal"}),
    (BOX, {"step": 0.005, "coordinates": "reduced", "restitution": 0.4, "level": "velocity"}),
    (library.stack(3), {"step": 0.01, "coordinates": "maximal", "sleep": 0.05}),
    (library.chain(4, end_mass=5.0), {"step": 0.01, "coordinates": "maximal"}),
]


@pytest.mark.parametrize(("scene", "options"), CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_worlds_are_simulations_to_the_bit(scene: Any, options: dict[str, Any], threads: int) -> None:
    batch = perp.Batch(scene, WORLDS, threads=threads, **options)
    spread(batch)
    sims = singles(batch, scene, **options)
    for steps in (1, 7, 20):
        batch.step(steps)
        for i, sim in enumerate(sims):
            for _ in range(steps):
                sim.step()
            assert np.array_equal(batch.qpos[i], sim.state.qpos)
            assert np.array_equal(batch.qvel[i], sim.state.qvel)
            assert batch.time[i] == sim.time
    assert (batch.status == WorldStatus.SOLVED).all()


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_a_rollout_has_the_same_bits_on_any_number_of_threads(threads: int) -> None:
    found = []
    for count in (1, threads):
        batch = perp.Batch(ROVER, 9, threads=count, step=0.01)
        controls = 6.0 * np.random.default_rng(0).random((9, 15, batch.ctrl.shape[1]))
        found.append(batch.rollout(controls, contacts=True))
    one, many = found
    for name in ("time", "qpos", "qvel", "act", "status", "residual"):
        assert np.array_equal(getattr(one, name), getattr(many, name))
    assert one.contacts is not None
    assert many.contacts is not None
    assert one.contacts.world.size > 0
    assert np.array_equal(one.contacts.impulse, many.contacts.impulse)
    assert np.array_equal(one.contacts.contacts.point, many.contacts.contacts.point)
    assert one.solved.all()
    assert one.residual.max() <= 1e-6


def test_a_rollout_is_its_steps() -> None:
    batch = perp.Batch(ROVER, 3, threads=1, step=0.01)
    sim = perp.Simulation(ROVER, step=0.01, coordinates="reduced")
    controls = np.linspace(0, 6, 10)[:, None] * np.ones(batch.ctrl.shape[1])
    found = batch.rollout(controls, contacts=True)
    assert found.contacts is not None
    for k, control in enumerate(controls):
        record = sim.step(control)
        assert np.array_equal(found.qpos[1, k], sim.state.qpos)
        assert found.residual[1, k] == record.residual
        assert found.time[1, k] == pytest.approx(sim.time, abs=1e-15)
        mine = (found.contacts.world == 1) & (found.contacts.step == k)
        assert np.array_equal(found.contacts.impulse[mine], record.contact_impulses)
    assert np.array_equal(batch.ctrl, np.tile(controls[-1], (3, 1)))


def test_contacts_beyond_the_room_of_a_line() -> None:
    """Nine boxes on a plane have 36 contacts, more than lines of memory have at first."""
    boxes = "".join(
        library.box(f"b{k}", (0.05, 0.05, 0.05), (0.2 * (k % 3), 0.2 * (k // 3), 0.05)) for k in range(9)
    )
    scene = library.scene(library.plane(0.5) + boxes)
    batch = perp.Batch(scene, 4, threads=2, step=0.01)
    batch.qvel[:, 0] = [0.0, 0.5, 1.0, 1.5]
    batch.step(5)
    for i in range(4):
        sim = perp.Simulation(scene, step=0.01, coordinates="reduced")
        sim.state.qvel[0] = 0.5 * i
        sim.stepper.refresh(sim.state)
        for _ in range(5):
            sim.step()
        assert np.array_equal(batch.qpos[i], sim.state.qpos)


def test_a_world_that_overflows_stays_and_the_others_go_on() -> None:
    batch, other = (perp.Batch(BOX, 3, threads=1, step=0.01) for _ in range(2))
    batch.qvel[1, 0] = 1e300
    before = batch.qpos[1].copy()
    found = batch.rollout(steps=8)
    other.step(8)
    assert (found.status[1] == WorldStatus.FAILED).all()
    assert np.isinf(found.residual[1]).all()
    assert np.array_equal(batch.qpos[1], before)
    assert batch.time[1] == 0.0
    assert list(batch.failed) == [False, True, False]
    assert np.array_equal(batch.qpos[[0, 2]], other.qpos[[0, 2]])
    batch.reset(batch.failed)
    assert not batch.failed.any()
    batch.step(8)
    assert np.array_equal(batch.qpos[1], other.qpos[1])


def test_reset_brings_back_the_start_without_memory() -> None:
    batch = perp.Batch(ROVER, 4, threads=1, step=0.01)
    batch.ctrl[:] = 6.0
    batch.step(20)
    there = batch.qpos.copy()
    batch.reset([0, 2])
    batch.step(20)
    assert np.array_equal(batch.qpos[[0, 2]], there[[0, 2]])
    assert not np.array_equal(batch.qpos[[1, 3]], there[[1, 3]])
    assert batch.time == pytest.approx([0.2, 0.4, 0.2, 0.4])


def test_a_snapshot_and_a_pickle_bring_back_every_bit() -> None:
    batch = perp.Batch(ROVER, 3, threads=2, step=0.01)
    batch.ctrl[:] = [[2.0], [4.0], [6.0]]
    batch.step(30)
    kept, pickled = batch.snapshot(), pickle.dumps(batch)
    batch.step(20)
    there = batch.qpos.copy()
    batch.restore(kept)
    batch.step(20)
    assert np.array_equal(batch.qpos, there)
    again = pickle.loads(pickled)
    again.step(20)
    assert np.array_equal(again.qpos, there)


def test_a_world_as_a_simulation_and_back() -> None:
    batch = perp.Batch(ROVER, 3, threads=1, step=0.01)
    batch.ctrl[:] = [[2.0], [4.0], [6.0]]
    batch.step(30)
    sim = batch.simulation(2)
    forked = perp.Batch(sim, 2, threads=1)
    batch.step(10)
    forked.step(10)
    for _ in range(10):
        sim.step()
    assert np.array_equal(sim.state.qpos, batch.qpos[2])
    assert np.array_equal(forked.qpos, batch.qpos[[2, 2]])


@pytest.mark.parametrize("given", ["at once", "one by one"])
def test_a_world_as_a_simulation_has_the_values_of_the_world(given) -> None:
    batch = perp.Batch(ROVER, 3, threads=1, step=0.01)
    body, motor = batch.model.body_names[0], batch.motor_names[0]
    values = {
        "friction": [0.2, 0.5, 0.9], "restitution": [0.0, 0.3, 0.6], "gain": {motor: [1.0, 0.5, 1.5]},
        "mass": {body: [2.0, 3.0, 4.0]}, "gravity": [[0, 0, -9.81], [0, 0, -5.0], [0.5, 0, -9.81]],
    }  # fmt: skip
    if given == "at once":
        batch.modify(**values)
    else:
        batch.modify(friction={body: 0.1}, gravity=(0, 0, -1.0))
        for name, value in values.items():
            batch.modify(**{name: value})
    batch.ctrl[:] = 4.0
    batch.step(10)
    sims = [batch.simulation(k) for k in range(3)]
    batch.step(20)
    for k, sim in enumerate(sims):
        for _ in range(20):
            sim.step()
        assert np.array_equal(sim.qpos, batch.qpos[k])


def test_a_control_that_is_no_number_stops_its_world_only() -> None:
    batch, other = (perp.Batch(ROVER, 3, threads=2, step=0.01) for _ in range(2))
    batch.ctrl[:] = other.ctrl[:] = 4.0
    batch.ctrl[1, 0] = np.nan
    before = batch.qpos[1].copy()
    assert list(batch.step(5)) == [0, WorldStatus.FAILED, 0]
    other.step(5)
    assert np.array_equal(batch.qpos[1], before)
    assert np.array_equal(batch.qpos[[0, 2]], other.qpos[[0, 2]])
    batch.ctrl[1] = 4.0
    batch.reset(batch.failed)
    batch.step(5)
    assert np.array_equal(batch.qpos[1], other.qpos[1])


def test_each_world_has_its_own_friction_and_gravity() -> None:
    """A sliding cube stops after v²/(2μg), less h v/2 at the start."""
    scene = library.scene(library.plane(0.5) + library.box("box", (0.05, 0.05, 0.05), (0, 0, 0.05)))
    h, speed = 0.001, 2.0
    mu, g = np.array([0.2, 0.4, 0.8, 0.4]), np.array([9.81, 9.81, 9.81, 1.62])
    batch = perp.Batch(scene, 4, threads=2, step=h)
    batch.modify(friction=mu, gravity=np.stack([0 * g, 0 * g, -g], axis=1))
    batch.qvel[:, 0] = speed
    batch.step(4000)
    assert batch.qpos[:, 0] == pytest.approx(speed**2 / (2 * mu * g) - h * speed / 2, abs=1e-4)


def test_each_world_has_its_own_masses_and_restitution() -> None:
    ball = '<body name="ball" pos="0 0 0.3"><freejoint/><geom name="ball" size="0.1" mass="1"/></body>'
    scene = library.scene(library.plane(0.5) + ball)
    batch = perp.Batch(scene, 3, threads=1, step=0.001)
    mass = np.array([0.5, 1.0, 4.0])
    batch.modify(mass={"ball": mass}, gravity=(0.0, 0.0, 0.0))
    batch.wrench[:, 0, 0] = 2.0
    batch.step(100)
    assert batch.qvel[:, 0] == pytest.approx(2.0 * 0.1 / mass, rel=1e-12)
    bouncing = perp.Batch(scene, 3, threads=1, step=0.001)
    bounce = np.array([0.0, 0.5, 0.9])
    bouncing.modify(restitution=bounce)
    top = bouncing.rollout(steps=205).qvel[:, -1, 2]
    fall = 9.81 * 0.202
    assert top == pytest.approx(np.where(bounce > 0, bounce * fall, 0.0), abs=0.05)


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_gains_of_motors_are_factors(coordinates: str) -> None:
    batch = perp.Batch(ROVER, 2, threads=1, step=0.01, coordinates=coordinates)
    names = batch.motor_names
    batch.modify(gain={name: np.array([1.0, 0.5]) for name in names})
    plain = perp.Batch(ROVER, 1, threads=1, step=0.01, coordinates=coordinates)
    batch.ctrl[:] = plain.ctrl[:] = 6.0
    batch.step(20)
    plain.step(20)
    assert np.array_equal(batch.qpos[0], plain.qpos[0])
    assert batch.qpos[1, 0] < batch.qpos[0, 0]


@pytest.mark.parametrize(
    ("act", "word"),
    [
        (lambda b: b.step(0), "steps"),
        (lambda b: b.rollout(), "controls"),
        (lambda b: b.rollout(np.zeros((2, 3, 9))), "shape"),
        (lambda b: b.rollout(np.full((3, 4), np.nan)), "controls"),
        (lambda b: b.modify(friction=[0.1, 0.2, 0.3, 0.4]), "friction"),
        (lambda b: b.modify(friction=-1.0), "friction"),
        (lambda b: b.modify(mass=2.0), "mass"),
        (lambda b: b.modify(restitution=1.5), "restitution"),
        (lambda b: b.restore({}), "snapshot"),
        (lambda b: b.step("many"), "steps"),
        (lambda b: b.rollout(steps=2.5), "steps"),
        (lambda b: b.reset([True, False, True]), "mask"),
        (lambda b: b.reset(7), "mask"),
        (lambda b: b.simulation(2), "world"),
        (lambda b: setattr(b, "qpos", np.zeros(3)), "shape"),
        (lambda b: setattr(b, "time", "noon"), "value"),
    ],
)
def test_bad_arguments_say_what_is_wrong(act: Any, word: str) -> None:
    batch = perp.Batch(ROVER, 2, threads=1, step=0.01)
    with pytest.raises(perp.PerpError, match=word):
        act(batch)


@pytest.mark.parametrize(
    "options",
    [
        {"worlds": 0},
        {"worlds": "3"},
        {"worlds": float("nan")},
        {"worlds": True},
        {"worlds": 2, "threads": 0},
        {"worlds": 2, "threads": "2"},
        {"worlds": 2, "solver": "admm"},
    ],
)
def test_a_batch_that_makes_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(perp.PerpError):
        perp.Batch(BOX, **options)


def test_derivatives_are_those_of_single_worlds() -> None:
    """Each world with a friction and a mass of its own; nothing of the batch changes."""
    batch = perp.Batch(FEET, 3, threads=1, step=0.005)
    friction, mass = np.array([0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0])
    batch.modify(friction=friction, mass={"box": mass})
    batch.qvel[:] = np.random.default_rng(0).standard_normal(batch.qvel.shape)
    batch.step(30)
    before = batch.snapshot()
    found = batch.derivatives(("friction", "mass:box"))
    for name, array in batch.snapshot().items():
        np.testing.assert_array_equal(array, before[name])
    assert found.exists.all()
    h = 1e-5
    for name, values in (("friction", friction), ("mass:box", mass)):
        ends = []
        for sign in (1, -1):
            batch.restore(before)
            moved = values + sign * h
            batch.modify(**({"friction": moved} if name == "friction" else {"mass": {"box": moved}}))
            batch.step()
            ends.append(batch.qvel.copy())
        batch.modify(friction=friction, mass={"box": mass})
        difference = (ends[0] - ends[1]) / (2 * h)
        if name == "friction":
            np.testing.assert_allclose(found.parameters[name][:, 6:, 0], difference, atol=2e-3)
    assert np.abs(found.parameters["friction"]).max() > 0.0
    np.testing.assert_array_equal(found.A[1], batch_of_one(before, 1, friction, mass))


def batch_of_one(before, world: int, friction: np.ndarray, mass: np.ndarray) -> np.ndarray:
    one = perp.Batch(FEET, 1, threads=1, step=0.005)
    one.modify(friction=friction[world], mass={"box": mass[world]})
    kept = one.snapshot()
    one.restore({name: before[name][world : world + 1] for name in kept})
    return one.derivatives().A[0]
