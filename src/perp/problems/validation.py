"""Turns what users pass as arrays into checked, read-only float64 arrays.

Every check raises `ProblemError` naming the argument, the first offending index and its value.
Arrays that a problem keeps are read-only: kernels are compiled for read-only problem data, and nobody can
change a problem after it has been checked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perp.problems.errors import ProblemError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Vector: TypeAlias = np.ndarray
# A dense np.ndarray or a scipy.sparse.csr_array: SciPy's stubs leave nothing usable of the union.
Matrix: TypeAlias = Any
_INT32_MAX = np.iinfo(np.int32).max
# Numbers of a block of rows: 2 MB.
_BLOCK = 1 << 18


def row_blocks(n: int) -> Iterator[slice]:
    """The rows of an n × n matrix in blocks that fit into a cache: a copy of a large one takes seconds."""
    step = max(1, _BLOCK // max(n, 1))
    for first in range(0, n, step):
        yield slice(first, first + step)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a SciPy sparse array or matrix, without importing scipy.sparse when nobody has."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(x)


def freeze(array: np.ndarray) -> np.ndarray:
    """A read-only view of `array` (the same object when it already is read-only)."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def describe(index: Iterable[Any]) -> str:
    """An index as it is written in Python: [1, 2]."""
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


def check_finite(name: str, array: np.ndarray) -> None:
    """Raises `ProblemError` naming the first entry that is NaN or infinite."""
    finite = np.isfinite(array)
    if not finite.all():
        index = tuple(np.argwhere(~finite)[0])
        raise ProblemError(f"{name}{describe(index)} is {array[index]}: every entry must be finite")


def to_float(name: str, x: Any, *, copy: bool = True) -> np.ndarray:
    """`x` as a C-contiguous float64 array, refusing what is not made of real numbers."""
    try:
        raw = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise ProblemError(f"{name} is not an array of numbers: {error}") from None
    if raw.dtype.kind not in "biuf":
        raise ProblemError(f"{name} has entries of type {raw.dtype}: real numbers are needed")
    return np.array(raw, dtype=np.float64, order="C", copy=True if copy else None)


def vector(name: str, x: Any, size: int | None = None, *, finite: bool = True, copy: bool = True) -> Vector:
    """A checked read-only vector; a `size` of None accepts any length."""
    array = to_float(name, x, copy=copy)
    if array.ndim != 1:
        raise ProblemError(f"{name} has shape {array.shape}: a one-dimensional array is needed")
    if size is not None and array.size != size:
        raise ProblemError(f"{name} has {array.size} entries: it needs {size}")
    if finite:
        check_finite(name, array)
    return freeze(array)


def per_row(name: str, x: Any, size: int, *, finite: bool = True, copy: bool = True) -> Vector:
    """A checked read-only vector; a single number stands for all rows."""
    if np.ndim(x) == 0:
        x = np.full(size, to_float(name, x))
    return vector(name, x, size, finite=finite, copy=copy)


def matrix(
    name: str,
    x: Any,
    *,
    rows: int | None = None,
    columns: int | None = None,
    finite: bool = True,
    copy: bool = True,
) -> Matrix:
    """A checked read-only matrix: dense C-contiguous, or canonical CSR when `x` is sparse."""
    array: Any
    if is_sparse(x):
        array = _sparse_matrix(name, x, finite=finite, copy=copy)
    else:
        array = to_float(name, x, copy=copy)
        if array.ndim != 2:
            raise ProblemError(f"{name} has shape {array.shape}: a two-dimensional array is needed")
        if finite:
            check_finite(name, array)
        array = freeze(array)
    if rows is not None and array.shape[0] != rows:
        raise ProblemError(f"{name} has {array.shape[0]} rows: it needs {rows}")
    if columns is not None and array.shape[1] != columns:
        raise ProblemError(f"{name} has {array.shape[1]} columns: it needs {columns}")
    return array


def square_matrix(name: str, x: Any, *, copy: bool = True) -> Matrix:
    """A checked read-only square matrix."""
    array = matrix(name, x, copy=copy)
    if array.shape[0] != array.shape[1]:
        raise ProblemError(f"{name} has shape {array.shape}: a square matrix is needed")
    return array


def _sparse_matrix(name: str, x: Any, *, finite: bool, copy: bool) -> csr_array:
    """Canonical CSR: sorted indices, duplicates summed, explicit zeros kept, 32-bit indices when they fit."""
    from scipy.sparse import csr_array

    if x.ndim != 2:
        raise ProblemError(f"{name} has shape {x.shape}: a two-dimensional array is needed")
    if x.dtype.kind not in "biuf":
        raise ProblemError(f"{name} has entries of type {x.dtype}: real numbers are needed")
    csr: Any = csr_array(x, dtype=np.float64, copy=copy)
    if not csr.has_canonical_format:
        if csr.data is getattr(x, "data", None) or np.shares_memory(csr.data, getattr(x, "data", csr.indptr)):
            csr = csr.copy()
        csr.sum_duplicates()
    if finite and not np.isfinite(csr.data).all():
        at = int(np.argmin(np.isfinite(csr.data)))
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        raise ProblemError(
            f"{name}{describe((row, csr.indices[at]))} is {csr.data[at]}: every entry must be finite"
        )
    shape: Any = csr.shape
    index_type = np.int32 if max(csr.nnz, *shape) <= _INT32_MAX else np.int64
    return csr_array(
        (
            freeze(csr.data),
            freeze(csr.indices.astype(index_type, copy=False)),
            freeze(csr.indptr.astype(index_type, copy=False)),
        ),
        shape=csr.shape,
        copy=False,
    )


def ordered_bounds(lo: Vector, hi: Vector, names: tuple[str, str] = ("lo", "hi")) -> None:
    """Checks lo <= hi with -inf and inf allowed where they mean "no bound"."""
    low, high = names
    for name, array in ((low, lo), (high, hi)):
        if np.isnan(array).any():
            i = int(np.argmax(np.isnan(array)))
            raise ProblemError(f"{name}[{i}] is nan: a bound is a number or an infinity")
    wrong = lo > hi
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ProblemError(f"{low}[{i}] = {lo[i]} is greater than {high}[{i}] = {hi[i]}")
    wrong = (lo == np.inf) | (hi == -np.inf)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ProblemError(
            f"{low}[{i}] = {lo[i]}, {high}[{i}] = {hi[i]}: no number lies between these bounds"
        )


def same_array(x: Any, y: Any) -> bool:
    """Bit-for-bit equality of two arrays, sparse or dense or None."""
    if x is None or y is None:
        return x is y
    if is_sparse(x) != is_sparse(y) or x.shape != y.shape:
        return False
    if is_sparse(x):
        return all(same_array(getattr(x, part), getattr(y, part)) for part in ("data", "indices", "indptr"))
    return x.dtype == y.dtype and np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes()
