"""Answers in files: everything in `.npz` and `.json`, the vector alone in `.npy`, `.txt` and `.csv`."""

import json
from typing import Any

import numpy as np

from perp.files.arrays import NPY_MAGIC, open_archive, read_npy, write_archive
from perp.files.dat_words import numbers
from perp.files.reading import (
    Budget,
    PathName,
    as_path,
    open_regular,
    read_start,
    read_text,
    reason,
    refusals,
)
from perp.files.writing import replacing
from perp.problems import ContactSolution, FileError, ProblemError, Solution
from perp.problems.validation import check_finite

# What the vector is called, in the order in which it is looked for.
_NAMES = ("impulse", "z", "r", "sol_r")
_TEXT = (".txt", ".csv")
_SUFFIXES = (".npz", ".json", ".npy", *_TEXT)


def save_solution(solution: Solution, path: PathName) -> None:
    """Write an answer; the suffix decides the format.

    `.npz` and `.json` hold z and w (`impulse` and `velocity` of a contact problem) with status, residual,
    tolerance, iterations, solver, formulation and times; `.npy`, `.txt` and `.csv` hold z alone.
    """
    suffix = as_path(path).suffix.lower()
    if suffix == ".npz":
        fields = {name: np.asarray(value) for name, value in _fields(solution).items()}
        write_archive(path, fields)
    elif suffix == ".json":
        _write_json(_fields(solution), path)
    elif suffix == ".npy":
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, solution.z, allow_pickle=False)
    elif suffix in _TEXT:
        with replacing(path) as temporary:
            temporary.write_text("".join(f"{value!r}\n" for value in solution.z.tolist()))
    else:
        raise FileError(path, f"no format for answers has the suffix {suffix!r}: use {', '.join(_SUFFIXES)}")


def load_solution(path: PathName) -> np.ndarray:
    """The vector z (impulses of a contact problem) of an answer, shape (n,).

    Read from what `save_solution` and `perp solve --json` write, from the `r` of an FCLib file's solution,
    and from vectors in `.npy` or text, separated by white space, commas or semicolons.
    """
    start = read_start(path, 8)
    with refusals(path):
        vector = _read(path, start)
        if vector.ndim != 1 or vector.dtype.kind not in "iuf":
            raise FileError(path, f"holds an array of shape {vector.shape}: a vector of numbers is needed")
        check_finite("z", vector)
    return vector.astype(np.float64)


def _read(path: PathName, start: bytes) -> np.ndarray:
    from perp.files import fclib, hdf5

    if start.startswith(NPY_MAGIC):
        with open_regular(path) as (handle, size):
            return read_npy(path, handle, "the array", size, Budget(path, size))
    if start.startswith(b"PK"):
        with open_archive(path) as archive:
            return archive.read(_choose(path, archive.names))
    if start.startswith(hdf5.MAGIC):
        vectors = fclib.read_guesses(hdf5.read_numbers(path, fclib.GUESSES))
        return vectors[_choose(path, set(vectors))]
    text = read_text(path)
    if start.lstrip()[:1] in (b"{", b"["):
        return _parse_json(path, text)
    try:
        return numbers(text.replace(b",", b" ").replace(b";", b" ").split(), "the vector")
    except ProblemError as error:
        raise FileError(path, f"is neither an answer of perp nor a vector: {error}") from None


def _choose(path: PathName, names: set[str]) -> str:
    name = next((name for name in _NAMES if name in names), None)
    if name is None:
        raise FileError(path, f"has no {', '.join(_NAMES[:-1])} or {_NAMES[-1]}")
    return name


def _parse_json(path: PathName, text: bytes) -> np.ndarray:
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not valid JSON: {reason(error)}") from None
    values = data[_choose(path, set(data))] if isinstance(data, dict) else data
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise FileError(path, "holds something other than a list of numbers")
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise FileError(path, "holds a whole number that is too large") from None


def _fields(solution: Solution) -> dict[str, Any]:
    z, w = ("impulse", "velocity") if isinstance(solution, ContactSolution) else ("z", "w")
    return {
        z: solution.z,
        w: solution.w,
        "status": solution.status.name,
        "residual": solution.residual,
        "tolerance": solution.tolerance,
        "iterations": solution.iterations,
        "solver": solution.solver,
        "formulation": solution.formulation or "",
        "build_time": solution.build_time,
        "solve_time": solution.solve_time,
        "message": solution.message,
    }


def _write_json(fields: dict[str, Any], path: PathName) -> None:
    """JSON has no infinities and no NaN: an answer that has them cannot be written."""
    try:
        text = json.dumps(fields, default=lambda value: value.tolist(), allow_nan=False, indent=1)
    except ValueError:
        raise FileError(path, "JSON cannot hold an answer that is not finite: use .npz") from None
    with replacing(path) as temporary:
        temporary.write_text(text + "\n")
