"""Problems and answers in files.

| suffix | read | write | holds |
|---|---|---|---|
| `.npz` | yes | yes | perp's own layout: every kind of problem that is plain data |
| `.npz` | yes | no | Siconos problems as plain arrays |
| `.hdf5`, `.h5` | yes | yes | FCLib: contact problems in both forms, rolling friction |
| `.dat` | yes | no | Siconos's text format |

What is in a file decides how it is read; the suffix decides how it is written. Whatever is wrong with a file
is a `FileError` that names it.
"""

import numpy as np

from perp.files.arrays import open_archive
from perp.files.reading import PathName, as_path, read_start, read_text, refusals
from perp.files.solutions import load_solution, save_solution
from perp.problems import FileError, Problem
from perp.problems.validation import vector

__all__ = ["load", "load_guess", "load_solution", "save", "save_solution"]

_ZIP_MAGIC = b"PK"
_FCLIB_SUFFIXES = (".hdf5", ".h5")


def load(path: PathName) -> Problem:
    """Read a problem.

    Args:
        path: A file in any of the formats above, whatever its name.

    Returns:
        An `LCP`, `BoxedLCP`, `MCP` or `ContactProblem`, with the file's numbers bit for bit.

    Raises:
        FileError: The file is missing, truncated, damaged, foreign, too large, or holds no sensible problem.
    """
    from perp.files import fclib, hdf5, npz, siconos_dat, siconos_npz

    start = read_start(path, 8)
    with refusals(path), np.errstate(over="ignore", invalid="ignore"):
        if start.startswith(_ZIP_MAGIC):
            with open_archive(path) as archive:
                layout = npz if "perp_format" in archive else siconos_npz
                return layout.read_problem(archive)
        if start == hdf5.MAGIC:
            return fclib.read_problem(hdf5.read_numbers(path, fclib.GROUPS))
        text = read_text(path)
        if text.lstrip().startswith(b"<"):
            raise FileError(path, "is a scene, not a problem: `perp simulate` and perp.Simulation take it")
        if b"\0" in text[:4096]:
            raise FileError(path, "is not an .npz, FCLib HDF5 or Siconos .dat file")
        return siconos_dat.parse_problem(text)


def save(problem: Problem, path: PathName) -> None:
    """Write a problem so that `load` gives it back bit for bit.

    Args:
        problem: Any problem but a nonlinear MCP.
        path: Ends in `.npz`, or in `.hdf5` or `.h5` for FCLib. An older file is replaced when all has gone
            well, and only then.

    Raises:
        FileError: The suffix is another, the format cannot hold this problem, or the path cannot be written.
    """
    from perp.files import fclib_write, npz

    suffix = as_path(path).suffix.lower()
    if suffix == ".npz":
        npz.write_problem(problem, path)
    elif suffix in _FCLIB_SUFFIXES:
        fclib_write.write_problem(problem, path)
    else:
        raise FileError(path, f"no format that perp writes has the suffix {suffix!r}: use .npz or .hdf5")


def load_guess(path: PathName) -> dict[str, np.ndarray]:
    """The warm start and the stored solution that come with a problem.

    Returns:
        Those that the file has of `guess_r`, `guess_u` (impulses and velocities, in the rows of the problem),
        `guess_v` (velocities of the bodies), and `sol_r`, `sol_u`, `sol_v`. A stored solution whose impulses
        are all zero is left out: many FCLib files have one, and it solves nothing.

    Raises:
        FileError: The file cannot be read.
    """
    from perp.files import fclib, hdf5, siconos_npz

    start = read_start(path, 8)
    vectors: dict[str, np.ndarray] = {}
    with refusals(path):
        if start.startswith(_ZIP_MAGIC):
            with open_archive(path) as archive:
                vectors = siconos_npz.read_guesses(archive)
        elif start == hdf5.MAGIC:
            vectors = fclib.read_guesses(hdf5.read_numbers(path, fclib.GUESSES))
        vectors = {name: vector(name, values) for name, values in vectors.items()}
    solved = "sol_r" in vectors and vectors["sol_r"].any()
    return {name: values for name, values in vectors.items() if solved or not name.startswith("sol")}
