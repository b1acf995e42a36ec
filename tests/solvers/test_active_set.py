"""Pieces of the natural map: solved exactly, with moving bounds, and along nearly flat directions."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.solvers.active_set import classify, descend_to_face_minimum, minimise_on_face, solve_piece
from perp.solvers.boxed_rows import rows_of_problem

INF = np.inf


def test_a_piece_holds_bounds_and_solves_the_rest() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((5, 5))
    problem = perp.BoxedLCP(G @ G.T, rng.standard_normal(5), -1.0, 2.0)
    side = np.array([-1, 0, 1, 0, 0], dtype=np.int8)
    z = solve_piece(rows_of_problem(problem), side, np.zeros(5))
    assert z is not None
    assert z[[0, 2]].tolist() == [-1.0, 2.0]
    assert problem.evaluate(z)[[1, 3, 4]] == pytest.approx(0, abs=1e-9)


def test_a_bound_that_moves_is_part_of_the_system() -> None:
    # friction at its upper bound pushes on the normal: z₀ = 2 − 0.5 z₁ and z₁ = 0.4 z₀
    problem = perp.BoxedLCP(
        [[1.0, 0.5], [0.5, 1.0]], [-2.0, -9.0], [0.0, -0.4], [INF, 0.4], friction_index=[-1, 0]
    )
    z = solve_piece(rows_of_problem(problem), np.array([0, 1], dtype=np.int8), np.ones(2))
    assert z == pytest.approx([2 / 1.2, 0.8 / 1.2])


def test_classification_is_that_of_the_solution() -> None:
    problem = perp.BoxedLCP(np.eye(4), [-3.0, -0.5, 5.0, 1.0], [-1, -1, -1, -INF], [1, 1, 1, INF])
    rows = rows_of_problem(problem)
    z = np.zeros(4)
    assert classify(rows, z, problem.evaluate(z), rows.divisor).tolist() == [1, 0, -1, 0]


def test_walk_along_a_nearly_flat_direction_stops_at_the_bounds() -> None:
    # forces of three supports of one mass: their sum matters, their differences almost not
    M = np.ones((3, 3)) + 1e-9 * np.eye(3)
    q = np.array([-1.0, -1.0 - 1e-6, -1.0 + 1e-6])
    problem = perp.BoxedLCP(M, q, 0.0, 0.6)
    rows = rows_of_problem(problem)
    start = np.full(3, 0.2)

    def energy(z: np.ndarray) -> float:
        return float(0.5 * z @ M @ z + q @ z)

    inside = np.zeros(3, dtype=np.int8)
    far = solve_piece(rows, inside, start)
    assert far is not None
    assert np.abs(far).max() > 100  # the piece's own solution is far outside
    z = descend_to_face_minimum(rows, inside, start, 3)
    assert ((z >= 0) & (z <= 0.6)).all()
    assert energy(z) < energy(start)
    assert perp.solve(problem, "boxed-newton", tol=1e-12).z == pytest.approx([0.4, 0.6, 0.0], abs=1e-6)


def test_reductions_return_the_best_point_in_the_box() -> None:
    problem = perp.BoxedLCP(np.diag([1.0, 2.0]), [-5.0, -1.0], -1.0, 1.0)
    rows = rows_of_problem(problem)

    def merit(z: np.ndarray) -> float:
        return perp.residual(problem, z)

    found = minimise_on_face(rows, np.zeros(2, dtype=np.int8), np.zeros(2), merit, 3)
    assert found is not None
    assert found[0] == pytest.approx([1.0, 0.5])
    assert found[1] == pytest.approx(0, abs=1e-15)
