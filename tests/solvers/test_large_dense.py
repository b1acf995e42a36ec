"""Factors and products in pieces are those of LAPACK and BLAS."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from perp.compilation.deadline import OutOfTime, within
from perp.solvers import large_dense


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch) -> None:
    monkeypatch.setattr(large_dense, "LARGE", 10)
    monkeypatch.setattr(large_dense, "BLOCK", 7)


@pytest.mark.parametrize("n", [10, 14, 50, 64])
def test_factors_are_those_of_lapack(n: int) -> None:
    lapack: Any = import_module("scipy.linalg").lapack
    A = np.random.default_rng(n).standard_normal((n, n))
    factors, pivots, singular = large_dense.lu(A)
    expected, swaps, _ = lapack.dgetrf(A)
    assert not singular
    np.testing.assert_array_equal(pivots, swaps)
    np.testing.assert_allclose(factors, expected, rtol=0, atol=1e-12)


def test_a_singular_matrix_is_seen() -> None:
    A = np.random.default_rng(0).standard_normal((30, 30))
    A[:, 20] = 0.0
    assert large_dense.lu(A)[2]


def test_products_are_those_of_blas() -> None:
    H = np.random.default_rng(0).standard_normal((30, 30))
    np.testing.assert_allclose(large_dense.gram(H), H.T @ H, rtol=0, atol=1e-13)


@pytest.mark.parametrize("work", [large_dense.lu, large_dense.gram])
def test_a_deadline_in_the_past_ends_the_work(work) -> None:
    with within(-1.0), pytest.raises(OutOfTime, match="time limit passed while a dense Jacobian"):
        work(np.eye(30))
