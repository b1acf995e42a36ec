"""Newton's method and central paths on convex islands: velocities of a relaxed problem are unique."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import perp
from perp.kernels.tree_newton import solve_trees
from perp.kernels.tree_workspace import tree_workspace
from perp.problems.sets import BOX, FREE
from tree_problems import packed, solved


def pile(seed: int, contacts: int, freedoms: int) -> perp.ContactProblem:
    """Relaxed contacts on fewer freedoms than rows, approaching at random."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((3 * contacts, freedoms))
    q = J @ rng.standard_normal(freedoms)
    return perp.ContactProblem.coulomb(J @ J.T, q, rng.uniform(0.1, 1.0, contacts)).as_relaxed()


@pytest.mark.parametrize("seed", range(6))
def test_velocities_are_those_of_an_interior_point_method(seed: int) -> None:
    problem = pile(seed, contacts=12, freedoms=9)
    ours = perp.solve(problem, "proximal-point", tol=1e-10)
    other = perp.solve(problem, "clarabel", tol=1e-9)
    assert np.abs(ours.w - other.w).max() <= 1e-6 * np.abs(problem.q).max()


def test_many_contacts_on_one_body_take_few_steps() -> None:
    """Newton steps cycle here; the central path leads to the answer."""
    counts = [perp.solve(pile(seed, 40, 6), "proximal-point", tol=1e-9).iterations for seed in range(10)]
    assert max(counts) <= 60


def test_bounds_alone_are_convex_too() -> None:
    rng = np.random.default_rng(5)
    J = rng.standard_normal((30, 8))
    problem = perp.BoxedLCP(J @ J.T, 5 * rng.standard_normal(30), -np.ones(30), np.ones(30))
    ours, exact = perp.solve(problem, "proximal-point", tol=1e-10), perp.solve(problem, tol=1e-10)
    assert np.allclose(ours.w, exact.w, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_dry_friction_in_closed_loops_of_a_tree(seed: int) -> None:
    """Many bounded rows on few freedoms: velocities are the minimum of a convex function, found by scipy."""
    rng = np.random.default_rng(seed)
    n, rows = 4, 14
    root = rng.normal(size=(n, n))
    mass, J = root @ root.T + 0.1 * np.eye(n), rng.normal(size=(rows, n)) * rng.choice([0.01, 1.0], (rows, 1))
    reach, free = rng.uniform(0.01, 0.3, rows), rng.normal(size=n)
    p = packed([mass], J, free, 0.0, [(BOX, 1, (-bound, bound)) for bound in reach], 0.0)
    info, worst = solved(p)
    assert info[1] == 0
    assert worst <= 1.0
    v = minimize(
        lambda x: 0.5 * (x[:n] - free) @ mass @ (x[:n] - free) + reach @ x[n:],
        np.concatenate([free, np.abs(J @ free)]),
        jac=lambda x: np.concatenate([mass @ (x[:n] - free), reach]),
        constraints=[
            {"type": "ineq", "fun": lambda x, s=s: x[n:] - s * J @ x[:n],
             "jac": lambda x, s=s: np.hstack([-s * J, np.eye(rows)])}
            for s in (1.0, -1.0)
        ],
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-15},
    ).x[:n]  # fmt: skip
    np.testing.assert_allclose(p.velocity, v, atol=1e-6)


def test_a_rest_that_will_do_follows_no_path() -> None:
    """A row that no motion satisfies: with a goal that its rest meets, the search ends with Newton's steps."""
    mass, J = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])
    sets = [(FREE, 1, ()), (FREE, 1, ())]
    steps = []
    for enough in (1.0, 1e3):
        p = packed([mass], J, np.array([1.0, 0.0]), np.array([0.0, 1e-10]), sets, 0.0)
        info, worst = np.zeros(4, np.int64), np.zeros(1)
        solve_trees(p.struct, tree_workspace(p), 100, (0.0, enough, np.inf, 0.0), info, worst)
        assert 1.0 < worst[0] <= 1e3
        steps.append(int(info[3]))
    assert steps[1] < steps[0]
