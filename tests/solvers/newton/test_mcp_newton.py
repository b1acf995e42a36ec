"""The semismooth Newton method for MCPs on problems of the literature, and its path search on its own."""

from __future__ import annotations

import time

import numpy as np
import pytest

import perp
from perp.solvers.newton.path_search import path_search


def nonlinear(f, lo, hi, start) -> perp.MCP:
    """An MCP whose Jacobian is taken by central differences in complex arithmetic."""

    def jacobian(z: np.ndarray) -> np.ndarray:
        step = 1e-20
        columns = [np.imag(f(z + 1j * step * unit)) / step for unit in np.eye(z.size)]
        return np.array(columns).T

    return perp.MCP(lambda z: np.real(f(z.astype(complex))), lo, hi, jacobian, start=start)


def kojima_shindo(z: np.ndarray) -> np.ndarray:
    a, b, c, d = z
    return np.array(
        [
            3 * a**2 + 2 * a * b + 2 * b**2 + c + 3 * d - 6,
            2 * a**2 + a + b**2 + 10 * c + 2 * d - 2,
            3 * a**2 + a * b + 2 * b**2 + 2 * c + 9 * d - 9,
            a**2 + 3 * b**2 + 2 * c + 3 * d - 3,
        ]
    )


@pytest.mark.parametrize(
    "start", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0], [100, 100, 100, 100], [1, 0, 0.5, 0.5]]
)
def test_Kojima_Shindo_1986_has_a_degenerate_and_a_regular_solution(start) -> None:
    problem = nonlinear(kojima_shindo, np.zeros(4), np.full(4, np.inf), np.array(start, dtype=float))
    z = perp.solve(problem, "mcp-newton", tol=1e-8).z
    regular, degenerate = np.array([1.0, 0, 3, 0]), np.array([np.sqrt(6) / 2, 0, 0, 0.5])
    assert min(np.abs(z - regular).max(), np.abs(z - degenerate).max()) < 1e-3


def test_Josephy_1979() -> None:
    def f(z):
        a, b, c, d = z
        return np.array(
            [
                3 * a**2 + 2 * a * b + 2 * b**2 + c + 3 * d - 6,
                2 * a**2 + a + b**2 + 3 * c + 2 * d - 2,
                3 * a**2 + a * b + 2 * b**2 + 2 * c + 3 * d - 1,
                a**2 + 3 * b**2 + 2 * c + 3 * d - 3,
            ]
        )

    problem = nonlinear(f, np.zeros(4), np.full(4, np.inf), np.ones(4))
    assert perp.solve(problem, "mcp-newton").z == pytest.approx([np.sqrt(6) / 2, 0, 0, 0.5], abs=1e-5)


def test_Billups_1995_where_merit_functions_have_a_false_minimum() -> None:
    def f(z):
        return (z - 1) ** 2 - 1.01

    problem = nonlinear(f, np.zeros(1), np.full(1, np.inf), np.zeros(1))
    solution = perp.solve(problem, "mcp-newton", throw=False)
    # from 0 descent leads to z = 1, where f has no zero: a failure must be called one
    assert solution.solved == (abs(solution.z[0] - (1 + np.sqrt(1.01))) < 1e-6)
    away = nonlinear(f, np.zeros(1), np.full(1, np.inf), np.full(1, 1.5))
    assert perp.solve(away, "mcp-newton").z == pytest.approx([1 + np.sqrt(1.01)])


def test_bounds_on_both_sides_are_met_from_either() -> None:
    problem = nonlinear(
        lambda z: z**3 + np.array([-8.0, 8.0, 0.125]), np.full(3, -1.0), np.full(3, 1.0), np.zeros(3)
    )
    assert perp.solve(problem, "mcp-newton").z == pytest.approx([1.0, -1.0, -0.5])


def test_a_system_of_equations_is_an_mcp_without_bounds() -> None:
    problem = nonlinear(
        lambda z: np.array([z[0] ** 2 + z[1] ** 2 - 2, z[0] - z[1]]), np.full(2, -np.inf), np.full(2, np.inf),
        np.array([2.0, 0.5]),
    )  # fmt: skip
    assert perp.solve(problem, "mcp-newton").z == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("seed", range(20))
