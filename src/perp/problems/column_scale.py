"""How strongly each unknown acts: the scale that lets an impulse be compared with a velocity.

For u = W λ + q the scale of column i is d_i = max_j |W_ji|: the largest velocity that a unit impulse of row i
causes anywhere. Then d_i λ_i is a velocity, and the natural map min(u_i, d_i λ_i) compares like with like in
any units. The diagonal alone would do for a well-scaled positive semidefinite W; the maximum of the column
also holds for zero or tiny diagonals, where W_ii λ_i would call an arbitrary λ_i small.
"""

from collections.abc import Iterable

import numpy as np

from perp.problems.validation import Matrix, Vector, freeze, is_sparse


def column_scale(matrix: Matrix) -> Vector:
    """Largest absolute entry of each column; the largest of all (or 1) where a column is zero."""
    return column_scale_of_rows([matrix], matrix.shape[1])


def column_scale_of_rows(blocks: Iterable[Matrix], columns: int) -> Vector:
    """The same for a matrix that comes in blocks of rows and is never whole in memory."""
    largest = np.zeros(columns)
    if columns == 0:
        return freeze(largest)
    from perp.problems.boxed_kernels import column_maximum

    for block in blocks:
        if is_sparse(block):
            column_maximum(block.data, block.indices, largest)
        else:
            np.maximum(largest, np.abs(block).max(axis=0), out=largest)
    overall = largest.max()
    return freeze(np.where(largest > 0, largest, overall if overall > 0 else 1.0))
