"""Opens files that may be missing, foreign, oversized or hostile: only `FileError` comes out.

Two rules keep a hostile file from taking the machine's memory. Nothing is allocated for what a header merely
claims: a claim is first compared with the bytes that are really there. And what a file may expand to is
limited by a `Budget`.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from perp.problems.errors import FileError, ProblemError

PathName: TypeAlias = str | os.PathLike[str]

MIB = 2**20
# A dense problem of 16,000 rows, or a sparse one with 170 million entries, takes this much.
MAX_BYTES = 2048 * MIB
# A word of text takes up to fifteen times its own size while it is being read.
MAX_TEXT_BYTES = 256 * MIB
# Compressed arrays of real problems shrink two to thirty times; small files may expand up to the floor.
_EXPANSION = 32
_EXPANSION_FLOOR = 256 * MIB


class Budget:
    """How many bytes of arrays one file may still put into memory."""

    def __init__(self, path: PathName, file_size: int) -> None:
        self.path = path
        self.file_size = file_size
        self.left = min(MAX_BYTES, max(_EXPANSION_FLOOR, _EXPANSION * file_size))

    def spend(self, size: int, name: str) -> None:
        """Take `size` bytes for the array called `name`; refused where the file would expand too far."""
        if size > self.left:
            raise FileError(
                self.path,
                f"{name} would take {size} bytes of memory, too many for a file of {self.file_size} bytes",
            )
        self.left -= size


def as_path(path: PathName) -> Path:
    """A path that somebody gave, if it is one."""
    try:
        return Path(path)
    except TypeError:
        raise FileError(repr(path), f"is not a path but of type {type(path).__name__}") from None


@contextmanager
def open_regular(path: PathName) -> Iterator[tuple[BinaryIO, int]]:
    """Open an ordinary file, no directory, pipe or device, for reading, with its size in bytes."""
    try:
        # Asked before opening: to open a pipe would wait for a writer, and a device has no end.
        mode = as_path(path).stat().st_mode
        if not stat.S_ISREG(mode):
            raise FileError(path, "is a directory" if stat.S_ISDIR(mode) else "is not an ordinary file")
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise FileError(path, "does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise FileError(path, f"cannot be opened: {reason(error)}") from None
    with os.fdopen(descriptor, "rb") as handle:
        yield handle, os.fstat(descriptor).st_size


def read_start(path: PathName, size: int) -> bytes:
    """The first `size` bytes of a file, fewer when it is shorter."""
    with open_regular(path) as (handle, _), refusals(path):
        return handle.read(size)


def read_text(path: PathName) -> bytes:
    """The whole of a text file that is no larger than text is allowed to be."""
    with open_regular(path) as (handle, size), refusals(path):
        if size > MAX_TEXT_BYTES:
            raise FileError(path, f"has {size} bytes: at most {MAX_TEXT_BYTES} are read as text")
        return handle.read(size)


@contextmanager
def refusals(path: PathName) -> Iterator[None]:
    """Turns what goes wrong while a file's content is used into a `FileError` that names the file.

    A `ProblemError` here means that the file's data make no sense as a problem.
    """
    try:
        yield
    except ProblemError as error:
        raise FileError(path, str(error)) from error
    except MemoryError:
        raise FileError(path, "needs more memory than there is") from None
    except OSError as error:
        raise FileError(path, f"cannot be read: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What an exception says, on one line, without the path that the caller adds anyway."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split()) or type(error).__name__
