"""Whatever numbers come in, what goes out is an answer with a status or an exception of perp."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import generators
import perp
from perp.problems.sets import FREE
from perp.solvers.linear import diagonal_scale


def test_a_singular_sparse_matrix_is_no_exception_of_admm():
    """Column scale 1 and penalty 0.1 make the first row of M + ρ D vanish."""
    M = np.array([[-0.1, 0.0], [1.0, 1.0]])
    for matrix in (csr_array(M), M):
        solution = perp.solve(perp.LCP(matrix, [1.0, 1.0]), "admm", throw=False, max_iterations=50)
        assert solution.solved == (perp.residual(solution.problem, solution.z) <= 1e-8)


@pytest.mark.parametrize("formulation", ["schur", "schur-lcp", "shifted"])
@pytest.mark.parametrize("solver", ["boxed-interior-point", "fischer-burmeister", "principal"])
def test_nothing_is_left_when_redundant_free_rows_are_eliminated(solver, formulation):
    """LAPACK's own exception came of a matrix without rows (found by the search, infeasible 5000053)."""
    problem = perp.BoxedLCP([[0.0]], [-2.0], -np.inf, np.inf)
    solution = perp.solve(problem, solver, formulation=formulation, throw=False)
    assert not solution.solved


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


def hand(side: str, y: float) -> str:
    """An arm with five fingers of three hinges each."""
    fingers = ""
    for i in range(5):
        inner = ""
        for k in (2, 1, 0):
            inner = (
                f'<body pos="{0.02 if k else 0.04} 0 {0 if k else 0.02 * (i - 2)}"><joint name="{side}{i}{k}" axis="0 1 0" '
                f'range="-1.5 1.5"/><geom type="capsule" fromto="0 0 0 0.02 0 0" size="0.006" mass="0.01"/>{inner}</body>'
            )
        fingers += inner
    return (
        f'<body pos="0 {y} 0.2"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>'
        f'<body pos="0.34 0 0"><joint axis="0 0 1"/><geom type="box" size="0.04 0.01 0.05" mass="0.3"/>{fingers}</body></body>'
    )


def humanoid_with_hands() -> str:
    """Thirty finger joints; each finger's joints are coupled, one of them twice: its rows are dependent."""
    torso = f'<body pos="0 0 0.24"><freejoint/><geom type="box" size="0.1 0.15 0.2" mass="20"/>{hand("l", 0.25)}{hand("r", -0.25)}</body>'
    couple = "".join(
        f'<joint joint1="{side}{i}{k}" joint2="{side}{i}{k - 1}"/>'
        for side in "lr"
        for i in range(5)
        for k in (1, 2, 2)
    )
    bodies = '<geom type="plane" size="5 5 1"/>' + torso
    return f"<mujoco><worldbody>{bodies}</worldbody><equality>{couple}</equality></mujoco>"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_humanoid_with_hands_raises_nothing_of_others() -> None:
    """SuperLU's "Factor is exactly singular" came through: fingers that equalities couple twice."""
    sim = perp.Simulation(humanoid_with_hands(), step=0.005)
    assert len(sim.state.qvel) == 6 + 2 * (2 + 15)
    for _ in range(40):
        assert np.isfinite(sim.step().energy)
    problem = sim.contact_problem()
    assert problem.size > 50
    solved = 0
    for info in perp.solvers(problem):
        if info.available and info.family != "external":
            answer = perp.solve(problem, info.name, throw=False, max_iterations=20)
            assert answer.solved == (answer.residual <= 1e-8)
            solved += answer.solved
    assert solved >= 2
    joints = problem.sets.kind[problem.sets.kind == FREE].size
    W = csr_array(problem.W)
    for size in (joints, 30):
        block = W[:size, :size]
        answer = perp.solve(perp.LCP(block, problem.q[:size]), throw=False, time_limit=5.0)
        assert answer.solved == (answer.residual <= 1e-8)
