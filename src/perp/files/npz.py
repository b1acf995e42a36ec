"""perp's own `.npz` layout: every kind of problem that is plain data, bit for bit.

`perp_format` is the version of the layout and `perp_kind` the type; the rest are the arguments of that type's
constructor. A dense matrix is one array under its name; a sparse one is four, `NAME_data`, `NAME_indices`,
`NAME_indptr` and `NAME_shape`, in compressed rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perp.files.arrays import ArrayArchive, write_archive
from perp.files.matrices import compressed
from perp.files.reading import PathName
from perp.problems import LCP, MCP, BoxedLCP, ContactProblem, FileError, Problem, ProblemError, Sets
from perp.problems.validation import Matrix, is_sparse

VERSION = 1


def read_problem(archive: ArrayArchive) -> Problem:
    """The problem in an archive that has a `perp_format`."""
    version = archive.scalar("perp_format")
    if version != VERSION:
        raise FileError(archive.path, f"has layout {version} of perp: this version reads layout {VERSION}")
    kind = archive.text("perp_kind")
    reader = _READERS.get(kind)
    if reader is None:
        raise FileError(archive.path, f"holds a {kind[:40]!r}, not a problem that perp knows")
    return reader(archive)


def write_problem(problem: Problem, path: PathName) -> None:
    """Write a problem in this layout; a nonlinear MCP is refused."""
    arrays: dict[str, np.ndarray] = {
        "perp_format": np.array(VERSION),
        "perp_kind": np.array(type(problem).__name__),
    }
    if isinstance(problem, ContactProblem):
        _put_contact(arrays, problem)
    elif problem.M is None:
        raise FileError(path, "a nonlinear MCP is made of functions and cannot be saved: MCP.affine can")
    else:
        _put_matrix(arrays, "M", problem.M)
        for name in ("q",) if isinstance(problem, LCP) else ("q", "lo", "hi", "friction_index", "start"):
            value = getattr(problem, name, None)
            if value is not None:
                arrays[name] = value
        if isinstance(problem, BoxedLCP) and problem.negative_limit != "zero":
            arrays["negative_limit"] = np.array(problem.negative_limit)
    write_archive(path, arrays)


def _read_lcp(archive: ArrayArchive) -> LCP:
    return LCP(_matrix(archive, "M"), archive.read("q"), copy=False)


def _read_boxed(archive: ArrayArchive) -> BoxedLCP:
    index = archive.read("friction_index") if "friction_index" in archive else None
    rule: Any = archive.text("negative_limit") if "negative_limit" in archive else "zero"
    return BoxedLCP(*_affine_in_a_box(archive), friction_index=index, negative_limit=rule, copy=False)


def _read_mcp(archive: ArrayArchive) -> MCP:
    start = archive.read("start") if "start" in archive else None
    return MCP.affine(*_affine_in_a_box(archive), start=start, copy=False)


def _affine_in_a_box(archive: ArrayArchive) -> tuple[Any, ...]:
    return _matrix(archive, "M"), *(archive.read(name) for name in ("q", "lo", "hi"))


def _read_contact(archive: ArrayArchive) -> ContactProblem:
    # older files have the first two columns of the parameters as vectors
    known = "parameters" in archive
    parameters = archive.read("parameters") if known else np.stack([archive.read("a"), archive.read("b")], 1)
    sets = Sets.from_arrays(archive.read("kind"), parameters, archive.read("dimension"))
    relaxed = bool(archive.scalar("relaxed"))
    if "momentum" not in archive:
        return ContactProblem(_matrix(archive, "W"), archive.read("q"), sets, relaxed=relaxed, copy=False)
    return ContactProblem.from_dynamics(
        _matrix(archive, "mass"),
        _matrix(archive, "jacobian"),
        archive.read("momentum"),
        archive.read("bias"),
        sets,
        compliance=archive.read("compliance"),
        relaxed=relaxed,
        copy=False,
    )


def _put_contact(arrays: dict[str, np.ndarray], problem: ContactProblem) -> None:
    sets, dynamics = problem.sets, problem.dynamics
    arrays |= {"kind": sets.kind, "parameters": sets.parameters, "dimension": sets.dimension}
    arrays["relaxed"] = np.array(problem.relaxed)
    if dynamics is None:
        _put_matrix(arrays, "W", problem.W)
        arrays["q"] = problem.q
        return
    _put_matrix(arrays, "mass", dynamics.mass)
    _put_matrix(arrays, "jacobian", dynamics.jacobian)
    arrays |= {"momentum": dynamics.momentum, "bias": dynamics.bias, "compliance": dynamics.compliance}


def _matrix(archive: ArrayArchive, name: str) -> Any:
    if name in archive:
        return archive.read(name)
    shape = archive.read(f"{name}_shape")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise ProblemError(f"{name}_shape is not a pair of sizes")
    parts = (archive.read(f"{name}_{part}") for part in ("indptr", "indices", "data"))
    return compressed(name, (int(shape[0]), int(shape[1])), *parts, by_rows=True)


def _put_matrix(arrays: dict[str, np.ndarray], name: str, matrix: Matrix) -> None:
    if not is_sparse(matrix):
        arrays[name] = np.asarray(matrix)
        return
    for part in ("data", "indices", "indptr"):
        arrays[f"{name}_{part}"] = getattr(matrix, part)
    arrays[f"{name}_shape"] = np.array(matrix.shape, dtype=np.int64)


_READERS: dict[str, Callable[[ArrayArchive], Problem]] = {
    "LCP": _read_lcp,
    "BoxedLCP": _read_boxed,
    "MCP": _read_mcp,
    "ContactProblem": _read_contact,
}
