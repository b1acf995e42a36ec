"""INFEASIBLE is said only with a vector that proves it in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp
from perp.problems.infeasibility import exact_certificate, proves_infeasible


def proves(problem: perp.LCP, v: np.ndarray) -> bool:
    """A second implementation in fractions: v ≥ 0, Mᵀ v ≤ 0, qᵀ v < 0."""
    exact = [Fraction(float(x)) for x in v]
    M = [[Fraction(float(x)) for x in row] for row in np.asarray(problem.M)]
    n = range(len(exact))
    return (
        min(exact) >= 0
        and all(sum(M[i][j] * exact[i] for i in n) <= 0 for j in n)
        and sum(Fraction(float(problem.q[i])) * exact[i] for i in n) < 0
    )


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal", "auto"])
def test_what_is_singular_up_to_round_off_is_not_called_infeasible_without_proof(solver):
    """F Fᵀ in doubles is regular or indefinite: most of these have a solution of 1e15."""
    claimed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        F = rng.standard_normal((n, max(1, n - int(rng.integers(1, 3)))))
        problem = perp.LCP(F @ F.T, rng.standard_normal(n))
        solution = perp.solve(problem, solver, throw=False)
        if solution.status is perp.Status.INFEASIBLE:
            claimed += 1
            assert proves(problem, solution.info["certificate"])
    assert claimed < 40


def test_huge_rational_solutions_are_not_denied():
    """M = [[1, −1], [−1, 1 + ε]] has z = (2/ε + 1, 2/ε) for q = −1."""
    for exponent in range(10, 52, 3):
        problem = perp.LCP([[1.0, -1.0], [-1.0, 1 + 2.0**-exponent]], [-1.0, -1.0])
        exact = np.array([2.0 ** (exponent + 1) + 1, 2.0 ** (exponent + 1)])
        assert perp.residual(problem, exact) == 0
        for solver in ("lemke", "dantzig", "principal", "auto"):
            assert perp.solve(problem, solver, throw=False).status is not perp.Status.INFEASIBLE
        assert not proves_infeasible(problem, np.ones(2))


def test_a_margin_of_one_unit_in_the_last_place_decides():
    for margin, expected in ((0.0, True), (2.0**-52, False), (-(2.0**-52), True)):
        problem = perp.LCP([[1.0, -1.0], [-1.0, 1.0 + margin]], [-1.0, -1.0])
        assert (exact_certificate(problem, [1.0, 1.0]) is not None) == expected
        sparse = perp.LCP(csr_array(problem.M), problem.q)
        assert (exact_certificate(sparse, [1.0, 1.0]) is not None) == expected


def test_a_rounded_vector_is_replaced_by_one_that_holds():
    problem = perp.LCP([[4.0, -2.0], [-2.0, 1.0]], [-1.0, -1.0])
    rounded = np.array([1 / 3, 2 / 3]) * (1 + 1e-14)
    found = exact_certificate(problem, rounded)
    assert found is not None
    assert proves(problem, found)


def test_a_vector_with_a_margin_is_found_where_rounding_spoils_the_given_one():
    rng = np.random.default_rng(0)
    M = -rng.random((6, 6))
    problem = perp.LCP(M, rng.standard_normal(6) - 0.2)
    solution = perp.solve(problem, "lemke", throw=False)
    if solution.status is perp.Status.INFEASIBLE:
        assert proves(problem, solution.info["certificate"])
    found = exact_certificate(problem, np.where(problem.q < 0, 1.0, 1e-3))
    assert found is not None
    assert proves(problem, found)


def test_sums_that_overflow_or_vanish_prove_nothing_falsely():
    tiny = perp.LCP([[5e-324]], [-5e-324])
    assert not proves_infeasible(tiny, [1.0])
    assert not proves_infeasible(tiny, [5e-324])
    huge = perp.LCP([[1e308, 1e308], [1e308, 1e308]], [-1e308, -1e308])
    assert not proves_infeasible(huge, [1.0, 1.0])
    assert proves_infeasible(perp.LCP([[-1e308, 0], [-1e308, -1e308]], [-1e308, 1.0]), [1.0, 0.0])
