"""What a refused file has to look like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import perp


@contextmanager
def refusal(path: Path, message: str = "") -> Iterator[None]:
    """The block raises a FileError that names the file and whose message, apart from the name, matches."""
    with pytest.raises(perp.FileError) as error:
        yield
    assert error.value.path == str(path)
    assert str(error.value) == f"{path}: {error.value.message}"
    assert re.search(message, error.value.message), error.value.message
