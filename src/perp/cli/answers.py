"""Answers in files: what `perp solve --out` writes, and what `perp residual` and `--start` read.

A file is never trusted: a vector is read only after its header has been found to describe one number per row of the
problem, so that nothing is allocated on a header's word.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from perp.cli.printing import as_json
from perp.problems.errors import FileError

NAMES = ("z", "impulse", "reactions")
"""Under which names an answer's vector is looked for, in this order."""

HEADER_LIMIT = 10_000  # bytes; NumPy itself refuses longer headers


def check_answer_path(path: Path) -> None:
    """Refuse a path that cannot be written before any time is spent on solving."""
    if path.suffix not in (".npz", ".json"):
        raise FileError(
            path, f"an answer is written as .npz or .json, not as {path.suffix or 'a file without suffix'}"
        )
    if not path.parent.is_dir():
        raise FileError(path, f"there is no folder {path.parent}")


def write_answer(answer: dict[str, Any], path: Path) -> None:
    """Write what `--json` prints: as it is (.json), or the vectors as arrays and the rest as text (.npz)."""
    try:
        if path.suffix == ".json":
            path.write_text(as_json(answer), encoding="utf-8")
        else:
            rest = {name: value for name, value in answer.items() if name not in ("z", "w")}
            np.savez(path, z=answer["z"], w=answer["w"], about=np.array(as_json(rest)))
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error


def read_answer(path: Path, size: int) -> np.ndarray:
    """Read the vector z of `size` finite numbers from an .npz, .npy, .json or FCLib .hdf5 file."""
    if not path.is_file():
        raise FileError(path, "is a folder" if path.is_dir() else "no such file")
    readers = {
        ".npz": _from_npz,
        ".npy": _from_npy,
        ".json": _from_json,
        ".hdf5": _from_fclib,
        ".h5": _from_fclib,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileError(path, f"a solution is one of {', '.join(readers)}")
    try:
        z = reader(path, size)
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error
    bad = np.flatnonzero(~np.isfinite(z))
    if bad.size:
        raise FileError(path, f"z[{bad[0]}] = {z[bad[0]]} is not a finite number")
    return z


def _from_npz(path: Path, size: int) -> np.ndarray:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            name = next((name for name in NAMES if f"{name}.npy" in members), None)
            if name is None:
                raise FileError(path, f"holds no array named {', '.join(NAMES)}")
            with archive.open(f"{name}.npy") as stream:
                return _vector(stream.read(HEADER_LIMIT + 8 * size), path, size)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise FileError(path, f"is not a readable .npz file ({error})") from error


def _from_npy(path: Path, size: int) -> np.ndarray:
    with path.open("rb") as stream:
        return _vector(stream.read(HEADER_LIMIT + 8 * size), path, size)


def _vector(data: bytes, path: Path, size: int) -> np.ndarray:
    stream = io.BytesIO(data)
    try:
        major, _ = np.lib.format.read_magic(stream)
        read_header = (
            np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read_header(stream)
    except ValueError as error:
        raise FileError(path, f"holds no NumPy array ({error})") from error
    if dtype.kind not in "fiu":
        raise FileError(path, f"holds values of type {dtype}: numbers are needed")
    if shape not in ((size,), (size, 1), (1, size)):
        raise FileError(path, f"holds an array of shape {shape}: the problem has {size} rows")
    body = data[stream.tell() :]
    if len(body) < size * dtype.itemsize:
        raise FileError(path, f"is cut short: {size} numbers are promised")
    return np.frombuffer(body, dtype=dtype, count=size).astype(np.float64)


def _from_json(path: Path, size: int) -> np.ndarray:
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not readable JSON ({error})") from error
    values = answer if isinstance(answer, list) else None
    if isinstance(answer, dict):
        values = next((answer[name] for name in NAMES if name in answer), None)
    if not isinstance(values, list):
        raise FileError(path, "holds no list of numbers named z")
    if len(values) != size:
        raise FileError(path, f"holds {len(values)} numbers: the problem has {size} rows")
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FileError(path, f"z[{index}] is {json.dumps(value)}: a number is needed")
    return np.array(values, dtype=np.float64)


def _from_fclib(path: Path, size: int) -> np.ndarray:
    raise NotImplementedError
