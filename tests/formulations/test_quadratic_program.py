"""LCPs with semidefinite matrices as quadratic programs, by ours and by other packages' solvers."""

import importlib.util

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp

SOLVERS = {"cone-interior": "numpy", "clarabel": "clarabel", "scs": "scs", "osqp": "osqp", "highs": "highspy"}


def semidefinite(n, rng):
    """A rank-deficient LCP with a known solution."""
    G = rng.standard_normal((n, n // 2 + 1))
    M = G @ G.T
    z = np.maximum(rng.standard_normal(n), 0.0)
    return perp.LCP(M, -M @ z + np.where(z > 0, 0.0, rng.random(n)))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["lcp", "sparse", "boxed", "one-sided"])
def test_quadratic_programs(solver, kind):
    if importlib.util.find_spec(SOLVERS[solver]) is None:
        pytest.skip(f"{SOLVERS[solver]} is not installed")
    rng = np.random.default_rng(3)
    problem = semidefinite(12, rng)
    if kind == "sparse":
        problem = perp.LCP(csr_array(problem.M), problem.q)
    elif kind != "lcp":
        lo, hi = (-0.4, 0.6) if kind == "boxed" else (-0.5, np.inf)
        problem = perp.BoxedLCP(problem.M + 1e-3 * np.eye(12), rng.standard_normal(12), lo, hi)
    solution = perp.solve(problem, solver, tol=1e-7)
    assert solution.formulation in ("lcp-as-qp", "boxed-as-qp")
    reference = perp.solve(problem, "principal", tol=1e-10)
    assert np.abs(solution.w - reference.w).max() <= 1e-5 * np.abs(problem.q).max()


@pytest.mark.parametrize(
    ("M", "why"),
    [
        ([[1, 2], [0, 1]], "not symmetric"),
        ([[1, 2], [2, 1]], "not positive semidefinite"),
        ([[-1]], "negative"),
    ],
)
def test_what_is_no_convex_program_is_refused(M, why):
    problem = perp.LCP(M, np.ones(len(M)))
    with pytest.raises(perp.SolverMismatch, match=why):
        perp.solve(problem, "clarabel", formulation="lcp-as-qp")
    with pytest.raises(perp.SolverMismatch, match="These can"):
        perp.solve(problem, "clarabel")


def test_units_do_not_matter():
    rng = np.random.default_rng(4)
    problem = semidefinite(8, rng)
    for unit in (1e-8, 1e8):
        scaled = perp.LCP(unit * problem.M, problem.q / unit)
        assert perp.solve(scaled, "clarabel", tol=1e-7).solved
