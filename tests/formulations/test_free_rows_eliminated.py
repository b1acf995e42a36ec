"""Schur complements: mixed problems to problems without free rows, and chains of formulations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import perp
from perp.formulations import find_formulation
from perp.formulations.free_rows_eliminated import free_rows_eliminated, mixed_lcp_as_lcp

INF = np.inf


def mixed(rng: np.random.Generator, *, joints: int = 3, contacts: int = 4, rank: int = 9) -> perp.BoxedLCP:
    """Joints and unilateral rows over bodies with `rank` degrees of freedom."""
    n = joints + contacts
    J = rng.standard_normal((n, rank))
    order = rng.permutation(n)
    lo = np.where(order < joints, -INF, 0.0)
    return perp.BoxedLCP(J @ J.T, J @ rng.standard_normal(rank), lo, np.full(n, INF))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sparse", [False, True])
def test_mixed_lcp_as_lcp(seed: int, sparse: bool) -> None:
    problem = mixed(np.random.default_rng(seed))
    if sparse:
        problem = perp.BoxedLCP(sp.csr_array(problem.M), problem.q, problem.lo, problem.hi)
    solution = perp.solve(problem, "lemke", formulation="schur-lcp")
    assert solution.solved
    assert solution.w[np.isinf(problem.lo)] == pytest.approx(0, abs=1e-9)
    assert mixed_lcp_as_lcp(problem).problem.size == 4


@pytest.mark.parametrize("sparse", [False, True])
def test_redundant_joints_leave_by_the_pseudo_inverse(sparse: bool) -> None:
    # the same joint three times: its block is singular, the velocities are still determined
    rng = np.random.default_rng(5)
    J = rng.standard_normal((5, 8))
    J = J[[0, 0, 0, 1, 2, 3, 4]]
    M = J @ J.T
    q = J @ rng.standard_normal(8)
    lo = np.array([-INF, -INF, -INF, -INF, 0, 0, 0])
    problem = perp.BoxedLCP(sp.csr_array(M) if sparse else M, q, lo, INF)
    assert perp.solve(problem, "lemke", formulation="schur-lcp").solved
    assert perp.solve(problem, "lemke", formulation="shifted").solved


def test_joints_that_contradict_each_other_are_not_solved() -> None:
    M = np.ones((2, 2))
    problem = perp.BoxedLCP(M, [1.0, -1.0], -INF, INF)
    solution = perp.solve(problem, "lemke", formulation="shifted", throw=False)
    assert not solution.solved
    assert np.isfinite(solution.z).all()


def test_all_rows_free_is_a_linear_solve() -> None:
    rng = np.random.default_rng(6)
    A, q = rng.standard_normal((4, 4)), rng.standard_normal(4)
    solution = perp.solve(perp.BoxedLCP(A, q, -INF, INF), "lemke")
    assert solution.z == pytest.approx(np.linalg.solve(A, -q))


def test_friction_index_is_renumbered_and_its_normals_stay() -> None:
    problem = perp.BoxedLCP(
        np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1,
        [1.0, -2.0, -3.0, 1.0],
        [-INF, -INF, -0.5, -INF],
        [INF, INF, 0.5, INF],
        friction_index=[-1, -1, 1, -1],
    )
    turned = free_rows_eliminated(problem)
    assert turned.problem.size == 2
    assert turned.problem.friction_index.tolist() == [-1, 0]  # type: ignore[union-attr]
    direct = perp.solve(problem, "pgs", tol=1e-12)
    assert perp.solve(problem, "pgs", formulation="schur", tol=1e-12).z == pytest.approx(direct.z, abs=1e-9)


def test_chains_have_names_and_reasons() -> None:
    problem = perp.BoxedLCP(np.eye(2), [-1.0, -3.0], [-INF, -1.0], [INF, 1.0])
    solution = perp.solve(problem, "lemke", formulation="schur+split")
    assert solution.formulation == "schur+split"
    assert solution.z == pytest.approx([1.0, 1.0])
    assert solution.info["cases"][0].words == "slides at a bound"  # of the one row that was left
    with pytest.raises(perp.SolverMismatch, match="split cannot follow split"):
        perp.solve(problem, "lemke", formulation="split+split")
    with pytest.raises(perp.UnknownSolver, match="no formulation is called 'split:4'"):
        perp.solve(problem, "lemke", formulation="split:4")
    with pytest.raises(perp.SolverMismatch, match="no free rows"):
        perp.solve(perp.BoxedLCP([[1.0]], [1.0], 0.0, 1.0), "pgs", formulation="schur")
    assert find_formulation("nothing") is None
