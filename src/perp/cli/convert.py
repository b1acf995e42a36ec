"""`perp convert IN OUT`: the same problem in another file format."""

from pathlib import Path

import perp
from perp.cli.describe import problem_facts, problem_words
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_line
from perp.cli.progress import progress
from perp.problems.errors import FileError


def convert(source: Path, target: Path, /) -> int:
    """Read the problem in SOURCE and write it to TARGET; the suffix decides the format.

    Args:
        source: An FCLib .hdf5, .npz or Siconos .dat file.
        target: An .hdf5 file (FCLib) or an .npz file.
    """
    if target.exists() and source.exists() and source.samefile(target):
        raise FileError(target, "source and target are the same file")
    with progress(f"Reading {source}"):
        problem = perp.load(source)
    with progress(f"Writing {target}"):
        problem.save(target)
    print_line(f"Wrote {target}: {problem_words(problem_facts(problem, source))}")
    return ExitCode.SOLVED
