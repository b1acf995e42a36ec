"""Mixed linear complementarity problems as boxed ones: some rows are equations, the others complementary."""

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.errors import ProblemError
from perp.problems.validation import Matrix, is_sparse

# Entries of the added columns: a small file with one long column must not become a huge square matrix.
_MAX_ADDED = 2**24


def boxed_from_mixed(
    M: Matrix, q: np.ndarray, complementary_rows: np.ndarray, complementary_columns: np.ndarray
) -> BoxedLCP:
    """0 ≤ z_j ⊥ w_i ≥ 0 for complementary rows i, w_i = 0 for the others, with w = M z + q.

    A square problem is kept as it is when row i is complementary exactly where variable i is. Otherwise, and
    for a rectangular problem with more equations than free variables, each row has to face one variable: the
    k-th complementary row faces the k-th complementary variable, the k-th equation the k-th free variable,
    and every surplus equation a new free variable with a column of zeros. Such a variable changes nothing:
    any value of it is a solution. The columns, and so the entries of z, are in the order of the rows.
    """
    rows, columns = M.shape
    if complementary_rows.shape != (rows,) or complementary_columns.shape != (columns,):
        raise ProblemError(
            f"M has shape {M.shape}, but {complementary_rows.size} rows and {complementary_columns.size} "
            "variables are marked as complementary or not"
        )
    lo = np.where(complementary_rows, 0.0, -np.inf)
    if rows == columns and np.array_equal(complementary_rows, complementary_columns):
        return BoxedLCP(M, q, lo, np.full(rows, np.inf), copy=False)
    pairs, variables = int(complementary_rows.sum()), int(complementary_columns.sum())
    if pairs != variables:
        raise ProblemError(f"{pairs} complementary rows face {variables} complementary variables")
    if rows < columns:
        raise ProblemError(f"{rows} rows cannot determine {columns} variables")
    if is_sparse(M) or rows * (rows - columns) > _MAX_ADDED:
        raise ProblemError(f"{rows} rows for {columns} variables: too many, or too sparse, to square up")
    square = np.zeros((rows, rows))
    square[:, np.flatnonzero(complementary_rows)] = M[:, complementary_columns]
    free = np.flatnonzero(~complementary_columns)
    square[:, np.flatnonzero(~complementary_rows)[: free.size]] = M[:, free]
    return BoxedLCP(square, q, lo, np.full(rows, np.inf), copy=False)
