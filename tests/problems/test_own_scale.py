"""Rows in units of their own: the residual sees what one scale for coupled rows hides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from second_opinion import law_violation

import perp

A = np.array([[2.0, -1.0], [-1.0, 2.0]])


def forms(M: np.ndarray, q: np.ndarray, root: np.ndarray) -> list[perp.problems.Problem]:
    """One LCP in every type and form; M = root rootᵀ."""
    sets = [perp.Nonnegative()] * q.size
    return [
        perp.LCP(M, q),
        perp.LCP(csr_array(M), q),
        perp.BoxedLCP(M, q, 0.0, np.inf),
        perp.ContactProblem(M, q, sets),
        perp.ContactProblem(csr_array(M), q, sets),
        perp.ContactProblem.from_dynamics(np.eye(q.size), root, np.zeros(q.size), q, sets),
    ]


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e-9, 1e-3, 1.0, 1e9])
def test_a_row_in_a_small_unit_is_not_hidden(unit):
    D = np.diag([unit, 1.0])
    for problem in forms(D @ A @ D, -D @ np.ones(2), D @ np.linalg.cholesky(A)):
        # row 0 lacks all of its impulse: w₀ = −3/2 of its own q, and all of its terms, which count ten times
        wrong = 1.5 if unit >= 1.0 else 0.1
        assert perp.residual(problem, [0.0, 0.5]) == pytest.approx(wrong, rel=1e-2)
        assert law_violation(problem, [0.0, 0.5]) == pytest.approx(wrong, rel=1e-2)
        assert perp.residual(problem, [1.0 / unit, 1.0]) < 1e-15
        # in its own unit an impulse that is off by 1e-3 misses w by 2e-3 of terms that are 4
        off = perp.residual(problem, [1.001 / unit, 1.0])
        assert 4e-5 < off < 2.1e-3


@pytest.mark.parametrize("solver", ["auto", "principal", "dantzig", "pgs", "newton", "mprgp"])
def test_solvers_reach_rows_in_small_units(solver):
    D = np.diag([1e-9, 1.0])
    for problem in forms(D @ A @ D, -D @ np.ones(2), D @ np.linalg.cholesky(A)):
        assert np.allclose(perp.solve(problem, solver).z, [1e9, 1.0], rtol=1e-6)


def test_an_island_joined_by_next_to_nothing_is_not_hidden():
    for weak in (1e-300, 1e-30, 1e-12):
        lcp = perp.LCP([[1.0, weak], [weak, 1.0]], [1e10, -1.0])
        assert perp.residual(lcp, [0.0, 0.0]) == pytest.approx(0.1)
        assert perp.residual(lcp, [0.0, 1.0]) == 0.0
    pushed = perp.LCP([[1.0, 1e-30], [1e-30, 1.0]], [-1e16, -1.0])
    assert perp.residual(pushed, [1e16, 0.0]) == pytest.approx(0.1)
    assert perp.residual(pushed, [1e16, 1.0]) < 1e-12


def test_terms_that_cancel_excuse_nothing():
    # z of 1e12 along a null vector: the terms are 1e12, and what is at work stays 1
    lcp = perp.LCP(np.ones((2, 2)), [-1.0, -1.0])
    assert perp.residual(lcp, [1e12, -1e12 + 1.0]) > 0.9
    boxed = perp.BoxedLCP(np.ones((2, 2)), [-1.0, -1.0], -np.inf, np.inf)
    assert perp.residual(boxed, [1e12, -1e12 + 1.5]) == pytest.approx(0.5)


def test_round_off_of_neighbours_is_no_load():
    # a joint's row without load, as masses and Jacobians leave it
    noise = 3e-17
    W = np.array([[1.0, noise], [noise, 1.0]])
    problem = perp.ContactProblem(W, [-1.0, noise], [perp.Nonnegative(), perp.Free()])
    assert perp.residual(problem, [1.0, 0.0]) < 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_the_residual_keeps_its_value_in_any_unit(seed):
    rng = np.random.default_rng(seed)
    n = 5
    F = rng.normal(size=(n, n + 1))
    # every row has data of the size of the largest: then no row is bounded by the units of others
    M, q, z = F @ F.T, rng.choice([-1.0, 1.0], n), np.abs(rng.normal(size=n)) * (rng.random(n) < 0.5)
    D = 2.0 ** rng.integers(-40, 1, n)
    D[0] = 1.0
    here = perp.residual(perp.LCP(M, q), z)
    there = perp.residual(perp.LCP(D[:, None] * M * D, D * q), z / D)
    # s is V = 1 in equal units, in others |q| ≤ s ≤ ten times its terms
    terms = 10 * float((np.abs(M) @ z + 1.0).max())
    assert here / terms <= there * (1 + 1e-12)
    assert there <= here * terms * (1 + 1e-12)


def test_a_bound_that_follows_a_row_in_another_unit():
    # normal in a unit of 1e9, friction in 1e-9: friction at half of what it must be is wrong
    D = np.array([1e9, 1e-9])
    problem = perp.BoxedLCP(
        np.diag(D * D), D * [-2.0, -5.0], [0.0, -0.5 * D[0] / D[1]], [np.inf, 0.5 * D[0] / D[1]],
        friction_index=[-1, 0],
    )  # fmt: skip
    assert perp.residual(problem, [2.0, 1.0] / D) < 1e-15
    assert perp.residual(problem, [2.0, 0.5] / D) > 0.005
    assert perp.residual(problem, [2.0, 1.5] / D) > 0.005


def test_digits_below_the_least_normal_number_are_not_there():
    # 0.3 z + q vanishes in doubles and not in fact: the product has two digits left
    lcp = perp.LCP([[0.3]], [-2e-322])
    assert 0.3 * 6.67e-322 - 2e-322 == 0.0
    assert law_violation(lcp, [6.67e-322]) > 1e-3
    assert perp.residual(lcp, [6.67e-322]) > 1e-3
    contact = perp.ContactProblem([[0.3]], [-2e-322], [perp.Nonnegative()])
    assert perp.residual(contact, [6.67e-322]) > 1e-3
    # nothing is lost of a q that needs no impulse, nor of data above
    assert perp.residual(perp.LCP([[0.3]], [2e-322]), [0.0]) == 0.0
    assert perp.residual(perp.LCP([[0.5]], [-2e-290]), [4e-290]) == 0.0


@pytest.mark.parametrize("least", [5e-324, 1e-310, 1e-300, 0.0])
def test_a_coefficient_of_next_to_nothing_hides_no_slip_along_the_other_axis(least):
    """Edges 500000131: u_2 = 1 with a friction of 1e-13 where 1e8 may hold was SOLVED beside μ_1 = 5e-324."""
    problem = perp.ContactProblem(np.eye(3), [-1.0, 0.01, 1.0], [perp.Elliptic(least, 1e8)])
    assert perp.residual(problem, [1.0, 0.0, -1e-13]) > 0.5
    assert perp.residual(problem, [1.0, 0.0, -1.0]) < 1e-12
