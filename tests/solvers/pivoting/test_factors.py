"""Kernels of factors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from perp.compilation.kernel import whole
from perp.solvers.pivoting import factors

SIZES = [1, 2, 3, 4, 5, 8, 17, 40]


def spd(n: int) -> np.ndarray:
    G = np.random.default_rng(n).standard_normal((n, n))
    return G @ G.T / n + 0.1 * np.eye(n)


def upper(A: np.ndarray) -> np.ndarray:
    U = A.copy()
    assert whole(factors.cholesky)(U, A.shape[0], np.empty(A.shape[0])) == -1
    return U


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_is_numpys(n: int) -> None:
    A = spd(n)
    np.testing.assert_allclose(np.triu(upper(A)), np.linalg.cholesky(A).T, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_triangular_solves_invert(n: int) -> None:
    A, x = spd(n), np.arange(1.0, n + 1)
    U, b = upper(A), A @ x
    whole(factors.solve_transposed)(U, n, b)
    whole(factors.solve_upper)(U, n, b)
    np.testing.assert_allclose(b, x, rtol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_removing_any_row_gives_the_factor_of_the_rest(n: int) -> None:
    A = spd(n)
    for p in range(n):
        U = upper(A)
        whole(factors.remove)(U, n, p)
        rest = np.delete(np.arange(n), p)
        T = np.triu(U[: n - 1, : n - 1])
        np.testing.assert_allclose(T.T @ T, A[np.ix_(rest, rest)], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", SIZES[1:])
def test_appending_a_row_gives_the_factor_of_all(n: int) -> None:
    A = spd(n)
    U = np.zeros((n, n))
    U[:-1, :-1] = upper(A[:-1, :-1].copy())
    column = A[-1].copy()
    whole(factors.solve_transposed)(U, n - 1, column)
    whole(factors.append)(U, n - 1, column, A[-1, -1] - column[:-1] @ column[:-1])
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_lu_solves_what_needs_exchanges(n: int) -> None:
    A = np.random.default_rng(n).standard_normal((n, n))
    A[0, 0] = 0.0 if n > 1 else 1.0
    x = np.arange(1.0, n + 1)
    b, order = A @ x, np.empty(n, dtype=np.int64)
    assert whole(factors.lu)(A, n, order) == -1
    whole(factors.lu_solve)(A, n, order, b)
    np.testing.assert_allclose(b, x, rtol=1e-8)


def test_singular_blocks_are_named_by_their_row() -> None:
    A = np.ones((3, 3))
    assert whole(factors.cholesky)(A.copy(), 3, np.empty(3)) == 1
    assert whole(factors.lu)(A.copy(), 3, np.empty(3, dtype=np.int64)) == 1
    assert whole(factors.cholesky)(np.full((2, 2), np.nan), 2, np.empty(2)) == 0


@pytest.mark.parametrize("k", [0, 1, 3, 4, 7, 8, 9, 20])
def test_add_rows_is_a_product(k: int) -> None:
    rng = np.random.default_rng(k)
    M, rows, f = rng.standard_normal((25, 25)), rng.permutation(25), rng.standard_normal(25)
    x = rng.standard_normal(11)
    expected = x + f[:k] @ M[rows[:k], :11]
    whole(factors.add_rows)(x, M, rows, f, k)
    np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-13)
