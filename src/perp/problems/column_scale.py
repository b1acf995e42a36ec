"""How strongly each unknown acts: the scale that lets an impulse be compared with a velocity.

For u = W λ + q the scale of column i is d_i = max_j |W_ji|: the largest velocity that a unit impulse of row i
causes anywhere. Then d_i λ_i is a velocity, and the natural map min(u_i, d_i λ_i) compares like with like in
any units. The diagonal alone would do for a well-scaled positive semidefinite W; the maximum of the column
also holds for zero or tiny diagonals, where W_ii λ_i would call an arbitrary λ_i small.
"""

from __future__ import annotations

import numpy as np

from perp.problems.validation import Matrix, Vector, freeze, is_sparse


def column_scale(matrix: Matrix) -> Vector:
    """Largest absolute entry of each column; the largest of all (or 1) where a column is zero."""
    n = matrix.shape[1]
    if n == 0:
        return freeze(np.zeros(0))
    if is_sparse(matrix):
        from perp.problems.boxed_kernels import column_maximum

        largest = np.zeros(n)
        column_maximum(matrix.data, matrix.indices, largest)
    else:
        largest = np.abs(matrix).max(axis=0)
    overall = largest.max()
    return freeze(np.where(largest > 0, largest, overall if overall > 0 else 1.0))
