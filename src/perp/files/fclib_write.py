"""Writes contact problems as FCLib HDF5 files that Siconos and the other users of FCLib can read.

W is written in compressed rows and the global matrices in compressed columns, which Siconos's reader takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perp.files.fclib import COLUMNS, LAYOUT, ROWS
from perp.files.matrices import INDEX_MAX, mirrored
from perp.files.reading import MAX_BYTES, PathName
from perp.files.writing import replacing
from perp.problems import ContactProblem, FileError, Problem
from perp.problems.dynamics import Dynamics
from perp.problems.sets import COULOMB, FREE, ROLLING, Sets
from perp.problems.validation import Matrix, is_sparse, same_array

if TYPE_CHECKING:
    import h5py

ROLLING_ROWS = 5
# Matrices by name (with storage form and layout) and vectors by name.
_Parts: TypeAlias = tuple[dict[str, tuple[Any, int, int | None]], dict[str, np.ndarray]]


def write_problem(problem: Problem, path: PathName) -> None:
    """Write a contact problem in FCLib's layout.

    FCLib holds contacts of one kind (Coulomb in the plane, Coulomb in space, or rolling) followed by
    bilateral constraints. A dense matrix is written with all its entries and comes back dense.
    """
    import h5py

    if not isinstance(problem, ContactProblem):
        raise FileError(path, f"FCLib holds contact problems, not type {type(problem).__name__}: use .npz")
    rows, dimension = _check_sets(problem, path)
    group = "fclib_local" if problem.dynamics is None else "fclib_global"
    rolling = dimension == ROLLING_ROWS
    vectors = _friction_vectors(problem.sets, rolling=rolling)
    if problem.dynamics is None:
        matrices, more = _local_parts(problem.W, problem.q, rows, path)
    else:
        matrices, more = _global_parts(problem.dynamics, rows, path)
    with replacing(path) as temporary, h5py.File(temporary, "w") as file:
        target = file.create_group(group + ("_rolling" if rolling else ""))
        target["spacedim"] = np.array([dimension], dtype=np.int32)
        for name, value in (vectors | more).items():
            target[f"vectors/{name}"] = value
        for name, (matrix, form, layout) in matrices.items():
            _write_matrix(target.create_group(name), matrix, form, layout)


def _check_sets(problem: ContactProblem, path: PathName) -> tuple[int, int]:
    """Rows of the contacts and rows of one contact, if FCLib can hold these sets in this order."""
    sets = problem.sets
    free = sets.kind == FREE
    contacts = int((~free).sum())
    if free[:contacts].any():
        raise FileError(path, "FCLib holds bilateral constraints (Free) after the contacts only: use .npz")
    kinds, dimensions = set(sets.kind[:contacts].tolist()), set(sets.dimension[:contacts].tolist())
    if len(dimensions) > 1 or not (kinds <= {COULOMB} or kinds <= {ROLLING}):
        raise FileError(path, f"FCLib holds contacts of one kind, Coulomb or Rolling, not {sets!r}: use .npz")
    if sets.cohesion.any():
        raise FileError(path, "FCLib has no cohesion: use .npz")
    if problem.relaxed:
        raise FileError(path, "FCLib has no mark for a relaxed problem: use .npz")
    return int(sets.start[contacts]), dimensions.pop() if dimensions else 3


def _friction_vectors(sets: Sets, *, rolling: bool) -> dict[str, np.ndarray]:
    contacts = sets.kind != FREE
    return {"mu": sets.a[contacts]} | ({"mu_r": sets.b[contacts]} if rolling else {})


def _local_parts(W: Matrix, q: np.ndarray, rows: int, path: PathName) -> _Parts:
    whole, layout = _sparse(W, path), _layout(W)
    matrices: dict[str, Any] = {"W": (whole[:rows, :rows], ROWS, layout)}
    vectors = {"q": q[:rows]}
    if rows < q.size:
        V, transposed = whole[:rows, rows:], whole[rows:, :rows]
        if not same_array(V.T.tocsr(), transposed.tocsr()):
            raise FileError(path, "FCLib holds bilateral constraints of a symmetric W only: use .npz")
        matrices |= {"V": (V, ROWS, None), "R": (whole[rows:, rows:], ROWS, None)}
        vectors["s"] = q[rows:]
    return matrices, vectors


def _global_parts(dynamics: Dynamics, rows: int, path: PathName) -> _Parts:
    if dynamics.compliance.any():
        raise FileError(path, "FCLib has no place for compliance in the dynamics form: use .npz")
    mass, jacobian = _sparse(dynamics.mass, path), _sparse(dynamics.jacobian, path)
    if is_sparse(dynamics.mass) and mirrored(mass) is not mass:
        raise FileError(
            path, "a mass with entries on one side of the diagonal is ambiguous in FCLib: use .npz"
        )
    matrices: dict[str, Any] = {
        "M": (mass, COLUMNS, _layout(dynamics.mass)),
        "H": (jacobian[:rows].T, COLUMNS, _layout(dynamics.jacobian)),
    }
    vectors = {"f": dynamics.momentum, "w": dynamics.bias[:rows]}
    if rows < dynamics.bias.size:
        matrices["G"] = (jacobian[rows:].T, COLUMNS, None)
        vectors["b"] = dynamics.bias[rows:]
    return matrices, vectors


def _layout(matrix: Matrix) -> int | None:
    if is_sparse(matrix):
        return None
    return matrix.shape[1] if matrix.ndim == 3 else 0


def _sparse(matrix: Matrix, path: PathName) -> Any:
    """The matrix in compressed rows, with every entry of a dense one."""
    from scipy.sparse import bsr_array, csr_array

    result: Any = matrix
    if not is_sparse(matrix) and matrix.ndim == 3:
        count, size, _ = matrix.shape
        shape = (count * size, count * size)
        result = bsr_array((matrix, np.arange(count), np.arange(count + 1)), shape=shape).tocsr()
    elif not is_sparse(matrix):
        rows, columns = matrix.shape
        indices = np.tile(np.arange(columns), rows)
        result = csr_array((matrix.ravel(), indices, np.arange(rows + 1) * columns), shape=(rows, columns))
    if result.nnz * 12 > MAX_BYTES or max(*result.shape, result.nnz) > INDEX_MAX:
        raise FileError(path, f"a matrix has {result.nnz} entries: more than can be read back")
    return result


def _write_matrix(group: h5py.Group, matrix: Any, form: int, layout: int | None) -> None:
    matrix = matrix.tocsr() if form == ROWS else matrix.tocsc()
    rows, columns = matrix.shape
    for name, value in (("m", rows), ("n", columns), ("nzmax", matrix.nnz), ("nz", form)):
        group[name] = np.array([value], dtype=np.int32)
    group["p"], group["i"] = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    group["x"] = matrix.data
    if layout is not None:
        group.attrs[LAYOUT] = layout
