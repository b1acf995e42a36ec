"""Histories: what is kept of a solve's course, and what the curves of a set are made of."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.bench import rows as table
from perp.bench.history import MOST_POINTS, falling, median_curve, stepwise
from perp.bench.job import Job, run_job
from perp.bench.peers import load_peers
from perp.bench.timing import Timing

CUBE = perp.ContactProblem.coulomb(2.0 * np.eye(3), [-1.0, 0.3, 0.0], 0.1)


def test_only_progress_is_kept() -> None:
    points = [(3.0, 1e-3), (1.0, 1.0), (2.0, 2.0), (4.0, math.nan), (5.0, 1e-3), (6.0, 1e-9)]
    assert falling(points) == [(1.0, 1.0), (3.0, 1e-3), (6.0, 1e-9)]


def test_a_long_history_is_thinned_and_keeps_its_ends() -> None:
    points = [(float(k), 10.0 ** (-k / 100)) for k in range(1000)]
    kept = falling(points)
    assert len(kept) <= MOST_POINTS
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert set(kept) <= set(points)


def test_a_curve_is_the_median_of_what_each_problem_has_reached() -> None:
    times = np.array([1.0, 2.0, 3.0, 4.0])
    histories = [((1.0, 1.0), (2.0, 1e-4)), ((1.0, 0.5), (3.0, 1e-6)), ((4.0, 1e-8),)]
    assert median_curve(histories, 3, times) == pytest.approx([1.0, 0.5, 1e-4, 1e-6])
    # two more problems, not taken: less than half has an answer before the last one has
    assert median_curve(histories, 5, times)[:3].tolist() == [math.inf] * 3
    assert median_curve(histories, 5, times)[3] == pytest.approx(1e-4)


def test_a_solver_that_cannot_be_watched_is_asked_for_coarser_tolerances() -> None:
    asked = []

    def ask(tol: float) -> tuple[Timing, perp.Solution]:
        asked.append(tol)
        return Timing(1e-3, 0.01 / tol), perp.solve(CUBE, "block-gauss-seidel", tol=tol)

    points = stepwise(ask, (1e-1, 1e-2, 1e-3), (0.0005, 1e-12))
    assert asked == [1e-1, 1e-2], "more than a second has gone by"
    assert points[0] == (0.0005, 1e-12)


@pytest.mark.parametrize("solver", ["block-gauss-seidel", "auto", "clarabel"])
def test_a_row_carries_its_history(solver: str, tmp_path: Path) -> None:
    load_peers()
    rng = np.random.default_rng(3)
    J = rng.normal(size=(12, 12))
    problem = perp.ContactProblem.coulomb(J @ J.T, rng.normal(size=12), 0.5)
    row = run_job(Job("set", "problem", problem, None, solver, tol=1e-6, repeat=1))
    assert row.residual is not None
    assert row.solved
    times, residuals = np.array(row.history).T
    assert (np.diff(times) > 0).all()
    assert (np.diff(residuals) < 0).all()
    assert residuals[-1] <= row.residual
    if solver == "block-gauss-seidel":
        assert len(times) > 3
    table.append(tmp_path / table.FILE_NAME, row)
    [again] = table.read(tmp_path / table.FILE_NAME)
    assert np.allclose(again.history, row.history, rtol=1e-2, atol=0)


def test_rows_of_an_older_release_are_read_and_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / table.FILE_NAME
    path.write_text(
        "set,problem,solver,kind,rows,contacts,start,outcome,cpu\ns,p,a,LCP,2,0,cold,solved,0.5\n",
        encoding="utf-8",
    )
    [old] = table.read(path)
    assert (old.cpu, old.history) == (0.5, ())
    table.mend(path)
    assert table.read(path) == [old]
    assert path.read_text(encoding="utf-8").splitlines()[0].endswith(",history")
