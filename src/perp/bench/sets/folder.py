"""Problems in the files of a folder: FCLib, Siconos's, perp's own."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perp.bench.sets.base import NamedProblem
from perp.files import load, load_guess
from perp.problems import ContactProblem, FileError

SUFFIXES = (".hdf5", ".h5", ".npz", ".dat")


@dataclass
class FolderSet:
    """Every file of a folder, and of the folders below it, whose name fits a pattern."""

    path: Path
    name: str = ""  # what the set is called; the folder's own name by default
    patterns: tuple[str, ...] = ("*",)  # which files belong to the set
    suffixes: tuple[str, ...] = SUFFIXES
    relaxed: bool = False  # whether the convex relaxation of each contact problem is taken in its place
    guesses: bool = False  # whether files with a guess are started from it
    # files that hold no problem, with the reason, once `problems` has been through
    unreadable: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        self.name = self.name or self.path.resolve().name

    def files(self) -> list[Path]:
        """The files, in order of their names."""
        if not self.path.is_dir():
            raise FileError(self.path, "is not a folder")
        found = {
            file
            for pattern in self.patterns
            for file in self.path.rglob(pattern)
            if file.suffix.lower() in self.suffixes and file.is_file()
        }
        if not found:
            wanted = " or ".join(self.patterns)
            raise FileError(
                self.path, f"has no file called {wanted} that ends in {' or '.join(self.suffixes)}"
            )
        return sorted(found)

    def problems(self) -> Iterator[NamedProblem]:
        """Each file's problem under the file's name; files that cannot be read are noted and passed over."""
        self.unreadable.clear()
        for file in self.files():
            name = file.relative_to(self.path).as_posix()
            try:
                problem = load(file)
                guess = load_guess(file).get("guess_r") if self.guesses else None
            except FileError as error:
                self.unreadable[name] = error.message
                continue
            if self.relaxed:
                if not isinstance(problem, ContactProblem):
                    continue
                problem = problem.as_relaxed()
            if self.guesses and (guess is None or guess.shape != (problem.size,)):
                continue
            yield NamedProblem(name, problem, guess)
