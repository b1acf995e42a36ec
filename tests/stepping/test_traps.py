"""The traps found in published code, by number; 1, 2, 3, 5, 6 and 8 have physics tests.

1 and 2: test_boxes_at_rest, a_resting_box_weighs_what_it_weighs. 3: a_box_holds_at_half_the_friction_angle.
5: test_spheres, a_pushed_sphere_rolls. 6: test_motors, position_servo_is_the_implicit_damped_oscillator.
8: a_warm_resting_step_takes_one_iteration.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from perp.collision import CollisionError
from perp.scenes import library
from perp.stepping import StepFailed, StepInaccurate

G = library.GRAVITY


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_trap_4_overlap_is_recovered_at_a_capped_speed(h: float, coordinates: str) -> None:
    depth, cap = 0.01, 0.1
    bodies = library.plane(0.5) + library.box("box", (0.05, 0.05, 0.05), (0, 0, 0.05 - depth))
    sim = perp.Simulation(library.scene(bodies), step=h, coordinates=coordinates, recovery_speed=cap)
    sim.body("box").set_pose((0, 0, 0.05 - depth))  # a start in the file would be set right at once
    recording = sim.run(0.3)
    speed = recording.velocity("box")[:, 2]
    assert speed.max() <= cap + 1e-9
    assert speed.max() == pytest.approx(cap, rel=1e-6)  # without the cap it would be depth / h
    assert recording.position("box")[-1, 2] == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
def test_trap_7_iterations_do_not_depend_on_the_unit_of_mass(mass: float) -> None:
    sim = perp.Simulation(library.box_on_plane(mass=mass, slope=0.3), step=0.01)
    records = sim.run(0.05).records
    force = records[-1].contact_forces().sum(axis=0)
    assert force[2] == pytest.approx(mass * G * np.cos(0.3), rel=1e-7)
    assert all(record.met for record in records)
    assert records[-1].iterations <= 1


def test_trap_9_contacts_beyond_the_buffer_are_an_error_and_scenes_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # mujoco writes a log where it is
    boxes = "".join(library.box(f"b{i}", (0.05, 0.05, 0.05), (0.2 * i, 0, 0.05)) for i in range(60))
    text = library.scene(library.plane(0.5) + boxes).replace('memory="64M"', 'memory="60K"')
    sim = perp.Simulation(mujoco.MjModel.from_xml_string(text), step=0.01)
    with pytest.raises(CollisionError, match="memory"):
        sim.step()
    for scene in (text, mujoco.MjSpec.from_string(text)):
        assert perp.Simulation(scene, step=0.01).step().contact_count == 240


def test_a_step_out_of_budget_says_so_and_is_an_error_where_the_simulation_is_strict() -> None:
    options: Any = {"step": 0.01, "solver": "block-gauss-seidel", "solver_iterations": 1, "rounds": 1}
    sim = perp.Simulation(library.stack(6), **options)
    with pytest.warns(StepInaccurate, match="misses its tolerance") as warned:
        recording = sim.run(0.05)
    assert len(warned) == 1
    assert not recording.of("met").all()
    assert sim.last.cause
    assert sim.last.residual > 1e-9
    sim = perp.Simulation(library.stack(6), strict=True, **options)
    before = sim.state.position.copy()
    with pytest.raises(StepFailed, match="misses its tolerance"):
        sim.step()
    assert np.array_equal(sim.state.position, before)
    assert sim.time == 0.0


def test_trap_10_no_friction_mode_is_frozen_by_a_sigmoid() -> None:
    """Differences of whole steps are those of the mode that is active.

    A pushed box that sticks does not move with the force, one that slides moves by h / m, exactly, up to the
    edge.
    """
    h, mass, mu = 0.01, 1.0, 0.5
    limit = mu * mass * G

    def speed(force: float) -> float:
        sim = perp.Simulation(library.box_on_plane(friction=mu, mass=mass), step=h, tolerance=1e-11)
        # at the height of the plane, so that it does not tip
        sim.body("box").apply(force=(force, 0, 0), torque=(0, -0.05 * force, 0))
        sim.step()
        return float(sim.body("box").velocity[0])

    for force, slope in (
        (0.9 * limit, 0.0),
        (0.9999 * limit, 0.0),
        (1.0001 * limit, h / mass),
        (2 * limit, h / mass),
    ):
        step = 5e-5 * limit
        difference = (speed(force + step) - speed(force - step)) / (2 * step)
        assert difference == pytest.approx(slope, abs=1e-6 * h / mass)
