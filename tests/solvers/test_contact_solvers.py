"""Every contact solver on every problem that it claims to solve, with the shared residual as the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import generators
import perp


def stack(count: int, *, relaxed: bool = False, dimension: int = 3) -> perp.ContactProblem:
    """Point masses on top of each other with friction; the lowest one on the ground."""
    rows = dimension * count
    J = np.zeros((rows, dimension * count))
    for c in range(count):
        for k in range(dimension):
            J[dimension * c + k, dimension * c + k] = 1.0
            if c:
                J[dimension * c + k, dimension * (c - 1) + k] = -1.0
    v = np.tile([-0.1, 0.3, 0.05][:dimension], count) * np.linspace(1.0, 1.5, count).repeat(dimension)
    return perp.ContactProblem.coulomb(J @ J.T, J @ v, 0.4, dimension=dimension, relaxed=relaxed)


def mixed(*, relaxed: bool = False) -> perp.ContactProblem:
    rng = np.random.default_rng(1)
    sets = perp.Sets(
        [perp.Free(), perp.Nonnegative(), perp.Box(-0.1, 0.2), perp.Coulomb(0.5), perp.Elliptic(0.3, 0.7),
         perp.Rolling(0.5, 0.1), perp.Coulomb(0.2, dimension=2)]
    )  # fmt: skip
    J = rng.normal(size=(sets.rows, 30))
    return perp.ContactProblem(J @ J.T, J @ rng.normal(size=30), sets, relaxed=relaxed)


PROBLEMS = {
    "stack": stack(4),
    "planar stack": stack(5, dimension=2),
    "relaxed stack": stack(4, relaxed=True),
    "mixed": mixed(),
    "relaxed mixed": mixed(relaxed=True),
    "nothing": perp.ContactProblem.coulomb(np.zeros((0, 0)), np.zeros(0), np.zeros(0)),
    "no approach": perp.ContactProblem.coulomb(np.eye(6), [1.0, 0.5, 0.0, 2.0, 0.0, 0.3], 0.5),
}
CASES = [
    ("block-gauss-seidel", None),
    ("block-gauss-seidel", {"relaxation": 0.8}),
    ("block-gauss-seidel", {"anderson": 5}),
    ("newton", None),
    ("proximal-point", None),
    ("admm", None),
    ("apgd", None),
    ("apgd", {"steps": "barzilai-borwein"}),
    ("auto", None),
]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("solver", "options"), CASES, ids=str)
def test_solver_reaches_the_tolerance(solver, options, name):
    problem = PROBLEMS[name]
    if solver == "apgd" and name in ("stack", "planar stack", "mixed", "no approach"):
        with pytest.raises(perp.SolverMismatch, match="as_relaxed"):
            perp.solve(problem, solver)
        return
    assert perp.solve(problem, solver, options=options).residual <= 1e-8


def test_exact_solvers_agree_where_the_answer_is_unique():
    answers = [perp.solve(PROBLEMS["stack"], name, tol=1e-11).z for name, _ in CASES[:6:2]]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], atol=1e-8)


@pytest.mark.parametrize("solver", ["admm", "apgd"])
def test_lcp_and_boxed_lcp_by_projection_solvers(solver):
    M = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert perp.solve(perp.LCP(M, np.array([-5.0, -6.0])), solver).z == pytest.approx(
        [4 / 3, 7 / 3], abs=1e-6
    )
    boxed = perp.BoxedLCP(M, np.array([-5.0, -6.0]), np.zeros(2), np.array([1.0, np.inf]))
    assert perp.solve(boxed, solver).z == pytest.approx([1.0, 2.5], abs=1e-6)


def test_friction_index_is_refused_by_projection_solvers():
    boxed = perp.BoxedLCP(
        np.eye(2),
        np.array([-1.0, 0.5]),
        np.array([0.0, -0.5]),
        np.array([np.inf, 0.5]),
        friction_index=np.array([-1, 0]),
    )
    with pytest.raises(perp.SolverMismatch, match="follow another row"):
        perp.solve(boxed, "admm")


def test_bad_options_name_what_is_wrong():
    with pytest.raises(perp.PerpError, match="relaxation"):
        perp.solve(PROBLEMS["stack"], "block-gauss-seidel", options={"relaxation": 2.5})


@pytest.mark.parametrize("seed", [18, 58, 105, 118, 185])
def test_admm_does_not_cycle_where_an_undamped_shift_does(seed):
    problem = generators.contact(3 + seed % 12, seed)
    solution = perp.solve(problem, "admm")
    assert solution.residual <= 1e-8
    assert solution.iterations < 1000
