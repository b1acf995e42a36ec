"""The linear system of a Newton step with few rows."""

from __future__ import annotations

import numpy as np

from perp.stepping.ncp_rows import solve_eliminating, solve_scaled


def test_the_compiled_solve_agrees_with_lapack_over_twelve_orders_of_compliance() -> None:
    random = np.random.default_rng(3)
    for n in (1, 2, 7, 30):
        root = random.normal(size=(n, n + 2))
        W, added = root @ root.T, 10.0 ** random.uniform(-12, 12, n)
        right, out = random.normal(size=n), np.empty(n)
        scale = 1.0 / np.sqrt(W.diagonal() + added)
        solve_scaled(W, added, scale, right, out)
        A = scale[:, None] * (W + np.diag(added)) * scale
        np.testing.assert_allclose(out / scale, np.linalg.solve(A, scale * right), rtol=1e-9, atol=1e-12)


def test_a_matrix_that_is_not_positive_definite_gives_nan() -> None:
    out = np.zeros(2)
    solve_scaled(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), np.ones(2), np.ones(2), out)
    assert np.isnan(out).all()


def test_elimination_agrees_with_lapack_and_exchanges_rows_where_a_pivot_is_zero() -> None:
    random = np.random.default_rng(4)
    for n in (1, 3, 40):
        A, right = random.normal(size=(n, n)), random.normal(size=n)
        if n > 1:
            A[0, 0] = 0.0
        expected = np.linalg.solve(A, right)
        solve_eliminating(A, right)
        np.testing.assert_allclose(right, expected, rtol=1e-9)
    right = np.ones(2)
    solve_eliminating(np.zeros((2, 2)), right)
    assert np.isnan(right).all()
