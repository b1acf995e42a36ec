"""Backtracking, regularised systems and the Fischer–Burmeister function against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from perp.solvers.line_search import backtrack
from perp.solvers.linear import solve_regularised
from perp.solvers.newton.mcp_equations import equations_of_rows
from perp.solvers.symmetry import is_symmetric


def test_the_longest_of_the_halved_steps_is_taken() -> None:
    def merit(z: np.ndarray) -> float:
        return float(abs(z[0] - 1.0))

    found = backtrack(merit, np.zeros(1), np.array([6.0]), 1.0)
    assert found is not None
    assert found[0] == pytest.approx([1.5])


def test_nan_is_never_a_decrease() -> None:
    assert backtrack(lambda z: float("nan"), np.zeros(1), np.ones(1), 1.0) is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_consistent_singular_systems_are_solved(sparse: bool, symmetric: bool) -> None:
    rng = np.random.default_rng(0)
    J = rng.standard_normal((20, 8))
    A = J @ J.T
    b = A @ rng.standard_normal(20)
    x = solve_regularised(sp.csr_array(A) if sparse else A, b, symmetric=symmetric)
    assert x is not None
    assert A @ x == pytest.approx(b, abs=1e-8)


def test_fischer_burmeister_is_accurate_far_from_the_kink() -> None:
    a, b = np.array([1e8, 3.0, -1.0, 0.0]), np.array([1e-8, 4.0, -1.0, 0.0])
    ones, zeros, none = np.ones(4), np.zeros(4), np.full(4, np.inf)

    def phi(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return equations_of_rows(a, b, zeros, none, ones, ones, 0.0)

    value, da, db = phi(a, b)
    assert value == pytest.approx([1e-8, 2.0, -2 - np.sqrt(2), 0.0], rel=1e-12)
    step = 1e-6
    for i in (1, 2):
        by_a = (phi(a + step, b)[0][i] - phi(a - step, b)[0][i]) / (2 * step)
        by_b = (phi(a, b + step)[0][i] - phi(a, b - step)[0][i]) / (2 * step)
        assert (da[i], db[i]) == pytest.approx((by_a, by_b), rel=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_symmetry_is_seen_entry_by_entry(sparse: bool) -> None:
    rng = np.random.default_rng(1)
    A = np.where(rng.random((70, 70)) < 0.1, rng.standard_normal((70, 70)), 0.0)
    A = A + A.T
    assert is_symmetric(sp.csr_array(A) if sparse else A)
    for i, j in ((3, 69), (69, 3)):
        B = A.copy()
        B[i, j] += 1e-6
        assert not is_symmetric(sp.csr_array(B) if sparse else B)