def test_random_affine_mcps_with_singular_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 15
    factor = rng.normal(size=(n, n - 5))
    M = factor @ factor.T
    lo = np.where(rng.random(n) < 0.5, 0.0, -np.inf)
    hi = np.where(rng.random(n) < 0.3, 1.0, np.inf)
    z = np.clip(rng.normal(size=n), lo, hi)
    w = np.where(z == lo, rng.random(n), np.where(z == hi, -rng.random(n), 0.0))
    problem = perp.MCP.affine(M, w - M @ z, lo, hi)
    assert perp.solve(problem, "mcp-newton", tol=1e-9).solved


def test_the_path_search_alone_solves_a_murty_problem() -> None:
    n = 8
    M = np.tril(np.full((n, n), 2.0), -1) + np.eye(n)
    problem = perp.MCP.affine(M, -np.ones(n), np.zeros(n), np.full(n, np.inf))
    z = np.ones(n)
    for _ in range(3):
        found = path_search(problem, z, M, np.full(n, 2.0), lambda: False)
        if found is None:
            break
        z = found
    assert z == pytest.approx(np.eye(n)[0], abs=1e-6)


def test_it_is_deterministic_and_honest_about_a_problem_without_solution() -> None:
    problem = perp.MCP.affine([[0.0]], [-1.0], [0.0], [np.inf])
    first = perp.solve(problem, "mcp-newton", throw=False)
    assert not first.solved
    again = perp.solve(problem, "mcp-newton", throw=False)
    assert first.z.tobytes() == again.z.tobytes()


def test_the_default_solver_takes_a_nonlinear_mcp() -> None:
    problem = nonlinear(kojima_shindo, np.zeros(4), np.full(4, np.inf), np.zeros(4))
    assert perp.solve(problem).solver == "mcp-newton"
    assert perp.solve(perp.MCP.affine([[2.0]], [-1.0], [0.0], [np.inf])).formulation == "affine"


def test_an_infinite_jacobian_at_the_first_point_is_a_status_and_no_error():
    # f = √z − 1 has an infinite slope at its first point 0, and its solution at 1
    def slope(z):
        with np.errstate(divide="ignore"):
            return np.array([[0.5 / np.sqrt(max(z[0], 0.0)) if z[0] > 0 else np.inf]])

    problem = perp.MCP(lambda z: np.sqrt(np.maximum(z, 0.0)) - 1.0, [0.0], [np.inf], slope)
    solution = perp.solve(problem, throw=False)
    assert np.isfinite(solution.z).all()
    assert solution.solved == (perp.residual(problem, solution.z) <= 1e-8)
    stuck = perp.MCP(lambda z: z - 1.0, [0.0], [np.inf], lambda z: np.array([[np.inf]]))
    answer = perp.solve(stuck, throw=False)  # steps of the natural map need no slope
    assert answer.solved == (perp.residual(stuck, answer.z) <= 1e-8)
    assert not answer.solved or answer.z == pytest.approx([1.0])


