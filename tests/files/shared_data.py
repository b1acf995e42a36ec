"""Real problems: those in tests/data, and more of them where `../shared/data` lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
OWN = Path(__file__).resolve().parents[1] / "data"


def real_files(*patterns: str) -> list[Path]:
    """The files that match, each name once: patterns such as `problems/lcp__*.npz` or `fclib/*.hdf5`."""
    found = {path.name: path for base in (OWN, FOLDER) for pattern in patterns for path in base.glob(pattern)}
    return [found[name] for name in sorted(found)]


def shared_files(*patterns: str) -> list:
    """The same as test parameters with readable names."""
    found = real_files(*patterns)
    assert found, f"nothing in tests/data matches {patterns}"
    return [pytest.param(path, id=path.stem) for path in found]


def shared_file(name: str) -> Path:
    """One file; skips the test where it does not exist."""
    for base in (OWN, FOLDER):
        if (base / name).exists():
            return base / name
    pytest.skip(f"no {name} in ../shared/data")
