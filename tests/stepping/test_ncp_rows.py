"""The linear system of a Newton step with few rows."""

from __future__ import annotations

import numpy as np

from perp.stepping.ncp_rows import solve_scaled


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
