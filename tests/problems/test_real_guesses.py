"""Residuals of the stored guesses and solutions of real problems, against the NumPy twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
import twins
from files.shared_data import real_files

FILES = real_files("problems/*.npz", "fclib/*.hdf5")


def impulses(path: Path) -> list[np.ndarray]:
    stored = perp.load_guess(path)
    return [stored[name] for name in ("guess_r", "sol_r") if name in stored]


WITH_GUESS = [path for path in FILES if impulses(path)]


@pytest.mark.parametrize("path", WITH_GUESS, ids=lambda path: path.name)
def test_residual_of_stored_answers(path):
    problem = perp.load(path)
    assert isinstance(problem, perp.ContactProblem)
    for impulse in impulses(path):
        ours = perp.residuals(problem, impulse)
        assert ours.value == pytest.approx(twins.contact_residual(problem, impulse), rel=1e-11, abs=1e-14)
        assert ours.literature == pytest.approx(twins.literature(problem, impulse), rel=1e-11, abs=1e-14)


def test_there_are_stored_answers():
    assert len(WITH_GUESS) >= 4


@pytest.mark.parametrize(
    "path", [p for p in FILES if "Rover" in p.name or "OneObject" in p.name], ids=lambda p: p.name
)
def test_units_change_no_status_on_real_problems(path):
    problem = perp.load(path)
    assert isinstance(problem, perp.ContactProblem)
    mass, velocity = 1e6, 1e-3 / 10
    changed = perp.ContactProblem(problem.W / mass, problem.q * velocity, problem.sets)
    before, after = (perp.solve(p, throw=False, max_iterations=3000) for p in (problem, changed))
    assert before.status is after.status
    assert perp.residual(changed, before.z * mass * velocity) == pytest.approx(before.residual, abs=1e-13)
