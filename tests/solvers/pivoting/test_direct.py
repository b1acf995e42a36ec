"""Complementary cones: signs decide, and every solution is found."""

from __future__ import annotations

import numpy as np
import pytest

import perp

EVERY = {"all_solutions": True}


def solutions(M: object, q: object) -> list[tuple[float, ...]]:
    found = perp.solve(perp.LCP(M, q), "direct", options=EVERY, throw=False).info["solutions"]
    return sorted(tuple(np.round(z, 12) + 0.0) for z in found)


def test_plane_with_three_solutions() -> None:
    assert solutions([[1, 2], [2, 1]], [-1, -1]) == [
        (0.0, 1.0), (0.333333333333, 0.333333333333), (1.0, 0.0),
    ]  # fmt: skip


def test_space_with_seven_solutions() -> None:
    """M = 2 ee ᵀ − I: every nonempty set of equal entries is a solution."""
    found = solutions(2 * np.ones((3, 3)) - np.eye(3), [-1.0, -1.0, -1.0])
    assert len(found) == 7


def test_no_solution_in_the_plane_and_in_space() -> None:
    assert solutions([[-1, 0], [0, 1]], [-1, 1]) == []
    assert solutions(-np.eye(3), [-1, 1, 1]) == []


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(8))
def test_all_solutions_are_those_of_exact_enumeration(n: int, seed: int) -> None:
    from fractions import Fraction

    from flint import fmpq, fmpq_mat

    rng = np.random.default_rng([n, seed])
    M, q = rng.integers(-4, 5, (n, n)), rng.integers(-4, 5, n)
    expected = set()
    for choice in range(1 << n):
        rows = [i for i in range(n) if choice >> i & 1]
        z = [Fraction(0)] * n
        if rows:
            block = fmpq_mat(len(rows), len(rows), [fmpq(int(M[i, j])) for i in rows for j in rows])
            if block.det() == 0:
                continue
            x = block.solve(fmpq_mat(len(rows), 1, [fmpq(-int(q[i])) for i in rows]))
            for a, i in enumerate(rows):
                z[i] = Fraction(int(x[a, 0].p), int(x[a, 0].q))
        w = [sum(int(M[i, j]) * z[j] for j in range(n)) + int(q[i]) for i in range(n)]
        if min(z) >= 0 and min(w) >= 0:
            expected.add(tuple(round(float(x), 12) for x in z))
    assert expected <= set(solutions(M, q))


def test_solution_that_rests_only_on_cones_without_volume() -> None:
    """Both cones that hold q are flat: choices with z₂ free have dependent columns."""
    solution = perp.solve(perp.LCP([[0, 1], [0, 0]], [-1, 0]), "direct")
    assert solution.residual == 0.0
    np.testing.assert_array_equal(solution.z, [0, 1])


def test_seventeen_rows_are_handed_on_with_a_note() -> None:
    solution = perp.solve(perp.LCP(np.eye(17), -np.ones(17)), "direct")
    assert np.array_equal(solution.z, np.ones(17))
    assert solution.solver == "lemke"
    assert "at most 16 rows: these 17 were handed on to lemke" in solution.message
    with pytest.raises(perp.ProblemError, match="all_solutions: 17 rows"):
        perp.solve(perp.LCP(np.eye(17), -np.ones(17)), "direct", options={"all_solutions": True})


def test_no_cone_holds_q_is_a_proof() -> None:
    """w = (z₂ − 1, z₂ + 1) ≥ 0 needs z₂ ≥ 1, and then w₂ > 0: no single vector could prove that."""
    problem = perp.LCP([[0, 1], [0, 1]], [-1, 1])
    assert (problem.M @ np.array([0.0, 1.0]) + problem.q >= 0).all()
    solution = perp.solve(problem, "direct", throw=False)
    assert solution.status is perp.Status.INFEASIBLE
    certificate = solution.info["certificate"]
    assert certificate.shape == (4, 2)
    for choice in range(4):
        cone = np.eye(2)
        for j in range(2):
            if (choice >> j) & 1:
                cone[:, j] = -problem.M[:, j]
        assert (certificate[choice] @ cone >= -1e-12).all()
        assert certificate[choice] @ problem.q < 0


def test_a_wrong_separator_proves_nothing() -> None:
    from perp.problems.infeasibility import proves_infeasible

    problem = perp.LCP([[0, 1], [0, 1]], [-1, 1])
    certificate = perp.solve(problem, "direct", throw=False).info["certificate"]
    assert proves_infeasible(problem, certificate)
    for choice in range(4):
        spoilt = certificate.copy()
        spoilt[choice] *= -1
        assert not proves_infeasible(problem, spoilt)
    assert not proves_infeasible(problem, certificate[:3])


def test_random_matrices_are_solved_or_proved_unsolvable() -> None:
    rng = np.random.default_rng(5)
    ends = set()
    for _ in range(120):
        n = int(rng.integers(1, 7))
        problem = perp.LCP(rng.standard_normal((n, n)), rng.standard_normal(n))
        ends.add(perp.solve(problem, "direct", throw=False).status)
    assert ends == {perp.Status.SOLVED, perp.Status.INFEASIBLE}


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_local_solver_of_block_gauss_seidel(rows: int) -> None:
    rng = np.random.default_rng(6)
    G = rng.standard_normal((20, 20))
    problem = perp.LCP(G @ G.T + 20 * np.eye(20), 30 * rng.standard_normal(20))
    blocks = perp.solve(problem, "block-gauss-seidel", tol=1e-12, options={"rows": rows})
    assert blocks.info["blocks"] == -(-20 // rows)
    assert blocks.info["unsolvable_blocks"] == 0
    assert np.abs(blocks.z - perp.solve(problem, "lemke", tol=1e-12).z).max() <= 1e-9
    single = perp.solve(problem, "block-gauss-seidel", tol=1e-12, options={"rows": 1})
    assert blocks.iterations <= single.iterations


def test_limit_counts_cones() -> None:
    solution = perp.solve(perp.LCP(np.eye(4), -np.ones(4)), "direct", max_iterations=3, throw=False)
    assert solution.iterations <= 3 or solution.solved
