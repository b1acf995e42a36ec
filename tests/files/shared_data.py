"""The real problems that lie beside the repository, where they exist."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared_files(*patterns: str) -> list:
    """The files that match, as test parameters; one skipped parameter where there are none."""
    found = sorted(path for pattern in patterns for path in FOLDER.glob(pattern))
    if not found:
        skip = pytest.mark.skip(reason=f"no {', '.join(patterns)} in ../shared/data")
        return [pytest.param(Path(), marks=skip)]
    return [pytest.param(path, id=path.stem) for path in found]


def shared_file(name: str) -> Path:
    """One file; skips the test where it does not exist."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no {name} in ../shared/data")
    return path
