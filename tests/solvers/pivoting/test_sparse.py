"""Sparse pivoting: the answers of dense kernels without their memory, on meshes, bands and games without order."""

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron, random_array

import perp
from perp.bench.sets.large import american_put
from perp.problems import SolverMismatch
from perp.solvers import registry
from perp.solvers.attempt import Control
from perp.solvers.auto import candidates
from perp.solvers.pivoting.coarse_start import coarsen
from perp.solvers.pivoting.sparse_lemke import follow
from perp.solvers.pivoting.sparse_principal import step_limit


def membrane(side):
    """A membrane on a square pulled over a paraboloid: w = A (u − ψ) + A ψ − f, five-point differences."""
    h = 1.0 / (side + 1)
    band = diags_array([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
    A = csr_array(kron(band, eye_array(side)) + kron(eye_array(side), band))
    x = np.arange(1, side + 1) * h
    X, Y = np.meshgrid(x, x)
    psi = (0.3 - 2 * ((X - 0.5) ** 2 + (Y - 0.5) ** 2)).ravel()
    return A, A @ psi + 2 * h * h


@pytest.mark.parametrize("solver", ["principal", "lemke", "auto"])
def test_membrane_over_an_obstacle(solver):
    A, q = membrane(60)
    problem = perp.LCP(A, q)
    solution = perp.solve(problem, solver, tol=1e-12)
    by_newton = perp.solve(problem, "boxed-newton", tol=1e-12)
    assert np.abs(solution.z - by_newton.z).max() <= 1e-9 * np.abs(by_newton.z).max()
    active = np.flatnonzero(by_newton.z > 1e-9)
    assert set(active) <= set(solution.info["active_set"])


def test_smaller_problems_save_steps():
    """Without them the free region's edge moves by one layer a step, and there are dozens of layers."""
    A, q = membrane(80)
    assert perp.solve(perp.LCP(A, q), "principal").iterations <= 8


@pytest.mark.parametrize("solver", ["principal", "lemke"])
@pytest.mark.parametrize("off", [(-1.0, -1.0), (-2.0, -1.0), (1.0, 1.0)])
def test_band(solver, off):
    n = 5000
    M = csr_array(diags_array([np.full(n - 1, off[0]), np.full(n, 4.0), np.full(n - 1, off[1])],
                              offsets=[-1, 0, 1]))  # fmt: skip
    problem = perp.LCP(M, np.random.default_rng(0).standard_normal(n))
    solution = perp.solve(problem, solver, tol=1e-13)
    small = perp.LCP(M[:300, :300].toarray(), problem.q[:300])
    # 300 rows of a diagonally dominant band: far from its cut they are those of the whole
    assert np.abs(perp.solve(small, "lemke").z[:200] - solution.z[:200]).max() <= 1e-10


def test_boxed_band_like_dense():
    n = 900
    rng = np.random.default_rng(3)
    M = csr_array(diags_array([-np.ones(n - 1), np.full(n, 2.05), -np.ones(n - 1)], offsets=[-1, 0, 1]))
    lo = np.where(rng.random(n) < 0.2, -np.inf, -rng.random(n))
    hi = np.where(rng.random(n) < 0.2, np.inf, rng.random(n))
    q = rng.standard_normal(n)
    sparse = perp.solve(perp.BoxedLCP(M, q, lo, hi), "principal", tol=1e-12)
    dense = perp.solve(perp.BoxedLCP(M.toarray(), q, lo, hi), "principal", tol=1e-12)
    assert np.abs(sparse.z - dense.z).max() <= 1e-10
    assert np.array_equal(sparse.info["active_set"], dense.info["active_set"])


def test_singular_band_without_supports():
    """A free rod (zero row sums) pressed on supports: the free block is singular until one holds it."""
    n = 800
    diagonal = np.full(n, 2.0)
    diagonal[[0, -1]] = 1.0
    M = csr_array(diags_array([-np.ones(n - 1), diagonal, -np.ones(n - 1)], offsets=[-1, 0, 1]))
    q = np.full(n, -1.0 / n)
    q[n // 2] = 1.0 - 1e-6  # the load nearly balances: the sum of q is negative by 1e-6 and a solution is far
    q[0] += 1.0 / n + 1e-3
    solution = perp.solve(perp.LCP(M, q), "principal", tol=1e-9)
    assert solution.solved


@pytest.mark.parametrize("solver", ["lemke", "auto"])
def test_nonsymmetric_where_exchanges_cycle(solver):
    n = 500
    S = random_array((n, n), density=4 / n, rng=np.random.default_rng(1))
    M = csr_array(S - S.T + 0.05 * eye_array(n))
    solution = perp.solve(perp.LCP(M, np.random.default_rng(2).standard_normal(n)), solver)
    assert solution.solver == "lemke"
    assert solution.info["pivots"] > 0


def test_path_of_sparse_lemke_like_dense():
    rng = np.random.default_rng(4)
    for _ in range(30):
        n = int(rng.integers(2, 40))
        S = random_array((n, n), density=min(1.0, 4 / n), rng=rng)
        M = csr_array(S - S.T + 0.3 * S @ S.T + 0.1 * eye_array(n))
        problem = perp.LCP(M, rng.standard_normal(n))
        end = follow(problem, np.empty(0, dtype=np.int64), Control(lambda z: 1.0, tol=1e-9), 500)
        assert end.reason is None
        assert np.array_equal(end.free, perp.solve(problem, "lemke").info["active_set"])


def test_no_solution_is_proved():
    n = 600
    M = csr_array(
        diags_array([-np.ones(n - 1), np.full(n, 2.1), -np.ones(n - 1)], offsets=[-1, 0, 1])
    ).tolil()
    M[7] = 0.0
    M[:, 7] = 0.0
    q = np.ones(n)
    q[7] = -1.0
    solution = perp.solve(perp.LCP(csr_array(M), q), "lemke", throw=False)
    assert solution.status is perp.Status.INFEASIBLE


def test_covering_vector_of_the_user():
    n = 450
    M = csr_array(diags_array([-np.ones(n - 1), np.full(n, 3.0), -np.ones(n - 1)], offsets=[-1, 0, 1]))
    problem = perp.LCP(M, np.random.default_rng(0).standard_normal(n))
    solution = perp.solve(problem, "lemke", options={"covering": np.linspace(1, 2, n)})
    assert solution.info["pivots"] > 100
    assert solution.info["crash_steps"] <= 1


def test_columns_of_smaller_problems_are_nonnegative():
    A, _ = membrane(30)
    P = coarsen(A, symmetric=True)
    assert P is not None
    assert P.data.min() >= 0.0
    assert P.shape[1] < 0.3 * P.shape[0]
    # every row belongs to some column: its sum is that of one smoothed constant, at most 1
    assert (P @ np.ones(P.shape[1])).min() > 0.0
    assert (P @ np.ones(P.shape[1])).max() <= 1.0 + 1e-12


def test_what_does_not_fit_says_so_before_it_begins(monkeypatch):
    monkeypatch.setattr(registry, "free_memory", lambda: 2e9)
    n = 30_000
    M = csr_array(diags_array(np.full(n, 2.0)))
    problem = perp.LCP(M, -np.ones(n))
    with pytest.raises(SolverMismatch, match=r"dantzig .* would need 21\.6 GB, and 2 GB are free.*principal"):
        perp.solve(problem, "dantzig")
    names = [info.name for info in perp.solvers(problem)]
    assert "baraff" not in names
    assert {"principal", "lemke", "boxed-newton"} <= set(names)
    assert perp.solve(problem).solver == "principal"


def test_drift_makes_an_option_nonsymmetric_and_no_slower():
    """The edge of early exercise is 1100 rows from where exchanges would begin one by one."""
    problem = american_put(2000)
    solution = perp.solve(problem)
    assert (solution.solver, solution.iterations <= 12) == ("principal", True)
    assert np.abs(solution.z - perp.solve(problem, "lemke").z).max() <= 1e-9


def test_without_dominance_lemke_comes_first():
    """Exchanges need not end on such a matrix; most of these problems have no solution at all."""
    rng = np.random.default_rng(5)
    M = csr_array(eye_array(450) * 1.2 - random_array((450, 450), density=3 / 450, rng=rng))
    assert candidates(perp.LCP(M, np.ones(450)))[0] == "lemke"
    assert candidates(american_put(450))[0] == "principal"


def tridiagonal(n, below=-1.0, above=-1.0):
    """The band with no more on its diagonal than beside it: its condition grows as n²."""
    beside = [np.full(n - 1, below), np.full(n, -below - above), np.full(n - 1, above)]
    return csr_array(diags_array(beside, offsets=[-1, 0, 1]))


@pytest.mark.parametrize("solver", ["principal", "lemke"])
def test_rows_that_barely_touch(solver):
    """z = (1 − sin) / k² touches zero in single points without a force: round-off of 1e-6 would decide them."""
    n = 100_000
    q = np.sin(2 * np.pi * np.arange(n) / 5000)
    solution = perp.solve(perp.LCP(tridiagonal(n), q), solver)
    assert solution.residual <= 1e-9
    assert solution.iterations <= 20


def test_large_answers_to_the_last_digit():
    """z = i (n + 1 − i) / 2, up to 1.25e9, and doubles hold it; z of another load they do not, and that is said."""
    n = 100_000
    i = np.arange(1.0, n + 1)
    assert np.array_equal(
        perp.solve(perp.LCP(tridiagonal(n), -np.ones(n)), "principal").z, i * (n + 1 - i) / 2
    )
    with pytest.raises(perp.NotSolved, match=r"Every row is on its side, but z is as large as 1.4e\+09"):
        perp.solve(perp.LCP(tridiagonal(n), np.full(n, -1.1)), "principal")


@pytest.mark.parametrize("below", [-1.2, -1.01])
@pytest.mark.parametrize("seed", [0, 3])
def test_free_regions_that_drift_grow_fast(below, seed):
    """With a drift the edge of a free region lies hundreds of rows from that of the smaller problem."""
    n = 40_000
    q = 0.01 * np.cumsum(np.random.default_rng(seed).standard_normal(n))
    problem = perp.LCP(tridiagonal(n, below), q)
    solution = perp.solve(problem, "principal", tol=1e-9)
    assert solution.iterations <= 60
    assert np.array_equal(perp.solve(problem, "lemke", tol=1e-9).z, solution.z)


def test_a_beam_without_an_end_is_given_up():
    """Fourth differences are no M-matrix, and single exchanges on 6000 rows would take hours."""
    band = tridiagonal(6000)
    problem = perp.LCP(band @ band, np.sin(2 * np.pi * np.arange(6000) / 500))
    solution = perp.solve(problem, "principal", throw=False, max_iterations=150)
    assert solution.status.name == "ITERATION_LIMIT"
    assert solution.iterations == 150
    assert step_limit(problem.M) <= 1100
