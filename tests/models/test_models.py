"""Every model against a formula of mechanics."""

from __future__ import annotations

import math

import numpy as np
import pytest

import perp
from perp.comparison.verdict import totals
from perp.models.catalogue import MODELS, build
from perp.models.rigid import frame

G = 9.81


def solved_totals(name: str, **parameters) -> tuple[float, float]:
    model = build(name, **parameters)
    solution = perp.solve(model.problem, "block-gauss-seidel", tol=1e-11)
    normal, tangential = totals(model.problem, solution.z)
    return normal / model.step, tangential / model.step


def test_a_ball_rolls_under_two_sevenths_of_the_downhill_force() -> None:
    tilt = math.radians(25.0)
    assert solved_totals("sphere-on-slope", angle=25.0, mu=1.0) == pytest.approx(
        (G * math.cos(tilt), 2 / 7 * G * math.sin(tilt))
    )


def test_a_ball_slips_where_friction_cannot_roll_it() -> None:
    tilt = math.radians(25.0)
    mu = 0.5 * 2 / 7 * math.tan(tilt)
    assert solved_totals("sphere-on-slope", angle=25.0, mu=mu)[1] == pytest.approx(mu * G * math.cos(tilt))


def test_a_stack_carries_one_two_and_three_weights() -> None:
    assert solved_totals("stack")[0] == pytest.approx(6 * G)


def test_a_block_on_a_smooth_wedge_Kibble_and_Berkshire() -> None:
    alpha = math.radians(30.0)
    pressing = G * math.cos(alpha) / (1 + 0.5 * math.sin(alpha) ** 2)
    floor = 2 * G + pressing * math.cos(alpha)
    assert solved_totals("wedge", angle=30.0, mu=0.0)[0] == pytest.approx(pressing + floor)


def test_the_motor_of_the_slider_crank_keeps_its_speed_or_its_torque() -> None:
    model = build("slider-crank")
    solution = perp.solve(model.problem, "block-gauss-seidel", tol=1e-11)
    torque, excess = solution.z[6] / model.step, solution.w[6]
    assert abs(torque) <= 2.0 + 1e-9
    assert excess == pytest.approx(0.0, abs=1e-9) or abs(torque) == pytest.approx(2.0)
    assert np.abs(solution.w[:6]).max() < 1e-9


def test_a_steep_chain_hangs_from_its_first_joint() -> None:
    model = build("chain", angle=90.0, mu=0.3)
    solution = perp.solve(model.problem, "block-gauss-seidel", tol=1e-11)
    assert solution.z[0] / model.step == pytest.approx(-5 * 0.1 * G)


def test_the_floor_carries_the_whole_pile() -> None:
    model = build("pile", mu=0.9)
    solution = perp.solve(model.problem, "block-gauss-seidel", tol=1e-9)
    floor = solution.z.reshape(-1, 3)[:9, 0].sum() / model.step
    assert model.problem.dynamics is not None
    falling = model.problem.dynamics.body_velocity(solution.z)
    momentum = 0.1 * falling.reshape(-1, 6)[:, 2].sum() / model.step
    assert floor == pytest.approx(14 * 0.1 * G + momentum, rel=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_in_dynamics_form_and_at_the_same_bits_every_time(name: str) -> None:
    assert build(name).problem.dynamics is not None
    assert build(name).problem.equals(build(name).problem)


def test_frames_are_right_handed() -> None:
    for normal in np.random.default_rng(0).normal(size=(20, 3)):
        rows = frame(normal)
        assert rows @ rows.T == pytest.approx(np.eye(3))
        assert np.linalg.det(rows) == pytest.approx(1.0)


def test_unknown_models_and_parameters_are_named() -> None:
    with pytest.raises(perp.ProblemError, match="box-on-slope"):
        build("box-on-moon")
    with pytest.raises(perp.ProblemError, match="angle"):
        build("pile", angle=3.0)
