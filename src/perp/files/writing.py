"""Writes a file whole or not at all: a failed save never destroys an older file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perp.files.reading import PathName, reason
from perp.problems.errors import FileError


@contextmanager
def replacing(path: PathName) -> Iterator[Path]:
    """Yields a new empty file beside `path`, and moves it to `path` when the block ends without an exception.

    Raises:
        FileError: The file cannot be written; whatever was at `path` is still there.
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
