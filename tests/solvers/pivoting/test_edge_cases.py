"""Every edge case of pivoting, over every pivoting solver that takes the problem as it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from perp.bench.sets import families

INF = np.inf
RNG = np.random.default_rng(7)


def conditioned(n: int, condition: float) -> np.ndarray:
    """Symmetric with eigenvalues from 1 / condition to 1."""
    basis, _ = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))
    return (basis * np.geomspace(1 / condition, 1.0, n)) @ basis.T


def with_answer(M: np.ndarray, seed: int = 0) -> perp.LCP:
    """An LCP with this matrix that has a moderate solution, whatever its condition."""
    rng = np.random.default_rng(seed)
    n = M.shape[0]
    active = rng.random(n) < 0.5
    z, w = np.where(active, rng.uniform(1, 2, n), 0.0), np.where(active, 0.0, rng.uniform(1, 2, n))
    return perp.LCP(M, w - M @ z)


def chain(count: int, ratio: float) -> perp.LCP:
    """Bodies in a row pressed together, every other one `ratio` times heavier."""
    mass = np.where(np.arange(count) % 2, ratio, 1.0)
    J = np.eye(count) - np.eye(count, k=-1)
    return perp.LCP((J / mass) @ J.T, J @ np.linspace(-1, -0.5, count))


STANDARD = families.spd(12)
SOLVABLE: dict[str, perp.LCP | perp.BoxedLCP] = {
    "n = 0": perp.LCP(np.zeros((0, 0)), []),
    "n = 1, active": perp.LCP([[4.0]], [-2.0]),
    "n = 1, inactive": perp.LCP([[4.0]], [2.0]),
    "n = 1, degenerate": perp.LCP([[4.0]], [0.0]),
    "q >= 0": perp.LCP(families.spd(6).M, np.arange(6.0)),
    "q = 0": perp.LCP(families.spd(6).M, np.zeros(6)),
    "zero matrix, q >= 0": perp.LCP(np.zeros((3, 3)), [0.0, 1.0, 2.0]),
    "zero diagonal, skew": perp.LCP([[0.0, 1.0], [-1.0, 0.0]], [-1.0, 1.0]),
    "singular": perp.LCP([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0]),
    "rank-deficient n = 16": families.redundant(16),
    "rank-deficient n = 64": families.redundant(64),
    "contact normals": families.normals(families.contacts(24, diagonal=0.0)),
    "contact normals, diagonal 1e-9": families.normals(families.contacts(24)),
    "condition 1e6": with_answer(conditioned(20, 1e6)),
    "condition 1e12": with_answer(conditioned(20, 1e12)),
    "mass ratio 1e6": chain(8, 1e6),
    "nonsymmetric positive definite": families.p_matrix(16)[0],
    "P-matrix, not positive definite": perp.LCP([[1.0, -4.0], [0.0, 1.0]], [-1.0, -1.0]),
    "copositive": perp.LCP([[1.0, 3.0], [3.0, 1.0]], [-1.0, -1.0]),
    "scaled by 1e-8": perp.LCP(1e-8 * STANDARD.M, 1e-8 * STANDARD.q),
    "scaled by 1e8": perp.LCP(1e8 * STANDARD.M, 1e8 * STANDARD.q),
    "q scaled by 1e-8": perp.LCP(STANDARD.M, 1e-8 * STANDARD.q),
    "M scaled by 1e8": perp.LCP(1e8 * STANDARD.M, STANDARD.q),
    "all rows tie": perp.LCP(np.eye(6) + 1, -np.ones(6)),
    "all rows tie, singular": perp.LCP(np.ones((6, 6)), -np.ones(6)),
    "sparse": perp.LCP(sp.csr_array(STANDARD.M), STANDARD.q),
    "fixed, not at zero": perp.BoxedLCP(np.eye(2) + 0.5, [1.0, 1.0], [0.5, -INF], [0.5, INF]),
    "all fixed": perp.BoxedLCP(np.eye(3), [1.0, -1.0, 0.0], [2.0, -3.0, 0.0], [2.0, -3.0, 0.0]),
    "lo > 0": perp.BoxedLCP(STANDARD.M, STANDARD.q, 0.5, 3.0),
    "hi < 0": perp.BoxedLCP(STANDARD.M, STANDARD.q, -3.0, -0.5),
    "no lower bounds": perp.BoxedLCP(STANDARD.M, STANDARD.q, -INF, 0.25),
    "all rows free": perp.BoxedLCP(STANDARD.M, STANDARD.q, -INF, INF),
    "dependent free rows": perp.BoxedLCP(np.ones((3, 3)), [-1.0, -1.0, -1.0], -INF, INF),
    "boxed, rank-deficient": perp.BoxedLCP(families.redundant(24).M, families.redundant(24).q, -0.1, 0.1),
    "motors": families.motors(32),
    "friction": families.contacts(8),
    "friction, no diagonal": families.contacts(8, diagonal=0.0),
    "friction, mu = 0": families.contacts(8, mu=0.0),
    "friction, inactive normals": perp.BoxedLCP(
        np.eye(6), [1.0, 5, 5, -1.0, 5, -5], [0, -1, -1, 0, -1, -1], [INF, 1, 1, INF, 1, 1],
        friction_index=[-1, 0, 0, -1, 3, 3],
    ),
}  # fmt: skip
# A problem that a solver takes but may not solve: its class is not the one the solver is made for.
OUT_OF_CLASS = {
    ("dantzig", "copositive"), ("baraff", "copositive"), ("principal", "copositive"),
}  # fmt: skip


def pivoting(problem: perp.problems.Problem) -> list[str]:
    return [s.name for s in perp.solvers(problem) if s.family == "pivoting" and s.objection(problem) is None]


def reachable(problem: perp.LCP | perp.BoxedLCP, z: np.ndarray) -> float:
    """1e-10, or what a residual loses by evaluating w of a large z in doubles."""
    size = np.abs(problem.M) @ np.abs(z)
    return max(1e-10, 1e-15 * float(np.linalg.norm(size)) / max(float(np.linalg.norm(problem.q)), 1e-300))


CASES = [
    pytest.param(solver, name, id=f"{solver}: {name}")
    for name, problem in SOLVABLE.items()
    for solver in pivoting(problem)
    if (solver, name) not in OUT_OF_CLASS
]


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_edge_case_is_solved(solver: str, name: str) -> None:
    problem = SOLVABLE[name]
    solution = perp.solve(problem, solver)
    assert solution.residual <= reachable(problem, solution.z)
    assert solution.info["pivots"] == solution.iterations
    # rows of the active set have w = 0; all others rest at a bound
    scale = np.abs(problem.q).max(initial=1e-300)
    assert np.abs(solution.w[solution.info["active_set"]]).max(initial=0.0) <= 1e-9 * scale


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_start_at_the_solution_and_elsewhere(solver: str, name: str) -> None:
    problem = SOLVABLE[name]
    cold = perp.solve(problem, solver)
    warm = perp.solve(problem, solver, start=cold)
    assert warm.residual <= reachable(problem, warm.z)
    assert warm.iterations <= max(cold.iterations, 2)
    far = perp.solve(problem, solver, start=np.ones(problem.size))
    assert far.residual <= 1e-8


@pytest.mark.parametrize("solver", ["direct", "lemke", "dantzig", "baraff", "principal"])
@pytest.mark.parametrize(
    "problem",
    [
        perp.LCP([[0.0]], [-1.0]),
        perp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]),
        perp.LCP(np.zeros((3, 3)), [1.0, -1.0, 1.0]),
        perp.LCP(np.diag([1.0, 1.0, 0.0]), [-1.0, 1.0, -2.0]),
    ],
    ids=["zero, n = 1", "semidefinite", "zero matrix", "zero row"],
)
def test_infeasible_is_never_solved_and_proved_with_a_certificate(solver: str, problem: perp.LCP) -> None:
    solution = perp.solve(problem, solver, throw=False)
    assert not solution.solved
    if solver == "direct":
        assert solution.status is perp.Status.INFEASIBLE
        assert "cones" in solution.message
        return
    assert solution.status is perp.Status.INFEASIBLE
    certificate = perp.certify(problem, solution)
    assert certificate.status == "proved"
    assert certificate.claim == "no solution"


@pytest.mark.parametrize("solver", ["direct", "lemke", "dantzig", "baraff", "principal"])
@pytest.mark.parametrize("start", [[np.nan, 0.0], [1.0], [np.inf, 0.0]], ids=["nan", "size", "inf"])
def test_bad_start_is_named(solver: str, start: list[float]) -> None:
    with pytest.raises(perp.ProblemError, match="start"):
        perp.solve(perp.LCP(np.eye(2), [-1.0, -1.0]), solver, start=start)


def test_friction_chain_is_rejected() -> None:
    with pytest.raises(perp.ProblemError, match="itself limited"):
        perp.BoxedLCP(np.eye(3), np.ones(3), -1, 1, friction_index=[-1, 0, 1])


def test_nonsymmetric_matrix_is_refused_by_name() -> None:
    with pytest.raises(perp.SolverMismatch, match="not symmetric"):
        perp.solve(families.p_matrix(4)[0], "baraff")
