"""The short way of small LCPs and boxed LCPs: judged by the shared residual, the same answers as the long way."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp
from perp.bench.sets import families
from perp.problems.residual import judge
from perp.solvers import small_rows
from perp.solvers.small_rows import solve_small_rows


def problem_of(kind, n, rng):
    G, S = rng.standard_normal((2, n, n))
    M = G @ G.T / n + 1e-3 * np.eye(n)
    q = rng.standard_normal(n)
    if "nonsymmetric" in kind:
        M = M + (S - S.T) / (n if "boxed" in kind else 1)  # exchanges cycle where the skew part prevails
    if "boxed" not in kind:
        return perp.LCP(M, q)
    lo, hi = -rng.random(n), rng.random(n)
    lo[rng.random(n) < 0.2], hi[rng.random(n) < 0.2] = -np.inf, np.inf
    return perp.BoxedLCP(M, q, lo, hi)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 33, 64, 120])
@pytest.mark.parametrize("kind", ["lcp", "nonsymmetric lcp", "boxed", "nonsymmetric boxed"])
def test_verdict_is_that_of_the_shared_residual_to_the_bit(kind, n):
    rng = np.random.default_rng(n)
    problem = problem_of(kind, n, rng)
    solution = solve_small_rows(problem, 1e-8)
    assert solution is not None
    value, w = judge(problem, solution.z)
    assert solution.residual == value
    assert np.array_equal(solution.w, w)
    assert solution.solved
    long = perp.solve(problem, "boxed-newton", tol=1e-10)
    assert np.abs(solution.z - long.z).max() <= 1e-6 * max(1.0, np.abs(long.z).max())
    assert np.abs(solution.w[solution.info["active_set"]]).max(initial=0.0) <= 1e-8
    assert [stage["solver"] for stage in perp.solve(problem).info["stages"]] == [solution.solver]


def test_what_it_does_not_solve_goes_the_longer_way():
    unsolvable = perp.LCP([[0.0]], [-1.0])
    assert solve_small_rows(unsolvable, 1e-8) is None
    assert perp.solve(unsolvable, throw=False).status is perp.Status.INFEASIBLE
    friction = perp.BoxedLCP(np.eye(2), [-1.0, 3.0], [0, -0.5], [np.inf, 0.5], friction_index=[-1, 0])
    assert solve_small_rows(friction, 1e-8) is None
    assert perp.solve(friction).z == pytest.approx([1.0, -0.5])
    assert solve_small_rows(perp.LCP(csr_array(np.eye(2)), -np.ones(2)), 1e-8) is None
    singular = perp.LCP(np.ones((3, 3)), [-1.0, -1.0, -1.0])
    assert perp.solve(singular).solved
    empty = perp.LCP(np.empty((0, 0)), [])
    assert perp.solve(empty).solved


def test_nothing_is_kept_of_an_answer():
    problem = perp.LCP(np.eye(3), [-1.0, -2.0, 3.0])
    first = perp.solve(problem)
    first.z[:] = 7.0
    assert perp.solve(problem).z == pytest.approx([1.0, 2.0, 0.0])


def test_large_ones_keep_nothing(monkeypatch):
    monkeypatch.setattr(small_rows, "KEPT", 2)
    problem = perp.LCP(np.eye(3), -np.ones(3))
    perp.solve(problem)
    assert "_packed" not in problem.__dict__


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan"), "x"])
def test_bad_tolerance_is_still_refused(tol):
    with pytest.raises(perp.ProblemError, match="tol"):
        perp.solve(perp.LCP(np.eye(2), -np.ones(2)), tol=tol)


def test_fields_of_the_solution_are_complete():
    solution = perp.solve(perp.BoxedLCP(np.eye(2), [-3.0, 0.5], -1.0, 1.0))
    assert solution.formulation is None
    assert solution.history is None
    assert solution.message == ""
    assert solution.solve_time > 0
    assert solution.info["at_upper"].tolist() == [0]
    assert solution.cases[0].words == "slides at a bound"
    assert "SOLVED" in repr(solution)


@pytest.mark.parametrize(
    ("problem", "solver"), [(families.redundant(32), "lemke"), (families.murty(12), "principal")]
)
def test_redundant_rows_end_by_a_path_and_murtys_by_an_exchange_in_one_call(problem, solver):
    solution = solve_small_rows(problem, 1e-8)
    assert solution is not None
    assert solution.solver == solver
    assert judge(problem, solution.z)[0] <= 1e-8
