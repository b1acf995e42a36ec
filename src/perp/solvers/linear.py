"""Linear systems of Newton methods and active sets, dense or sparse, rank-deficient ones included.

A positive semidefinite block has no factorisation, but A + ε diag(A) has one; repeating the solve on the
remaining residual (a proximal-point iteration) removes the shift's effect from every consistent system.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from perp.problems.validation import Vector, is_sparse
from perp.solvers.large_dense import lu

# Shift against the diagonal: far above round-off (1e-16), far below what refinement cannot
# undo.
SHIFT = 1e-11
REFINEMENTS = 4

Solve = Callable[[Any], Any]


def diagonal_scale(A: Any) -> Vector:
    """The size of each diagonal entry, that of the whole diagonal (or of A) where it is zero, shape (n,)."""
    diagonal = np.abs(A.diagonal())
    if not diagonal.size:
        return diagonal
    largest = float(diagonal.max(initial=0.0)) or float(abs(A).max()) or 1.0
    return np.where(diagonal > 0.0, diagonal, largest)


def factorise(A: Any, *, symmetric: bool, shift: Vector | None = None) -> Solve | None:
    """A function that solves (A + diag(shift)) x = b, or None when the matrix cannot be factorised.

    Args:
        A: Square, dense or sparse.
        symmetric: Try Cholesky first (only the lower triangle of a dense A is read then).
        shift: Added to the diagonal, shape (n,).
    """
    if not A.shape[0]:
        return np.zeros_like
    if is_sparse(A):
        return _sparse_factor(A, symmetric, shift)
    lapack: Any = import_module("scipy.linalg").lapack

    if shift is not None:
        A = A + np.diag(shift)
    if symmetric:
        # A is symmetric, so its transpose is the Fortran-ordered array that LAPACK wants
        factor, failure = lapack.dpotrf(A.T, lower=1, clean=0)
        if failure == 0:
            return lambda b: lapack.dpotrs(factor, b, lower=1)[0]
    factor, pivots, failure = lu(A)
    return None if failure else lambda b: lapack.dgetrs(factor, pivots, b)[0]


def _sparse_factor(A: Any, symmetric: bool, shift: Vector | None) -> Solve | None:
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    matrix = csc_array(A) if shift is None else csc_array(A + diags_array(shift))
    try:
        if symmetric:
            factor = splu(
                matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        else:
            factor = splu(matrix)
    except RuntimeError:
        return None
    return factor.solve


def solve_regularised(A: Any, b: Vector, *, symmetric: bool) -> Vector | None:
    """A solution of A x = b, by A + ε diag(A) where A is singular; None when nothing can be factorised."""
    if b.size == 0:
        return np.zeros(0)
    diagonal = diagonal_scale(A)
    scale = float(np.abs(b).max()) or 1.0
    best, best_error = None, np.inf
    for shift in (0.0, SHIFT, 1e4 * SHIFT):
        solve = factorise(A, symmetric=symmetric, shift=shift * diagonal if shift else None)
        if solve is None:
            continue
        x = solve(b)
        error = _error(A, x, b)
        for _ in range(REFINEMENTS if shift else 1):
            if not np.isfinite(error) or error <= 1e-15 * scale:
                break
            better = x + solve(b - A @ x)
            better_error = _error(A, better, b)
            if not better_error < error:
                break
            x, error = better, better_error
        if np.isfinite(error) and error < best_error:
            best, best_error = x, error
        if best_error <= 1e-10 * scale:
            break
    return best


def _error(A: Any, x: Vector, b: Vector) -> float:
    return float(np.abs(A @ x - b).max()) if np.isfinite(x).all() else np.inf
