"""What a command may write to."""

from __future__ import annotations

import os
from pathlib import Path

from perp.problems.errors import FileError

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def check_writable(path: Path, suffixes: tuple[str, ...], what: str) -> None:
    """Refuse a path that cannot be written before any time is spent on solving."""
    if path.suffix.lower() not in suffixes:
        raise FileError(path, f"{what} is written to one of {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise FileError(path, f"there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(path, "is a directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FileError(path, "may not be written")
