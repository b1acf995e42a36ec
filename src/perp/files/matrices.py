"""Sparse matrices from the three storage forms that files use, with every index checked.

SciPy trusts the indices it is given: one out of range reads or writes memory that is not the matrix's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.problems.errors import ProblemError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

INDEX_MAX = np.iinfo(np.int32).max


def whole_numbers(name: str, array: np.ndarray, count: int | None = None) -> np.ndarray:
    """Checks a vector of whole numbers and returns it as int64; a `count` is how many are needed at least.

    More than `count` are cut off: some writers store all that was reserved (`nzmax`), not what is used.
    """
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ProblemError(f"{name} is not a vector of whole numbers")
    if count is not None and array.size < count:
        raise ProblemError(f"{name} has {array.size} entries: it needs {count}")
    return array[:count].astype(np.int64)


def compressed(
    name: str,
    shape: tuple[int, int],
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    *,
    by_rows: bool,
) -> csr_array:
    """A matrix in compressed rows or columns, every part checked.

    The shape must be known to fit the problem, since memory is taken for it.
    """
    from scipy.sparse import csc_array, csr_array

    lines, width = shape if by_rows else shape[::-1]
    indptr = whole_numbers(f"{name} pointers", indptr)
    if indptr.size != lines + 1:
        raise ProblemError(f"{name} has {indptr.size} pointers: it needs {lines + 1}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ProblemError(f"{name} has pointers that do not start at 0 and grow")
    count = int(indptr[-1])
    indices = whole_numbers(f"{name} indices", indices, count)
    _check_range(f"{name} indices", indices, width)
    parts = (_values(name, data, count), _narrow(indices), _narrow(indptr))
    return csr_array(parts, shape=shape) if by_rows else csc_array(parts, shape=shape).tocsr()


def triplets(
    name: str, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, data: np.ndarray, count: int
) -> csr_array:
    """A matrix from the first `count` of the entries (row, column, value); duplicates add up."""
    from scipy.sparse import coo_array

    rows = whole_numbers(f"{name} rows", rows, count)
    columns = whole_numbers(f"{name} columns", columns, count)
    _check_range(f"{name} rows", rows, shape[0])
    _check_range(f"{name} columns", columns, shape[1])
    parts = (_values(name, data, count), (_narrow(rows), _narrow(columns)))
    return coo_array(parts, shape=shape).tocsr()


def mirrored(matrix: csr_array) -> csr_array:
    """The whole of a symmetric matrix of which only one triangle was stored; any other matrix as it is.

    A mass matrix is symmetric, so one whose entries lie on one side of the diagonal only is half of one.
    """
    from scipy.sparse import coo_array

    entries = matrix.tocoo()
    off = entries.row != entries.col
    filled = off & (entries.data != 0)
    below = entries.row > entries.col
    if not filled.any() or ((filled & below).any() and (filled & ~below).any()):
        return matrix
    # Explicit zeros of the other triangle are dropped, so that no entry meets its own mirror image.
    stored = ~off | (below == below[filled][0])
    copied = stored & off
    return coo_array(
        (
            np.concatenate([entries.data[stored], entries.data[copied]]),
            (
                np.concatenate([entries.row[stored], entries.col[copied]]),
                np.concatenate([entries.col[stored], entries.row[copied]]),
            ),
        ),
        shape=matrix.shape,
    ).tocsr()


def _values(name: str, data: np.ndarray, count: int) -> np.ndarray:
    if data.ndim != 1 or data.dtype.kind not in "iuf":
        raise ProblemError(f"{name} values are not a vector of numbers")
    if data.size < count:
        raise ProblemError(f"{name} has {data.size} values: it needs {count}")
    return data[:count].astype(np.float64)


def _check_range(name: str, indices: np.ndarray, end: int) -> None:
    bad = (indices < 0) | (indices >= end)
    if bad.any():
        k = int(np.argmax(bad))
        raise ProblemError(f"{name}[{k}] = {indices[k]} is out of range: 0 … {end - 1}")


def _narrow(indices: np.ndarray) -> np.ndarray:
    """32-bit indices, which the kernels are compiled for, where they fit."""
    return indices.astype(np.int32) if indices.size == 0 or indices.max() <= INDEX_MAX else indices
