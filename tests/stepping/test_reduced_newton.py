"""Newton's method in generalised velocities: its derivative, and its answers against those of other routes."""

import numpy as np
import pytest

import perp
from perp.dynamics.generalised import GeneralisedState
from perp.scenes import library
from perp.stepping import Level, ReducedStepper, StepSettings
from perp.stepping.reduced_newton import end_normals, end_points
from perp.stepping.reduced_route import solve_by_trees
from perp.stepping.settings import Route

SCENE = """<body name="trunk" pos="0 0 0.12"><freejoint/><geom type="box" size="0.2 0.1 0.02" mass="2"/>
     <body name="arm" pos="0.2 0 0"><joint type="ball" damping="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.2 0 -0.05" size="0.02" mass="0.4"/>
      <body name="hand" pos="0.2 0 -0.05"><joint axis="0 1 0" range="-40 40" limited="true" frictionloss="0.1"/>
       <geom type="sphere" pos="0.1 0 -0.02" size="0.03" mass="0.2"/></body></body></body>
    <body name="box" pos="0.5 0.03 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>"""


def arm(friction: float) -> str:
    shapes = SCENE.replace("<geom", f'<geom friction="{friction} 0 0"')
    return library.scene(library.plane(friction) + shapes)


def moving(
    seed: int, h: float = 0.01, level: str = "position", friction: float = 0.6
) -> tuple[perp.Simulation, ReducedStepper]:
    sim = perp.Simulation(arm(friction), step=h, coordinates="reduced", level=level)
    stepper, rng = sim.stepper, np.random.default_rng(seed)
    assert isinstance(stepper, ReducedStepper)
    start = stepper.initial_state()
    sim.state = stepper.state_of(start.qpos, rng.normal(size=stepper.tree.nv), np.zeros(0), 0.0)
    return sim, stepper


def test_normal_rows_at_the_end_are_the_derivative_of_the_gaps() -> None:
    sim, stepper = moving(3, 0.05)
    system = stepper._prepare(sim.state, 0.05, sim._wrench)[0]
    tree, found, rows, h = stepper.tree, system.contacts, system.arrays, 0.05
    assert isinstance(sim.state, GeneralisedState)
    d, v = tree.start, 2.0 * np.random.default_rng(1).normal(size=tree.nv)
    assert found.count > 5
    assert (found.body >= 0).all(axis=1).any()
    x, quat, motion = d.xpos.copy(), d.xquat.copy(), np.empty((tree.nv, 6))
    points, left = np.empty((found.count, 2, 3)), np.empty(rows.value.size)
    end_points(
        tree.links, found.body, sim.state.qpos, v, h, x, quat, np.empty(tree.mujoco_model.nq), motion,
        rows.local, points,
    )  # fmt: skip
    end_normals(tree.links, rows, found.body, found.frame, points, x, motion, v, h, left)
    dense = np.zeros((found.count, tree.nv))
    for c, i in enumerate(rows.first):
        part = slice(rows.begin[i], rows.begin[i + 1])
        dense[c, rows.column[part]] = left[part]
    step, expected = 1e-6, np.empty_like(dense)
    for j in range(tree.nv):
        e = step * np.eye(tree.nv)[j]
        expected[:, j] = (system.gaps_after(v + e) - system.gaps_after(v - e)) / (2 * step * h)
    assert dense == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_solves_the_contact_problem_at_its_own_positions(seed: int, level: str) -> None:
    sim, stepper = moving(seed, level=level)
    system = stepper._prepare(sim.state, sim.step_size, sim._wrench)[0]
    outcome = solve_by_trees(system, np.zeros(system.rows), 50)
    assert not outcome.message
    # gaps at the end by mujoco's kinematics, W and the residual by other code
    bias = system.bias(outcome.velocity if level == "position" else None)
    assert outcome.bias == pytest.approx(bias, abs=1e-9)
    assert perp.residual(system.problem(bias), outcome.impulse) < 1e-9
    assert outcome.velocity == pytest.approx(system.body_velocity(outcome.impulse), abs=1e-13)


@pytest.mark.parametrize("level", ["position", "velocity"])
@pytest.mark.parametrize("seed", range(4))
def test_without_friction_every_route_finds_the_same_step(seed: int, level: str) -> None:
    sim, _ = moving(seed, level=level, friction=0.0)
    other, _ = moving(seed, level=level, friction=0.0)
    other.stepper.settings = StepSettings(level=Level(level), route=Route.SEQUENCE)
    record, expected = sim.step(), other.step()
    assert record.route == "tree"
    assert expected.route in ("sequence", "velocity")
    assert sim.state.velocity == pytest.approx(other.state.velocity, abs=1e-5)


def test_an_answer_that_is_not_one_is_not_taken() -> None:
    sim, stepper = moving(0)
    system = stepper._prepare(sim.state, 0.01, sim._wrench)[0]
    outcome = solve_by_trees(system, np.zeros(system.rows), 0)
    assert outcome.message
    worst = system.residuals(outcome.impulse, outcome.velocity, outcome.bias)
    assert worst[1] > 1e-3


def test_a_scene_at_rest_needs_one_newton_step_at_most() -> None:
    sim = perp.Simulation(arm(0.6), step=0.01, coordinates="reduced")
    sim.run(3.0)
    assert [sim.step().iterations for _ in range(5)] == pytest.approx([0.5] * 5, abs=0.5)
    assert sim.last.route == "tree"
