"""Newton's method with an exact line search on convex islands: velocities of a relaxed problem are unique."""

from __future__ import annotations

import numpy as np
import pytest

import perp


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
    """Plain Newton steps cycle here; with the line search every start leads to the answer."""
    counts = [perp.solve(pile(seed, 40, 6), "proximal-point", tol=1e-9).iterations for seed in range(10)]
    assert max(counts) <= 60


def test_bounds_alone_are_convex_too() -> None:
    rng = np.random.default_rng(5)
    J = rng.standard_normal((30, 8))
    problem = perp.BoxedLCP(J @ J.T, 5 * rng.standard_normal(30), -np.ones(30), np.ones(30))
    ours, exact = perp.solve(problem, "proximal-point", tol=1e-10), perp.solve(problem, tol=1e-10)
    assert np.allclose(ours.w, exact.w, atol=1e-7)
