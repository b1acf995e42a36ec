"""`make demo` finds the answers that formulas give, and prints them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import perp

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_box_on_a_slope_moves_as_the_formula_says(demo: ModuleType) -> None:
    rows = demo.slope_rows()
    assert [row.known > 0 for row in rows] == [False, False, False, True, True, True]
    for row in rows:
        assert row.solution.status is perp.Status.SOLVED
        assert row.found == pytest.approx(row.known, abs=1e-8)


def test_each_level_of_a_stack_carries_what_is_above(demo: ModuleType) -> None:
    rows = demo.stack_rows()
    assert [row.known for row in rows] == pytest.approx([98.1, 78.48, 58.86, 39.24, 19.62])
    assert [row.found for row in rows] == pytest.approx([row.known for row in rows], rel=1e-7)


def test_only_the_relaxation_lifts_off(demo: ModuleType) -> None:
    exact, relaxed = demo.lift_off_rows()
    assert exact.found == pytest.approx(0, abs=1e-8)
    assert relaxed.found > 1.0


def test_the_box_stops_where_the_formula_says(demo: ModuleType) -> None:
    for run in demo.slides():
        assert run.found == pytest.approx(run.known, abs=1e-7)
        assert run.known == pytest.approx(36 / 9.81 - 3 * run.step, abs=1e-4)
        assert run.lift < 1e-9
        assert run.residual < 1e-6


def test_lcps_with_and_without_an_answer(demo: ModuleType) -> None:
    *solvable, unsolvable = demo.lcp_rows()
    for row in solvable:
        assert row.solution.status is perp.Status.SOLVED
        assert row.error < 1e-12
    assert unsolvable.solution.status is not perp.Status.SOLVED


def test_gravity_alone_moves_a_box_whose_contacts_are_ignored(demo: ModuleType) -> None:
    problem = demo.stack(1, slope=30)
    free = problem.q.reshape(4, 3)
    expected = demo.STEP * demo.GRAVITY * np.array([-np.cos(np.radians(30)), np.sin(np.radians(30)), 0])
    assert np.allclose(free, expected)


def test_the_demo_prints_every_table(demo: ModuleType, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    demo.main()
    printed = capsys.readouterr().out
    for words in (
        "slope",
        "Five boxes",
        "lift off",
        "Where does it stop",
        "Linear complementarity",
        "SOLVED",
        "problems and 2 runs in",
    ):
        assert words in printed
    assert "…" not in printed  # nothing is cut off at 80 columns
    assert "Traceback" not in printed
