"""Reads the HDF5 files of the Frictional Contact Library (FCLib).

| group | problem |
|---|---|
| `fclib_local` | u = W r + V l + q, 0 = Vᵀ r + R l + s |
| `fclib_global` | M v = H r + G l + f, u = Hᵀ v + w, 0 = Gᵀ v + b |
| the same with `_rolling` | five rows a contact, with `mu_r` |

V, R, s and G, b (bilateral constraints) are optional; their rows become `Free` sets after the contacts'.
A matrix is a group with `m`, `n`, `nz`, `p`, `i`, `x`: nz = −1 for compressed columns, −2 for compressed
rows, and otherwise the number of triplets with rows in `i` and columns in `p` (the comment in FCLib's header
has it the other way round).

Reference: V. Acary et al., "FCLIB: a collection of discrete 3D frictional contact problems", 2014.
"""

from typing import Any

import numpy as np

from perp.files.contacts import check_shape, contact_sets, global_problem, local_problem
from perp.files.hdf5 import NumberFile
from perp.files.matrices import compressed, triplets
from perp.problems import ContactProblem, FileError, ProblemError
from perp.problems.sets import Sets

GROUPS = ("fclib_local", "fclib_global", "fclib_local_rolling", "fclib_global_rolling")
GUESSES = ("guesses", "solution")
COLUMNS, ROWS = -1, -2
# An attribute of perp's on a matrix group: how the matrix was held. Readers of FCLib files ignore attributes.
# 0: a dense array; k > 0: one dense k × k block per body; absent: sparse.
LAYOUT = "perp_block_size"


def read_problem(file: NumberFile) -> ContactProblem:
    """The problem in an FCLib file."""
    group = problem_group(file)
    return _read_local(file, group) if "local" in group else _read_global(file, group)


def problem_group(file: NumberFile) -> str:
    """The group that holds the problem."""
    found = [group for group in GROUPS if group in file]
    if not found and "about" in file and "steps" in file:
        raise FileError(file.path, "is a recording, not a problem: `perp info`, `plot` and `view` take it")
    if not found:
        raise FileError(file.path, f"has none of {', '.join(GROUPS)}: not an FCLib file")
    if len(found) > 1:
        raise FileError(file.path, f"holds several problems: {', '.join(found)}")
    return found[0]


def read_guesses(file: NumberFile) -> dict[str, np.ndarray]:
    """The first guess and the stored solution: `guess_r`, `guess_u`, `guess_v`, `sol_r`, `sol_u`, `sol_v`.

    Multipliers `l` of bilateral constraints are appended to `r`, and zeros to `u`, as in the problem's rows.
    """
    vectors = {}
    for kind, group in (("guess", "guesses/1"), ("sol", "solution")):
        multipliers = _optional(file, f"{group}/l", np.zeros(0))
        tails = {"r": multipliers, "u": np.zeros(multipliers.size), "v": np.zeros(0)}
        for part, tail in tails.items():
            if f"{group}/{part}" in file:
                vectors[f"{kind}_{part}"] = np.concatenate([file.numbers(f"{group}/{part}"), tail])
    return vectors


def _read_local(file: NumberFile, group: str) -> ContactProblem:
    q = file.numbers(f"{group}/vectors/q")
    W = _matrix(file, f"{group}/W", (q.size, q.size))
    if f"{group}/R" not in file:
        return local_problem(_as_held(file, f"{group}/W", W), q, _sets(file, group))
    from scipy.sparse import block_array

    s = file.numbers(f"{group}/vectors/s")
    V = _matrix(file, f"{group}/V", (q.size, s.size))
    R = _matrix(file, f"{group}/R", (s.size, s.size))
    whole = block_array([[W, V], [V.T, R]], format="csr")
    return local_problem(
        _as_held(file, f"{group}/W", whole), np.concatenate([q, s]), _sets(file, group, free=s.size)
    )


def _read_global(file: NumberFile, group: str) -> ContactProblem:
    f, w = file.numbers(f"{group}/vectors/f"), file.numbers(f"{group}/vectors/w")
    mass = _matrix(file, f"{group}/M", (f.size, f.size))
    jacobian = _matrix(file, f"{group}/H", (f.size, w.size)).T.tocsr()
    free = 0
    if f"{group}/G" in file:
        from scipy.sparse import vstack

        b = file.numbers(f"{group}/vectors/b")
        bilateral = _matrix(file, f"{group}/G", (f.size, b.size))
        jacobian = vstack([jacobian, bilateral.T], format="csr")
        w, free = np.concatenate([w, b]), b.size
    return global_problem(
        _as_held(file, f"{group}/M", mass),
        _as_held(file, f"{group}/H", jacobian),
        f,
        w,
        _sets(file, group, free=free),
    )


def _sets(file: NumberFile, group: str, *, free: int = 0) -> Sets:
    mu_r = file.numbers(f"{group}/vectors/mu_r") if "rolling" in group else None
    dimension = file.whole_number(f"{group}/spacedim")
    return contact_sets(file.numbers(f"{group}/vectors/mu"), mu_r, dimension, free=free)


def _matrix(file: NumberFile, name: str, expected: tuple[int, int]) -> Any:
    """A sparse matrix in any of the three storage forms, as compressed rows."""
    check_shape(name, (file.whole_number(f"{name}/m"), file.whole_number(f"{name}/n")), expected)
    form = file.whole_number(f"{name}/nz")
    p, i = file.whole_numbers(f"{name}/p"), file.whole_numbers(f"{name}/i")
    x = file.numbers(f"{name}/x")
    if form in (COLUMNS, ROWS):
        return compressed(name, expected, p, i, x, by_rows=form == ROWS)
    if form < 0:
        raise ProblemError(f"{name}/nz = {form} is not a storage form: −1, −2 or a number of triplets is")
    if i.size != p.size:
        raise ProblemError(f"{name} has {i.size} rows and {p.size} columns of triplets")
    return triplets(name, expected, i, p, x, form)


def _as_held(file: NumberFile, name: str, matrix: Any) -> Any:
    """The matrix as perp held it when it wrote the file: dense, blocks, or sparse (as in any other file)."""
    size = file.attribute(name, LAYOUT)
    rows, columns = matrix.shape
    if size == 0 and matrix.nnz == rows * columns:
        return matrix.toarray()
    if size is None or size <= 0 or rows % size or matrix.nnz != rows * size:
        return matrix  # a dense array has every entry in the file: anything else stays sparse
    blocks = matrix.tobsr((size, size))
    on_diagonal = np.array_equal(blocks.indices, np.arange(rows // size))
    return blocks.data if on_diagonal and blocks.nnz == matrix.nnz else matrix


def _optional(file: NumberFile, name: str, default: np.ndarray) -> np.ndarray:
    return file.numbers(name) if name in file else default
