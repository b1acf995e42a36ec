"""Linear systems of rows that may be redundant, against NumPy's pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest

from perp.compilation.kernel import whole
from perp.derivatives.elimination import leaves_still, solve_rows


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (6, 6), (9, 7), (24, 13), (5, 0)])
def test_redundant_rows_have_the_solution_of_least_norm(n, rank, backwards):
    """Rows that agree, and rows that do not: least squares of scaled rows, and the same transposed."""
    rng = np.random.default_rng(n + rank)
    A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)) * 10.0 ** rng.uniform(-3, 3, (n, 1))
    scale = 1.0 / np.maximum(np.abs(A).max(axis=1), 1e-300)
    inverse = np.linalg.pinv(scale[:, None] * A, rcond=1e-10) * scale
    operator, matrix = (inverse.T, A.T) if backwards else (inverse, A)
    agreeing = matrix @ rng.standard_normal((n, 4))
    for right, agrees in ((agreeing, True), (rng.standard_normal((n, 4)), rank == n)):
        found = right.copy()
        agree, space = whole(solve_rows)(A.copy(), found, backwards)
        assert space[0] == rank
        if rank:
            assert bool(agree) == agrees
        expected = operator @ right
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_impulses_of_a_null_space_that_move_one_freedom_are_seen():
    """Z n is exact, whatever the other freedoms do: a sum over freedoms may vanish by chance."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((7, 5)) @ rng.standard_normal((5, 7))
    null = np.linalg.svd(A)[2][5:]
    _, space = whole(solve_rows)(A.copy(), np.zeros((7, 1)), False)
    still = rng.standard_normal((4, 7)) @ (np.eye(7) - null.T @ null)
    assert whole(leaves_still)(space, still)
    moved = still.copy()
    moved[2] += 1e-3 * null[1]
    assert not whole(leaves_still)(space, moved)
