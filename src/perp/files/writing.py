"""Checks outputs before the work; writes a file whole or not at all: a failed save keeps the older file."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perp.files.reading import PathName, reason
from perp.problems.errors import FileError

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def check_writable(path: Path, suffixes: tuple[str, ...], what: str) -> None:
    """Refuse a path that cannot be written before any time is spent on what goes there."""
    if path.suffix.lower() not in suffixes:
        raise FileError(path, f"{what} is written to one of {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise FileError(path, f"there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(path, "is a directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FileError(path, "may not be written")


@contextmanager
def replacing(path: PathName) -> Iterator[Path]:
    """Yields a new empty file beside `path`, and moves it to `path` when the block ends without an exception.

    Where the file cannot be written, whatever was at `path` is still there.
    """
    temporary = None
    try:
        target = Path(os.path.realpath(path))  # a symbolic link stays one: what it points to is replaced
        if target.is_dir():
            raise FileError(path, "is a directory")
        name = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        # os.open applies the user's umask, which tempfile does not; O_EXCL never follows a planted link.
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        temporary = name
        yield temporary
        _flush(temporary)
        temporary.replace(target)
        temporary = None
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be written: {reason(error)}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Put the file's bytes on the disk before its name: a crash in between leaves the old file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
