"""Whatever numbers come in, what goes out is an answer with a status or an exception of perp."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import generators
import perp
from perp.solvers.linear import diagonal_scale


def test_a_singular_sparse_matrix_is_no_exception_of_admm():
    """Column scale 1 and penalty 0.1 make the first row of M + ρ D vanish."""
    M = np.array([[-0.1, 0.0], [1.0, 1.0]])
    for matrix in (csr_array(M), M):
        solution = perp.solve(perp.LCP(matrix, [1.0, 1.0]), "admm", throw=False, max_iterations=50)
        assert solution.solved == (perp.residual(solution.problem, solution.z) <= 1e-8)


@pytest.mark.parametrize(("lo", "hi"), [(0, 5e-324), (-5e-324, 5e-324), (1e-310, 2e-310), (-1e-320, 1e-310)])
def test_denormal_bounds(lo, hi):
    M, q = [[2.0, 1.0], [1.0, 2.0]], [-1.0, 0.5]
    index = perp.BoxedLCP(M, q, [0.0, -hi], [np.inf, hi], friction_index=[-1, 0])
    for problem in (perp.BoxedLCP(M, q, lo, hi), index):
        for info in perp.solvers(problem):
            if info.available and info.family != "external":
                answer = perp.solve(problem, info.name, throw=False, max_iterations=300)
                assert answer.solved == (answer.residual <= 1e-8)


@pytest.mark.parametrize("mu", [1e150, 1e160, 1e308])
def test_solvers_are_listed_for_any_coefficient(mu):
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1, 0.1, 0.2], mu)
    assert "auto" in [info.name for info in perp.solvers(problem)]


@pytest.mark.parametrize("formulation", ["stewart-trinkle", "anitescu-potra"])
def test_more_facets_than_memory_are_refused_before_they_are_built(formulation):
    problem = generators.contact(3, kinds=(3,))
    with pytest.raises(perp.ProblemError, match=r"facets = 1000000000: the LCP of 3 contacts would take"):
        perp.solve(problem, "lemke", formulation=f"{formulation}:1000000000")
    sparse = perp.ContactProblem(csr_array(problem.W), problem.q, problem.sets)
    with pytest.raises(perp.ProblemError, match="would take about"):
        perp.solve(sparse, "lemke", formulation=f"{formulation}:1000000")
    for number in ("²", "9" * 40, "-4", "1e3"):
        with pytest.raises(perp.SolverError):
            perp.solve(problem, "lemke", formulation=f"{formulation}:{number}")


def test_a_matrix_without_rows_has_a_diagonal_scale() -> None:
    """A principal block of no rows raised numpy's ValueError (search for false claims, infeasible 300007)."""
    assert diagonal_scale(np.zeros((0, 0))).size == 0
    assert diagonal_scale(csr_array((0, 0))).size == 0
