"""Steps that miss their tolerance have no derivative, and say what they miss."""

from __future__ import annotations

import numpy as np
import pytest
from derivative_states import SCENES, compare_state

import perp
from steps_against_differences import agree, body, scene

pytestmark = pytest.mark.filterwarnings("ignore::perp.stepping.StepInaccurate")
ARM = SCENES[7]
MISSED = "misses its tolerance and has no derivative: joints are open by 0.0"


def spinning_arm() -> perp.Simulation:
    """Joints are cut and held by their rates: a step that turns by radians opens them."""
    sim = perp.Simulation(ARM, step=0.01, coordinates="maximal", level="velocity")
    sim.qvel = 1000.0 * np.random.default_rng(0).standard_normal(sim.qvel.size)
    return sim


@pytest.mark.parametrize("asked", [{}, {"verify": True}, {"smoothing": 1e-3}])
def test_next_step(asked):
    with pytest.raises(perp.DerivativeError, match=MISSED):
        spinning_arm().derivatives(**asked)


def test_last_step_and_the_one_after_it():
    sim = spinning_arm()
    record = sim.step()
    assert not record.met
    with pytest.raises(perp.DerivativeError, match=MISSED) as caught:
        sim.derivatives(last=True)
    assert record.cause in str(caught.value)
    sim.qvel = np.zeros(sim.qvel.size)
    sim.reset()
    assert sim.step().met
    assert np.isfinite(sim.derivatives(last=True).A).all()


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_bounce_out_of_an_overlap(coordinates):
    """A measured state may overlap by a millimetre: a bounce undoes it as fast as it leaves, and says so.

    The step misses its tolerance, but its equations hold, and so does their derivative.
    """
    cube = '<geom type="box" size=".05 .05 .05" euler="20 30 10"/>'
    sim = scene(body(cube, "0 0 .2"), step=0.002, restitution=0.1, coordinates=coordinates)
    sim.qpos = [0, 0, 0.0805, 1, 0, 0, 0]
    sim.body("b").set_velocity([0.3, 0.1, -0.4], [1, 2, 0.5])
    found = agree(sim, ("restitution", "friction"))
    assert any("overlap" in word for word in found.frozen)


def test_run():
    sim = spinning_arm()
    controls = np.zeros((1, len(sim.stepper.motor_names)))
    with pytest.raises(perp.DerivativeError, match=f"step 1 of the run: the step {MISSED}"):
        perp.rollout_gradient(sim, controls, lambda _k, _sim: None)


def test_batch():
    sim = perp.Simulation(ARM, step=0.01, coordinates="maximal", level="velocity")
    batch = perp.Batch(sim, 3)
    batch.qvel[1] = spinning_arm().state.velocity.ravel()
    found = batch.derivatives()
    assert found.exists.tolist() == [True, False, True]
    assert np.isnan(found.A[1]).all()
    assert np.isfinite(found.A[[0, 2]]).all()


def test_rover_whose_joints_do_not_close():
    """Its rows hold as they were taken, but not at its end: its derivative was off by 1.7 and said nothing."""
    assert compare_state(22329) == "has none"
