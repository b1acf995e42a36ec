"""Copies share a stepper and pickles bring one along: every one goes its own way, to the bit."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import library

ROVER = library.rover(step_at=0.5)
MAKES: list[dict[str, Any]] = [
    {"coordinates": "reduced"},
    {"coordinates": "maximal"},
    {"coordinates": "maximal", "sleep": 0.1},
]


def run(sim: perp.Simulation, control: float, steps: int) -> np.ndarray:
    sim.set_control(np.full(sim.ctrl.size, control))
    for _ in range(steps):
        sim.step()
    return sim.state.packed


def alone(options: dict[str, Any], control: float) -> np.ndarray:
    """15 steps in common, then 12 by itself, without any copy."""
    sim = perp.Simulation(ROVER, step=0.01, **options)
    run(sim, 4.0, 15)
    return run(sim, control, 12)


@pytest.mark.parametrize("options", MAKES)
def test_copies_that_take_turns_do_not_notice_each_other(options: dict[str, Any]) -> None:
    sim = perp.Simulation(ROVER, step=0.01, **options)
    run(sim, 4.0, 15)
    copies = [sim, sim.copy(), sim.copy()]
    for k, one in enumerate(copies):
        one.set_control(np.full(one.ctrl.size, 2.0 * k))
    for _ in range(12):
        for one in copies:
            one.step()
    for k, one in enumerate(copies):
        assert np.array_equal(one.state.packed, alone(options, 2.0 * k))


def test_copies_run_in_threads_at_the_same_time() -> None:
    sim = perp.Simulation(ROVER, step=0.01, coordinates="reduced")
    run(sim, 4.0, 15)
    copies = [sim.copy() for _ in range(4)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda k: run(copies[k], 2.0 * k, 12).copy(), range(4)))
    for k in range(4):
        assert np.array_equal(found[k], alone({"coordinates": "reduced"}, 2.0 * k))
    # and a copy that was stepped there goes on here
    assert np.array_equal(run(copies[0], 3.0, 5), run(pickle.loads(pickle.dumps(copies[0])), 3.0, 0)) is True


def test_a_copy_of_a_copy_keeps_its_step_and_its_wrench() -> None:
    sim = perp.Simulation(ROVER, step=0.01, coordinates="reduced")
    sim.wrench = np.full_like(sim.wrench, 0.5)
    second = sim.copy().copy()
    sim.wrench = np.zeros_like(sim.wrench)
    assert (second.wrench == 0.5).all()
    second.step()
    assert sim.time == 0.0
    assert second.time == 0.01


@pytest.mark.parametrize("options", MAKES)
def test_a_pickle_goes_on_to_the_same_bits(options: dict[str, Any]) -> None:
    sim = perp.Simulation(ROVER, step=0.01, **options)
    run(sim, 4.0, 15)
    other = pickle.loads(pickle.dumps(sim))
    for _ in range(12):
        sim.step()
        other.step()
    assert np.array_equal(sim.state.packed, other.state.packed)
    assert other.last.residual == sim.last.residual
    assert pickle.loads(pickle.dumps(sim.model)).body_names == sim.model.body_names


def test_the_scene_of_a_copy_can_be_modified_alone() -> None:
    sim = perp.Simulation(ROVER, step=0.01, coordinates="reduced")
    other = sim.copy()
    other.modify(friction=0.01)
    plain = run(perp.Simulation(ROVER, step=0.01, coordinates="reduced"), 6.0, 20)
    slippery = run(other, 6.0, 20)
    assert np.array_equal(run(sim, 6.0, 20), plain)
    assert not np.array_equal(slippery, plain)
