"""Rows summed with twice the digits against exact rational sums, and residuals that must not read zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp
from perp.compilation.kernel import whole
from perp.problems.accurate_slack import exact_row
from perp.problems.matrix_entries import entries_of
from perp.problems.validation import freeze


def exact(row: np.ndarray, z: np.ndarray, constant: float) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(row, z, strict=True)), Fraction(constant))


@pytest.mark.parametrize("seed", range(5))
def test_a_row_that_cancels_is_as_accurate_as_its_digits(seed):
    rng = np.random.default_rng(seed)
    n = 40
    M, z = 1e4 * rng.normal(size=(n, n)), rng.normal(size=n)
    q = -(M @ z) + 1e-9 * rng.normal(size=n)
    sparse = csr_array(M)
    for i in range(n):
        true = float(exact(M[i], z, q[i]))
        value, terms = whole(exact_row)(entries_of(freeze(M)), freeze(q), freeze(z), i)
        assert value == pytest.approx(true, rel=1e-12)
        assert terms == pytest.approx(np.abs(M[i] * z).max())
        again = whole(exact_row)(entries_of(sparse), freeze(q), freeze(z), i)
        assert again[0] == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("form", ["lcp", "sparse lcp", "boxed", "contact", "sparse contact"])
def test_residual_of_large_answers_that_cancel_is_the_exact_one(form):
    # opposing rows carry any common load: the plain sum of M z has an error of 1e4 · 2⁻⁵³, far above |q|
    rng = np.random.default_rng(3)
    J = np.vstack([rng.normal(size=(3, 4)), np.zeros((3, 4))])
    J[3:] = -J[:3]
    M = J @ J.T
    z = np.tile(1e4 * rng.uniform(0.3, 1.0, 3), 2)
    q = 1e-9 * rng.normal(size=6)
    w = np.array([float(exact(M[i], z, q[i])) for i in range(6)])
    expected = np.abs(w).max() / np.abs(q).max()
    assert expected > 1e-3
    problem = {
        "lcp": lambda: perp.LCP(M, q),
        "sparse lcp": lambda: perp.LCP(csr_array(M), q),
        "boxed": lambda: perp.BoxedLCP(M, q, np.zeros(6), np.full(6, np.inf)),
        "contact": lambda: perp.ContactProblem(M, q, [perp.Nonnegative()] * 6),
        "sparse contact": lambda: perp.ContactProblem(csr_array(M), q, [perp.Nonnegative()] * 6),
    }[form]()
    assert perp.residual(problem, z) == pytest.approx(expected, rel=1e-9)


def test_huge_friction_sees_the_sliding_that_is_there_and_no_more():
    # sticking contacts with μ = 10⁶: what is left of sliding is measured as the velocity that it is
    rng = np.random.default_rng(1)
    J = rng.normal(size=(60, 90))
    W = J @ J.T
    impulse = np.tile([1.0, 0.3, -0.2], 20) * np.repeat(rng.uniform(0.5, 1.5, 20), 3)
    q = -(W @ impulse)
    problem = perp.ContactProblem.coulomb(W, q, 1e6)
    u = np.array([float(exact(W[i], impulse, q[i])) for i in range(60)])
    expected = np.linalg.norm(u.reshape(-1, 3), axis=1).max() / np.abs(q).max()
    assert perp.residual(problem, impulse) == pytest.approx(expected, rel=1e-2)
    assert perp.residual(problem, impulse) < 1e-14
