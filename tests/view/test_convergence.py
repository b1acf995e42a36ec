"""Residual against time for all solvers of a problem."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.view.convergence import convergence_runs, plot_convergence


def test_every_contact_solver_has_a_history_and_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    J = np.random.default_rng(0).normal(size=(9, 12))
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ np.ones(12), 0.5)
    runs = convergence_runs(problem, ["auto", "newton", "block-gauss-seidel", "proximal-point"])
    for solution in runs.values():
        assert solution.solved
        assert solution.history is not None
        assert solution.history.residuals[-1] <= 1e-8
    picture = tmp_path / "convergence.png"
    plot_convergence(runs, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
