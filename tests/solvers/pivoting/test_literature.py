"""Problems with known answers, named by where they come from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import perp
from perp.bench.sets import families, literature

ALL = ["direct", "lemke", "dantzig", "baraff", "principal"]
ANY_MATRIX = ["direct", "lemke", "principal"]


@pytest.mark.parametrize("solver", ANY_MATRIX)
def test_murty_example_2_8(solver: str) -> None:
    """Murty (1988), example 2.8: z = (2, 1, 3, 1)."""
    solution = perp.solve(literature.example("murty-2.8"), solver, throw=False)
    if solver == "principal" and not solution.solved:
        pytest.skip("not a P-matrix: principal pivoting promises nothing, and said so")
    np.testing.assert_allclose(solution.z, [2, 1, 3, 1], atol=1e-12)


def test_murty_example_2_9_ends_on_a_ray() -> None:
    """Murty (1988), example 2.9: Lemke's method ends on a secondary ray."""
    M = [[-1, 0, -3], [1, -2, -5], [-2, -1, -2]]
    solution = perp.solve(perp.LCP(M, [-3, -2, -1]), "lemke", throw=False)
    assert solution.status in (perp.Status.RAY, perp.Status.INFEASIBLE)
    ray = solution.info["ray"]
    rates = np.asarray(M) @ ray["z"] + ray["z0"] - ray["w"]
    np.testing.assert_allclose(rates, 0.0, atol=1e-12)
    assert (ray["z"] >= -1e-12).all()
    assert (ray["w"] >= -1e-12).all()


@pytest.mark.parametrize("solver", ANY_MATRIX)
def test_kostreva_cycling_example(solver: str) -> None:
    """Kostreva (1979), the 3×3 P-matrix on which principal pivoting without a least-index rule cycles."""
    problem = literature.example("kostreva-principal-cycling")
    solution = perp.solve(problem, solver)
    assert perp.certify(problem, solution).z == (Fraction(1, 3),) * 3


def test_kostreva_lemke_cycling_example() -> None:
    """Kostreva (1979), example 2: Lemke without a rule for ties cycles; the lexicographic rule gets through."""
    problem = literature.example("kostreva-lemke-cycling")
    solution = perp.solve(problem, "lemke")
    assert solution.residual <= 1e-14


@pytest.mark.parametrize("n", [3, 6, 10, 12, 16])
def test_murty_1978_takes_exponentially_many_pivots_of_lemke(n: int) -> None:
    solution = perp.solve(families.murty(n), "lemke")
    assert solution.iterations == 2**n - 1
    np.testing.assert_array_equal(solution.z, [1.0] + [0.0] * (n - 1))


@pytest.mark.parametrize("size", [20, 60])
def test_exponential_families_end_in_the_limit_truthfully(size: int) -> None:
    solution = perp.solve(families.murty(size), "lemke", throw=False)
    assert solution.status is perp.Status.ITERATION_LIMIT
    assert solution.residual > 1e-3
    for problem in (families.murty(size), families.fathi(size)):
        limited = perp.solve(problem, "principal", max_iterations=3, throw=False)
        assert limited.status is perp.Status.ITERATION_LIMIT or limited.solved


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_fathi_1979_is_solved_or_limited(solver: str) -> None:
    problem = families.fathi(12)
    solution = perp.solve(problem, solver, throw=False)
    assert solution.solved or solution.status is perp.Status.ITERATION_LIMIT
    if solution.solved:
        np.testing.assert_allclose(solution.z, [1.0] + [0.0] * 11, atol=1e-12)


def test_cottle_pang_stone_bimatrix_game_has_three_equilibria() -> None:
    """A copositive LCP of a bimatrix game (Cottle, Pang and Stone): every solution is found by enumeration."""
    problem = literature.example("bimatrix-game")
    everything = perp.solve(problem, "direct", options={"all_solutions": True}).info["solutions"]
    assert len(everything) == 3
    for z in everything:
        assert perp.residual(problem, z) <= 1e-12
    # copositive but not copositive-plus: the usual covering vector ends on a ray, another one does not
    solution = perp.solve(problem, "lemke")
    assert min(np.abs(solution.z - z).max() for z in everything) <= 1e-12


@pytest.mark.parametrize("solver", ANY_MATRIX)
def test_ortiz_of_the_siconos_collection(solver: str) -> None:
    problem = literature.example("ortiz")
    certificate = perp.certify(problem, perp.solve(problem, solver))
    assert certificate.z == (Fraction(2, 3), 0, Fraction(1, 3), 0)


@pytest.mark.parametrize("solver", ALL)
def test_nguyen_two_contacts(solver: str) -> None:
    """w = M z + q with M = [[2, 1], [1, 2]], q = (−5, −6): z = (4/3, 7/3)."""
    problem = literature.example("nguyen-two-contacts")
    certificate = perp.certify(problem, perp.solve(problem, solver))
    assert certificate.z == (Fraction(4, 3), Fraction(7, 3))
