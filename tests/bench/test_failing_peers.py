"""A peer that cannot start, crashes or is killed is an error with its message, never a solver that fails."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import perp
from perp.bench.job import Job, run_job
from perp.bench.peers import siconos
from perp.bench.rows import Outcome
from perp.comparison.processes import WorkerLost, WorkerProcess

ROOT = Path(__file__).parents[2]
CONTACT = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5)


def interpreter(folder: Path, body: str) -> str:
    """A program in the place of the interpreter that has the peer."""
    path = folder / "peer"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def friction(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("friction")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo \"ModuleNotFoundError: No module named 'siconos'\" >&2; exit 1", "No module named 'siconos'"),
        ("kill -9 $$", "SIGKILL"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("exit 0", "it said nothing"),
    ],
)
def test_a_peer_that_fails_ends_the_friction_benchmark(
    body: str, words: str, friction: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in ("one", "two"):
        CONTACT.save(tmp_path / f"fc3d__{name}.npz")
    python, cache = interpreter(tmp_path, body), tmp_path / "times.csv"
    monkeypatch.setattr(friction, "cpu_time", lambda problem: (1e-6, perp.solve(problem)))
    monkeypatch.setattr(
        sys, "argv", ["friction.py", str(tmp_path), "--siconos", python, "--cache", str(cache)]
    )
    assert friction.main() == 1
    out, err = capsys.readouterr()
    assert err.count("a peer failed") == 1
    assert words in err
    # nothing is summed up, and no figure is kept: neither what failed nor what came after it
    assert not out
    assert not cache.exists()


def test_a_solver_that_uses_up_its_time_is_none_that_failed(friction: ModuleType, tmp_path: Path) -> None:
    assert friction.siconos(interpreter(tmp_path, "kill -XCPU $$"), tmp_path, "ADMM") == (None, np.inf)
    answer = interpreter(tmp_path, "echo '[0.5, 1e-9]'")
    assert friction.siconos(answer, tmp_path, "ADMM") == [0.5, 1e-9]
    with pytest.raises(friction.PeerFailed, match="cannot be started"):
        friction.siconos(str(tmp_path / "nowhere"), tmp_path, "ADMM")


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    python = interpreter(tmp_path, "echo 'ImportError: libsiconos.so' >&2; exit 3")
    with (
        WorkerProcess([python]) as worker,
        pytest.raises(WorkerLost, match=r"exit code 3\): ImportError: lib"),
    ):
        worker.ask({}, 60.0)


def test_the_harness_has_a_row_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = interpreter(tmp_path, "echo \"ModuleNotFoundError: No module named 'scipy'\" >&2; exit 1")
    monkeypatch.setenv(siconos.VARIABLE, python)
    monkeypatch.setattr(siconos, "_worker", None)
    monkeypatch.setattr(siconos, "_version", lambda python: "4.4")
    row = run_job(Job("one", "contact", CONTACT, None, "siconos-nsgs", time_limit=600.0))
    assert row.outcome is Outcome.CRASHED
    assert "No module named 'scipy'" in row.message
    assert row.wall is None
