"""The route in the velocities of the bodies: islands, residual, piles that tumble."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.stepping.body_convex import convex_stage
from perp.stepping.body_newton import find_islands, members
from perp.stepping.body_route import solve_by_bodies
from perp.stepping.body_system import elimination_order
from perp.stepping.evaluation import block_residuals, evaluate
from perp.stepping.outcome import Outcome, measure
from perp.stepping.system import StepSystem


def pile(count: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    boxes = "".join(
        library.box(
            f"box{i}",
            (0.05, 0.05, 0.05),
            (0.06 * rng.normal(), 0.06 * rng.normal(), 0.1 + 0.12 * i),
            turn=tuple(rng.uniform(-1, 1, 3).tolist()),
        )
        for i in range(count)
    )
    return library.scene(library.plane(0.5) + boxes)


def moving_system(scene: str, steps: int = 12) -> StepSystem:
    sim = perp.Simulation(scene, step=0.02)
    for _ in range(steps):
        sim.step()
    system, _ = sim.stepper._prepare(sim.state, 0.02, sim._wrench)
    return system


@pytest.mark.parametrize("seed", [0, 3])
def test_tumbling_cubes_are_solved_by_this_route_and_lose_energy(seed: int) -> None:
    sim = perp.Simulation(pile(8, seed), step=0.01)
    records = [sim.step() for _ in range(120)]
    routes = [record.route for record in records]
    # a step that is solved a second time, with contacts that appear at its end, may need another route
    assert routes.count("body") >= 114
    energy = np.array([record.energy for record in records])
    assert np.diff(energy).max() < 1e-8 * energy[0]
    assert max(record.residual for record in records) < 1e-9
    assert all(record.met for record in records)


def test_separate_stacks_are_islands_and_a_hard_one_does_not_change_the_others() -> None:
    boxes = "".join(
        library.box(f"b{c}{k}", (0.05, 0.05, 0.05), (c, 0, 0.05 + 0.1 * k))
        for c in range(3)
        for k in range(2)
    )
    sim = perp.Simulation(library.scene(library.plane(0.5) + boxes), step=0.01)
    sim.step()
    system, _ = sim.stepper._prepare(sim.state, 0.01, sim._wrench)
    count, of_body, of_constraint = find_islands(system.arrays, 6)
    assert count == 3
    assert list(of_body) == [0, 0, 1, 1, 2, 2]
    child = system.bodies[system.first, 0]
    assert np.array_equal(of_constraint, of_body[np.where(child >= 0, child, system.bodies[system.first, 1])])
    alone = perp.Simulation(library.stack(2), step=0.01)
    sim.body("b21").set_velocity((0.7, 0.3, 0), (0, 0, 3))
    sim.run(0.1)
    alone.run(0.11)
    assert sim.state.position[1, 2] == pytest.approx(alone.state.position[1, 2], abs=1e-11)


def test_the_compiled_residual_is_that_of_its_parts() -> None:
    system = moving_system(pile(5, 1))
    rng = np.random.default_rng(2)
    impulse = rng.normal(size=system.rows)
    u, bias, y = np.empty_like(system.predicted), np.empty(system.rows), np.empty(system.rows)
    evaluate(system.frame, system.arrays, impulse, u, bias, y)
    assert u == pytest.approx(system.body_velocity(impulse), rel=1e-9, abs=1e-9)
    assert bias == pytest.approx(system.bias(u), rel=1e-9, abs=1e-9)
    assert y == pytest.approx(system.row_velocity(u) + bias + system.compliance * impulse, rel=1e-9, abs=1e-9)
    (_, contact, friction, drift), moving = block_residuals(system.arrays, system.predicted, impulse, u, bias)
    assert moving == pytest.approx(system.row_velocity(u), abs=1e-9)
    assert contact > 0
    assert friction > 0
    assert drift < 1e-12
    broken = bias.copy()
    broken[system.first[0]] = np.nan
    assert measure(system, Outcome(impulse, u, 0, 0, broken)).worst == np.inf
    impulse[0] = np.nan
    assert not measure(system, Outcome(impulse, u, 0, 0, bias)).met(1.0)


def test_the_convex_stage_minimises_whatever_it_starts_from() -> None:
    """With γ and the bias held there is one answer: two starts with the same centre give the same velocities."""
    system = moving_system(pile(6, 2))
    rows, n = system.arrays, system.model.body_count
    islands, of_body, island = find_islands(rows, n)
    y = system.row_velocity(system.predicted)
    answers = []
    for seed in (0, 1):
        impulse = np.zeros(system.rows)
        u = system.predicted + np.random.default_rng(seed).normal(size=system.predicted.shape)
        convex_stage(
            rows, system.mass, system.predicted, elimination_order(rows, n), *members(rows, n), of_body,
            island, np.ones(islands, dtype=bool), np.full(islands, 1e-3), system.bias(system.predicted), y,
            1e-13, 200, impulse, u,
        )  # fmt: skip
        answers.append(u)
        momentum = system.body_velocity(impulse)
        assert u == pytest.approx(momentum, abs=2e-2 * np.abs(u).max())
    assert answers[1] == pytest.approx(answers[0], abs=2e-2 * np.abs(answers[0]).max())


def test_this_route_and_the_sequence_both_solve_a_pile() -> None:
    """Friction may leave several answers: both must be one, and the normal momentum they give the same."""
    system = moving_system(pile(4, 5), 8)
    ours = solve_by_bodies(system, np.zeros(system.rows), 50)
    assert measure(system, ours).met(1e-9)
    from perp.stepping.position_level import solve_sequence

    theirs = solve_sequence(system, np.zeros(system.rows), system.before)
    assert measure(system, theirs).met(1e-8)
    falling = system.model.mass @ ours.velocity[:, 2], system.model.mass @ theirs.velocity[:, 2]
    assert falling[0] == pytest.approx(falling[1], abs=2e-2)
