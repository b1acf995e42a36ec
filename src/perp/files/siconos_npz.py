"""Siconos problems kept as plain arrays in `.npz` files, recognised by the names of their arrays.

| arrays | problem |
|---|---|
| `W_*`, `q`, `mu`, `dimension` (and `mu_r`) | friction in reduced form: u = W r + q |
| `M_*`, `H_*`, `q`, `b`, `mu`, `dimension` (and `mu_r`) | in dynamics form: M v = H r + q, u = Hᵀ v + b |
| `M`, `q` | LCP |
| `M`, `q`, `is_comp` (and `blocks_rows`, `blocks_is_comp`) | mixed LCP: the other rows are equations |
| `M`, `q`, `lb`, `ub` | relay: −w ∈ N_[lb, ub](z) |

Sparse matrices are in compressed columns: `NAME_data`, `NAME_indices`, `NAME_indptr`, `NAME_shape`. Guesses
and stored solutions are `guess_r`, `guess_u`, `guess_v` and `sol_r`, `sol_u`, `sol_v`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.files.arrays import ArrayArchive
from perp.files.contacts import check_shape, contact_sets, global_problem, local_problem
from perp.files.matrices import compressed, whole_numbers
from perp.files.mixed import boxed_from_mixed
from perp.problems import LCP, BoxedLCP, ContactProblem, FileError, Problem, ProblemError, Sets

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def read_problem(archive: ArrayArchive) -> Problem:
    """The problem whose arrays these are."""
    if "W_data" in archive:
        return _read_local(archive)
    if "H_data" in archive:
        return _read_global(archive)
    if "M" not in archive or "q" not in archive:
        raise FileError(archive.path, "has no arrays of a problem that perp knows")
    if "is_comp" in archive:
        return _read_mixed(archive)
    if "lb" in archive:
        return BoxedLCP(*(archive.read(name) for name in ("M", "q", "lb", "ub")), copy=False)
    return LCP(archive.read("M"), archive.read("q"), copy=False)


def read_guesses(archive: ArrayArchive) -> dict[str, np.ndarray]:
    """The arrays `guess_r`, `guess_u`, `guess_v`, `sol_r`, `sol_u`, `sol_v` that are there."""
    names = [f"{kind}_{part}" for kind in ("guess", "sol") for part in "ruv"]
    return {name: archive.read(name) for name in names if name in archive}


def _read_local(archive: ArrayArchive) -> ContactProblem:
    q = archive.read("q")
    return local_problem(_sparse(archive, "W", (q.size, q.size)), q, _sets(archive))


def _read_global(archive: ArrayArchive) -> ContactProblem:
    f, w = archive.read("q"), archive.read("b")
    mass = _sparse(archive, "M", (f.size, f.size))
    jacobian = _sparse(archive, "H", (f.size, w.size), transposed=True)
    return global_problem(mass, jacobian, f, w, _sets(archive))


def _read_mixed(archive: ArrayArchive) -> BoxedLCP:
    M, rows = archive.read("M"), archive.read("is_comp")
    if M.ndim != 2 or rows.dtype.kind != "b":
        raise ProblemError("M is not a matrix or is_comp not a vector of booleans")
    columns = rows
    if M.shape[0] != M.shape[1]:
        columns = _complementary_variables(archive, M.shape[1])
    return boxed_from_mixed(M, archive.read("q"), rows, columns)


def _complementary_variables(archive: ArrayArchive, count: int) -> np.ndarray:
    """Which variables are complementary: in a rectangular problem the blocks say so, not the rows."""
    ends = whole_numbers("blocks_rows", archive.read("blocks_rows"))
    flags = whole_numbers("blocks_is_comp", archive.read("blocks_is_comp"))
    sizes = np.diff(ends)
    if ends.size != flags.size + 1 or ends[0] != 0 or ends[-1] != count or (sizes < 0).any():
        raise ProblemError(f"blocks_rows does not divide {count} variables into {flags.size} blocks")
    return np.repeat(flags != 0, sizes)


def _sets(archive: ArrayArchive) -> Sets:
    mu_r = archive.read("mu_r") if "mu_r" in archive else None
    return contact_sets(archive.read("mu"), mu_r, archive.scalar("dimension"))


def _sparse(
    archive: ArrayArchive, name: str, expected: tuple[int, int], *, transposed: bool = False
) -> csr_array:
    """A matrix in compressed columns; transposed, its compressed rows are the same arrays."""
    check_shape(name, tuple(whole_numbers(f"{name}_shape", archive.read(f"{name}_shape")).tolist()), expected)
    parts = (archive.read(f"{name}_{part}") for part in ("indptr", "indices", "data"))
    rows, columns = expected
    shape = (columns, rows) if transposed else expected
    return compressed(name, shape, *parts, by_rows=transposed)
