"""Looking on while a problem is solved."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.solvers.watching import Progress


def problem() -> perp.ContactProblem:
    random = np.random.default_rng(3)
    J = random.normal(size=(30, 12))
    return perp.ContactProblem.coulomb(J @ J.T, random.normal(size=30), 0.4)


def test_a_callback_is_told_what_the_history_keeps() -> None:
    seen: list[Progress] = []
    watched = perp.solve(problem(), "block-gauss-seidel", throw=False, callback=seen.append)
    kept = perp.solve(problem(), "block-gauss-seidel", throw=False, history=True)
    assert watched.history is None
    assert kept.history is not None
    assert [each.residual for each in seen[:-1]] == list(kept.history.residuals)
    assert [each.iteration for each in seen[:-1]] == list(kept.history.iterations)
    assert seen[-1] == Progress(
        "block-gauss-seidel", watched.iterations, watched.solve_time, watched.residual, done=True
    )
    assert np.array_equal(watched.z, kept.z)


def test_auto_tells_which_algorithm_is_at_work(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Progress] = []
    solution = perp.solve(problem(), throw=False, callback=seen.append, verbose=True)
    names = {each.solver for each in seen}
    assert "auto" not in names
    assert solution.solver in names
    assert all(name in [info.name for info in perp.solvers()] for name in names)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(seen[0].solver)
    assert lines[-1] == str(seen[-1])  # the answer, however quick it was


def test_a_solver_without_iterations_tells_its_end() -> None:
    seen: list[Progress] = []
    perp.solve(perp.LCP([[2.0]], [-1.0]), "lemke", callback=seen.append)
    assert seen[-1].residual <= 1e-8


def test_an_exception_of_the_callback_ends_the_solve() -> None:
    def enough(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perp.solve(problem(), callback=enough)
    with pytest.raises(perp.ProblemError, match="callback is of type int"):
        perp.solve(problem(), callback=3)  # type: ignore[arg-type]
