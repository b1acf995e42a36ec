"""Bimatrix games: equilibria checked by what no player can gain, and against enumeration."""

import numpy as np
import pytest

import perp


def game(A, B):
    """The LCP of a game with positive costs A of the first and B of the second player."""
    m, n = A.shape
    return perp.LCP(np.block([[np.zeros((m, m)), A], [B.T, np.zeros((n, n))]]), -np.ones(m + n))


def gain(A, B, z):
    """What a player could still save by another strategy, relative to the cost."""
    m = A.shape[0]
    x, y = z[:m] / z[:m].sum(), z[m:] / z[m:].sum()
    return max(1 - (A @ y).min() / (x @ A @ y), 1 - (x @ B).min() / (x @ B @ y))


@pytest.mark.parametrize("solver", ["lemke-howson", "lemke", "auto"])
def test_random_games(solver):
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, n = rng.integers(1, 12, 2)
        A, B = rng.random((2, m, n)) + 0.1
        solution = perp.solve(game(A, B), solver, tol=1e-10)
        assert gain(A, B, solution.z) <= 1e-8


def test_matching_pennies_has_one_equilibrium():
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    solution = perp.solve(game(A, 3.0 - A), "lemke-howson")
    assert solution.z == pytest.approx(np.full(4, 1 / 3))


def test_wilson_three_by_three():
    """The game of von Stengel's survey (2002), payoffs as costs 7 − a: its equilibria are among all solutions."""
    A = 7.0 - np.array([[0.0, 6.0], [2.0, 5.0], [3.0, 3.0]])
    B = 7.0 - np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 3.0]])
    problem = game(A, B)
    every = perp.solve(problem, "direct", options={"all_solutions": True}).info["solutions"]
    found = perp.solve(problem, "lemke-howson")
    assert any(np.abs(found.z - z).max() <= 1e-9 for z in every)
    assert len(every) == 3
    assert found.info["label"] == 0


def test_degenerate_game_of_equal_costs():
    A = np.ones((3, 4))
    solution = perp.solve(game(A, A), "lemke")
    assert gain(A, A, solution.z) <= 1e-12
    assert solution.info["path"] == "lemke-howson"


def test_what_is_no_game_is_refused():
    with pytest.raises(perp.SolverMismatch, match="bimatrix"):
        perp.solve(perp.LCP(np.eye(2), -np.ones(2)), "lemke-howson")
    negative = game(np.array([[1.0, -1.0]]), np.array([[1.0, 1.0]]))
    with pytest.raises(perp.SolverMismatch, match="bimatrix"):
        perp.solve(negative, "lemke-howson")


def test_second_covering_vector():
    """More random matrices are solved than by one path, none of them falsely."""
    rng = np.random.default_rng(2)
    one = several = 0
    for _ in range(80):
        problem = perp.LCP(rng.standard_normal((5, 5)), rng.standard_normal(5))
        one += perp.solve(problem, "lemke", throw=False, options={"covering": np.ones(5)}).solved
        solution = perp.solve(problem, "lemke", throw=False)
        several += solution.solved
        if "coverings" in solution.info:
            assert solution.info["coverings"] >= 2
    assert several > one