def obstacle(m: int) -> perp.MCP:
    """A nonlinear obstacle problem with m² unknowns: −Δz + 10 e^z = 20 over a wavy obstacle."""
    from scipy.sparse import csr_array, diags_array, eye_array, kron

    h = 1 / (m + 1)
    T = diags_array([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    A = csr_array(kron(T, eye_array(m)) + kron(eye_array(m), T)) / h**2
    x = np.linspace(h, 1 - h, m)
    lower = 0.1 * np.outer(np.sin(9 * x), np.sin(9 * x)).ravel() - 0.02
    return perp.MCP(
        lambda z: A @ z + 10 * np.exp(z) - 20,
        lower,
        np.inf,
        lambda z: (A + diags_array(10 * np.exp(z))).tocsr(),
    )


def test_a_sparse_problem_stays_sparse() -> None:
    problem = obstacle(40)
    solution = perp.solve(problem, "mcp-newton", options={"restarts": False})
    assert solution.iterations < 60
    active = solution.z == problem.lo
    assert 0 < active.sum() < problem.size
    assert (solution.w[active] >= 0).all()
    assert np.abs(solution.w[~active]).max() < 1e-6


def test_a_time_limit_is_looked_at_before_every_factorisation(monkeypatch) -> None:
    """The clock runs a second a look: a limit of five seconds ends after a handful of looks."""
    from importlib import import_module

    attempt, mcp_newton = (import_module(f"perp.solvers.{name}") for name in ("attempt", "newton.mcp_newton"))
    clock = iter(range(10**6))
    monkeypatch.setattr(attempt, "working_time", lambda: float(next(clock)))
    monkeypatch.setattr(mcp_newton, "working_time", lambda: float(next(clock)))
    factorised = []
    original = mcp_newton.Equations.direction
    monkeypatch.setattr(
        mcp_newton.Equations, "direction", lambda *args: factorised.append(1) or original(*args)
    )
    solution = perp.solve(obstacle(20), "mcp-newton", time_limit=15.0, throw=False)
    assert solution.status is perp.Status.TIME_LIMIT
    assert len(factorised) < 8


def test_the_log_names_the_row_farthest_off(capsys) -> None:
    problem = perp.MCP(
        lambda z: np.array([z[0] ** 2 - 2, z[1] - z[0]]), 0, np.inf, start=[1.0, 0.0], names=["root", "copy"]
    )
    perp.solve(problem, options={"verbose": True}, solver="mcp-newton")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 row/cols")
    assert "residual" in lines[1]
    assert any("(root)" in line for line in lines[2:])


@pytest.mark.parametrize("option", ["crash", "path_search", "restarts"])
def test_every_option_can_be_switched_off(option: str) -> None:
    problem = nonlinear(kojima_shindo, np.zeros(4), np.full(4, np.inf), np.ones(4))
    assert perp.solve(problem, "mcp-newton", options={option: False}).solved


def test_sets_of_the_literature_are_solved_from_every_start() -> None:
    """A slice: one start of every tenth problem; benchmarks/mcp_literature.py has them all."""
    from perp.bench.sets.mcp.literature import models

    everything = models()
    assert len(everything) >= 60
    assert len({model.name for model in everything}) == len(everything)
    for model in everything[::10]:
        problem = model.mcp()
        problem.check_jacobian(np.clip(np.array(model.starts[0]) + 0.1, problem.lo, problem.hi))
        solution = perp.solve(problem, throw=False)
        assert solution.solved == model.solvable, model.name


def test_a_dense_factorisation_ends_with_the_time_limit(monkeypatch) -> None:
    """`time_limit=5` of 10⁴ unknowns with a dense Jacobian returned after 38 s: one LU was not interrupted."""
    from perp.compilation.stopwatch import STOPWATCH
    from perp.solvers import large_dense

    monkeypatch.setattr(large_dense, "LARGE", 40)
    monkeypatch.setattr(large_dense, "BLOCK", 8)
    looks, original = [], large_dense.check_time

    def slow(what: str) -> None:
        """Every piece takes a hundred seconds, on a machine however busy."""
        looks.append(what)
        monkeypatch.setattr(STOPWATCH, "seconds", STOPWATCH.seconds - 100.0)
        original(what)

    monkeypatch.setattr(large_dense, "check_time", slow)
    n = 80
    J = np.eye(n) + 1.0 / n
    problem = perp.MCP(lambda z: J @ z - 1.0, np.zeros(n), np.full(n, np.inf), lambda _: J, start=np.ones(n))
    solution = perp.solve(problem, "mcp-newton", time_limit=1050.0, throw=False)
    assert solution.status is perp.Status.TIME_LIMIT
    assert len(looks) == 11
    assert "% done" in solution.message
    assert np.isfinite(solution.residual)
    looks.clear()
    assert perp.solve(problem, "mcp-newton").solved
    assert len(looks) > 11


def test_a_dense_problem_without_jacobian_is_built_and_seen_as_dense_at_once() -> None:
    """To find out that 10⁴ columns are dense took 200 s, before any time limit began."""
    n, calls = 1000, []
    J = np.random.default_rng(0).random((n, n)) / n + np.eye(n)

    def f(z: np.ndarray) -> np.ndarray:
        calls.append(1)
        return J @ z - 1.0

    problem = perp.MCP(f, np.zeros(n), np.full(n, np.inf))
    assert len(calls) <= 2
    assert isinstance(problem.derivative(problem.first_point), np.ndarray)
    assert len(calls) < n + 200


def test_a_jacobian_by_differences_ends_with_the_time_limit() -> None:
    """`time_limit=5` of 10⁴ unknowns returned after 27 s: the Jacobian was taken to its end first."""
    calls = 0

    def slow(z: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        time.sleep(0.005)
        return z**3 + np.roll(z, 1) - 1.0

    problem = perp.MCP(slow, np.zeros(200), np.full(200, np.inf))
    solution = perp.solve(problem, time_limit=0.1, throw=False)
    assert solution.status is perp.Status.TIME_LIMIT
    assert solution.residual == np.inf  # nothing was measured
    assert calls < 100
