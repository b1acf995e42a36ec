"""No pivoting solver reports what is not so, and all that solve agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perp
from perp.bench.sets import families

SOLVERS = ["direct", "lemke", "dantzig", "baraff", "principal"]
small = st.integers(-3, 3)


@st.composite
def integer_lcps(draw: st.DrawFn, symmetric: bool) -> perp.LCP:
    """Small whole numbers: ties, singular blocks and infeasible problems abound."""
    n = draw(st.integers(1, 5))
    entries = draw(st.lists(small, min_size=n * n, max_size=n * n))
    M = np.array(entries, dtype=float).reshape(n, n)
    if symmetric:
        M = M @ M.T
    q = np.array(draw(st.lists(small, min_size=n, max_size=n)), dtype=float)
    return perp.LCP(M, q)


def natural_map(problem: perp.LCP, z: np.ndarray) -> float:
    """A second implementation: the largest |min(z, w)|."""
    return float(np.abs(np.minimum(z, problem.M @ z + problem.q)).max(initial=0.0))


@given(integer_lcps(symmetric=True))
def test_semidefinite_is_solved_by_all_or_proved_infeasible(problem: perp.LCP) -> None:
    solutions = {name: perp.solve(problem, name, throw=False) for name in SOLVERS}
    solvable = solutions["direct"].solved
    for name, solution in solutions.items():
        assert solution.solved == solvable, f"{name}: {solution}"
        if solvable:
            assert natural_map(problem, solution.z) <= 1e-7
            assert perp.certify(problem, solution).proved
    if not solvable:
        assert perp.certify(problem, solutions["lemke"]).claim == "no solution"
        assert perp.certify(problem, solutions["lemke"]).proved


@given(integer_lcps(symmetric=False))
def test_any_matrix_is_never_falsely_solved(problem: perp.LCP) -> None:
    everything = perp.solve(problem, "direct", throw=False)
    for name in ("lemke", "principal"):
        solution = perp.solve(problem, name, throw=False, max_iterations=500)
        if solution.solved:
            assert natural_map(problem, solution.z) <= 1e-6
            assert everything.solved
        elif solution.status is perp.Status.INFEASIBLE:
            assert not everything.solved


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
@pytest.mark.parametrize("seed", range(4))
def test_answers_agree_with_exact_ones(solver: str, seed: int) -> None:
    problem = families.spd(24, seed)
    solution = perp.solve(problem, solver)
    certificate = perp.certify(problem, solution)
    assert certificate.status == "proved"
    assert certificate.z is not None
    np.testing.assert_allclose(solution.z, [float(x) for x in certificate.z], atol=1e-11)


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
@pytest.mark.parametrize("seed", range(3))
def test_warm_starts_agree_with_cold_ones(solver: str, seed: int) -> None:
    """Along a moving right-hand side; the solution is unique."""
    problem = families.spd(30, seed)
    step = np.random.default_rng(seed).standard_normal(30)
    last = perp.solve(problem, solver)
    for k in range(1, 6):
        moved = perp.LCP(problem.M, problem.q + 0.05 * k * step)
        warm, cold = perp.solve(moved, solver, start=last), perp.solve(moved, solver)
        np.testing.assert_allclose(warm.z, cold.z, atol=1e-10)
        last = warm


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_warm_start_saves_pivots(solver: str) -> None:
    problem = families.spd(60)
    cold = perp.solve(problem, solver)
    near = perp.LCP(problem.M, problem.q * (1 + 1e-6))
    assert perp.solve(near, solver, start=cold).iterations < cold.iterations


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_pivot_limit_is_kept(solver: str) -> None:
    solution = perp.solve(families.spd(40), solver, max_iterations=2, throw=False)
    assert solution.iterations <= 2
    assert solution.status is perp.Status.ITERATION_LIMIT


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_looking_on_changes_nothing(solver: str) -> None:
    problem = families.spd(40)
    alone = perp.solve(problem, solver)
    watched = perp.solve(problem, solver, history=True, options={"check_every": 1})
    np.testing.assert_allclose(watched.z, alone.z, atol=1e-12)
    assert watched.history is not None


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_early_termination_stops_at_the_residual(solver: str) -> None:
    problem = families.spd(60)
    full = perp.solve(problem, solver)
    early = perp.solve(problem, solver, tol=0.9, options={"check_every": 1})
    assert early.residual <= 0.9
    assert early.iterations < full.iterations


@pytest.mark.parametrize("solver", ["lemke", "dantzig", "baraff", "principal"])
def test_equal_input_gives_equal_bits(solver: str) -> None:
    problem = families.redundant(32)
    first, second = perp.solve(problem, solver), perp.solve(problem, solver)
    assert first.z.tobytes() == second.z.tobytes()
