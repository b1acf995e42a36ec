"""Dense factors and products of thousands of rows in pieces, with a look at the clock between them.

LAPACK's LU of 10⁴ rows takes half a minute in which no time limit is seen. The same elimination by block
columns (right-looking, partial pivoting) does its work in products of some 10⁹ operations.
Reference: Golub and Van Loan, Matrix Computations, 3.2.11 and 3.4.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from perp.compilation.deadline import check_time

# Rows from which pieces are worth their copies: below, LAPACK is done within a second.
LARGE = 2000
# Columns of a block, and rows of a product: a piece of 10⁴ columns takes a tenth of a second.
BLOCK = 512


def lu(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """LAPACK's factors and pivots of a square A, and whether a pivot is zero.

    Raises:
        OutOfTime: The deadline passed.
    """
    lapack: Any = import_module("scipy.linalg").lapack
    n = A.shape[0]
    if n < LARGE:
        factors, pivots, failure = lapack.dgetrf(A)
        return factors, pivots, bool(failure)
    work, pivots, singular = np.array(A, order="C"), np.zeros(n, dtype=np.int32), False
    for k in range(0, n, BLOCK):
        end = min(k + BLOCK, n)
        _check(k, n)
        panel, swaps, failure = lapack.dgetrf(work[k:, k:end])
        singular = singular or bool(failure)
        work[k:, k:end] = panel
        for i, j in enumerate(swaps):
            pivots[k + i] = k + j
            if i != j:
                for columns in (slice(0, k), slice(end, n)):
                    work[[k + i, k + j], columns] = work[[k + j, k + i], columns]
        if end < n:
            _eliminate(work, k, end)
    return np.asfortranarray(work), pivots, singular


def _eliminate(work: np.ndarray, k: int, end: int) -> None:
    """The rows of a block of U, and what is left of the matrix behind it."""
    solve_triangular = import_module("scipy.linalg").solve_triangular
    n = work.shape[0]
    work[k:end, end:] = solve_triangular(
        work[k:end, k:end], work[k:end, end:], lower=True, unit_diagonal=True, check_finite=False
    )
    for first in range(end, n, BLOCK):
        _check(k, n)
        rows = slice(first, min(first + BLOCK, n))
        work[rows, end:] -= work[rows, k:end] @ work[k:end, end:]


def gram(H: np.ndarray) -> np.ndarray:
    """Hᵀ H.

    Raises:
        OutOfTime: The deadline passed.
    """
    n = H.shape[1]
    if n < LARGE:
        return H.T @ H
    product = np.empty((n, n))
    for first in range(0, n, BLOCK):
        check_time("a dense Jacobian was multiplied with itself")
        columns = slice(first, min(first + BLOCK, n))
        product[columns] = H[:, columns].T @ H
    return product


def _check(k: int, n: int) -> None:
    done = 1.0 - (1.0 - k / n) ** 3
    check_time(f"a dense Jacobian of {n} rows was factorised ({100.0 * done:.0f} % done)")
