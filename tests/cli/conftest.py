"""Problems in files, and the command run in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perp
from perp.cli import main


@dataclass(frozen=True)
class Outcome:
    """What one run of the command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The output as strict JSON: NaN and Infinity are refused."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)

    def assert_refused(self, *words: str) -> None:
        """Exit code 2, nothing on stdout, and one line on stderr that has these words."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.startswith("perp: ")
        assert self.err.count("\n") == 1
        for word in words:
            assert word in self.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*words: object) -> Outcome:
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def lcp(tmp_path: Path) -> Path:
    """An LCP with z = (4/3, 7/3)."""
    path = tmp_path / "lcp.npz"
    perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]).save(path)
    return path


@pytest.fixture
def unsolvable(tmp_path: Path) -> Path:
    path = tmp_path / "unsolvable.npz"
    perp.LCP([[-1.0]], [-1.0]).save(path)
    return path


@pytest.fixture
def contact(tmp_path: Path) -> Path:
    """Decoupled: a contact that sticks, one that slides, and a box inside its limits."""
    path = tmp_path / "contact.npz"
    q = np.array([-1.0, 0.2, 0.0, -1.0, 2.0, 0.0, -3.0])
    perp.ContactProblem(np.eye(7), q, [perp.Coulomb(0.5), perp.Coulomb(0.5), perp.Box(-1.0, 4.0)]).save(path)
    return path
