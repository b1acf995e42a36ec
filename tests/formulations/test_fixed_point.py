"""Anderson acceleration: exact on linear maps, plain without memory, and it stops."""

from __future__ import annotations

import numpy as np

from perp.formulations.fixed_point import FixedPoint


def iterate(g, point: np.ndarray, state: FixedPoint) -> tuple[np.ndarray, int]:
    for count in range(1000):
        following = state.advance(point, g(point))
        if following is None:
            return point, count
        point, state = following
    raise AssertionError("did not stop")


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_dimensions() -> None:
    matrix = np.array([[0.9, 0.1], [0.0, -0.8]])
    answer = np.array([2.0, 1.0])
    point, count = iterate(lambda s: answer + matrix @ (s - answer), np.zeros(2), FixedPoint())
    assert np.allclose(point, answer, rtol=1e-13)
    assert count <= 6


def test_without_memory_it_is_the_plain_iteration() -> None:
    following = FixedPoint(memory=0).advance(np.array([1.0]), np.array([0.5]))
    assert following is not None
    point, state = following
    again = state.advance(point, np.array([0.25]))
    assert again is not None
    assert again[0] == 0.25


def test_it_stops_at_the_limit_and_where_noise_keeps_it_from_settling() -> None:
    _, count = iterate(lambda s: s + 1.0, np.zeros(1), FixedPoint(memory=0, limit=10))
    assert count == 9
    rng = np.random.default_rng(0)
    _, count = iterate(lambda s: 1.0 + 1e-6 * rng.random(1), np.zeros(1), FixedPoint())
    assert count < 50


def test_points_stay_nonnegative() -> None:
    following = FixedPoint().advance(np.array([1.0]), np.array([-3.0]))
    assert following is not None
    assert following[0] == 0.0
