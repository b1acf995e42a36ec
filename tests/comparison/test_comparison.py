"""The table: verdicts by residual alone, vendors that crash or hang, published digits, and the ways to print it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.comparison.cells import COLUMNS, ROWS, Cell, table_cells
from perp.comparison.figure import draw
from perp.comparison.published import published
from perp.comparison.report import Comparison, as_csv, as_markdown, remarks
from perp.comparison.running import run_cells
from perp.comparison.verdict import CellResult, Limits, Verdict, judge, run_cell, totals
from perp.models.box_on_slope import box_on_slope
from perp.problems import Status
from perp.solvers import registry

OURS = table_cells(rows=["perp"])
SETTINGS = 1e-3, Limits(time_limit=600.0)


def test_our_cells_are_exact_where_the_block_sticks_and_part_where_it_slides() -> None:
    sticking = {
        r.cell.column: r for r in (run_cell(c, box_on_slope(angle=25.0).problem, *SETTINGS) for c in OURS)
    }
    assert {r.verdict for r in sticking.values()} == {Verdict.EXACT}
    for result in sticking.values():
        assert result.normal == pytest.approx(8.890879391, abs=1e-9)
        assert result.tangential == pytest.approx(4.145885148, abs=1e-9)
    sliding = box_on_slope(angle=25.0, mu=0.3).problem
    verdicts = {r.cell.column: r.verdict for r in (run_cell(c, sliding, *SETTINGS) for c in OURS)}
    assert verdicts["dual"] is Verdict.RELAXED
    assert verdicts["primal"] is verdicts["equations of motion"] is Verdict.EXACT


@pytest.mark.parametrize(
    ("status", "expected"), [(Status.INACCURATE, Verdict.WRONG), (Status.STALLED, Verdict.FAILED)]
)
def test_a_wrong_answer_is_wrong_when_claimed_and_failed_when_admitted(
    status: Status, expected: Verdict
) -> None:
    problem = box_on_slope(angle=25.0).problem
    z = np.full(12, 1e-3)
    solution = perp.ContactSolution(
        problem, z, problem.evaluate(z), status, perp.residual(problem, z), 1e-8, 1, "someone"
    )
    assert judge(problem, solution, 1e-6) is expected


def test_totals_take_contacts_only() -> None:
    problem = perp.ContactProblem(
        np.eye(6), -np.ones(6), [perp.Free(), perp.Nonnegative(), perp.Box(-1, 1), perp.Coulomb(0.5)]
    )
    assert totals(problem, np.array([9.0, 1.0, 9.0, 2.0, 3.0, 4.0])) == (3.0, 5.0)


def test_cells_run_in_processes_and_a_missing_solver_is_a_row() -> None:
    cells = [*table_cells(rows=["perp", "gams-lindo"])]
    seen: list[CellResult] = []
    results = run_cells(cells, box_on_slope().problem, step=1e-3, workers=1, done=seen.append)
    assert [r.cell for r in results] == cells
    assert len(seen) == len(cells)
    assert {r.verdict for r in results if r.cell.row == "perp"} == {Verdict.EXACT}
    assert {r.verdict for r in results if r.cell.row == "gams-lindo"} == {Verdict.NOT_INSTALLED}


@pytest.mark.parametrize(
    ("body", "limit", "words"),
    [
        ("import os; os.abort()", 600.0, "signal 6"),
        ("import time\n    while True: time.sleep(60)", 1.0, "no answer within"),
    ],
)
def test_a_solver_that_crashes_or_hangs_is_a_failed_cell(
    body: str, limit: float, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = tmp_path / "rough"
    family.mkdir()
    (family / "__init__.py").write_text('"""Solvers that misbehave."""')
    (family / "misbehave.py").write_text(
        "from perp.problems import ContactProblem\nfrom perp.solvers import register\n"
        "@register('misbehave', takes=ContactProblem, summary='')\n"
        f"def misbehave(problem, control, options):\n    {body}\n"
    )
    startup = tmp_path / "sitecustomize.py"
    startup.write_text(f"import perp.solvers\nperp.solvers.__path__.append({str(tmp_path)!r})\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("perp.comparison.running.GRACE", 1.0)
    from perp.solvers import registry

    registry.register("misbehave", takes=perp.ContactProblem, summary="")(
        lambda problem, control, options: None
    )  # type: ignore[arg-type,return-value]
    try:
        cells = [Cell("misbehave", "dual", "misbehave", None), OURS[0]]  # type: ignore[arg-type]
        results = run_cells(cells, box_on_slope().problem, Limits(time_limit=limit), step=1e-3, workers=1)
    finally:
        registry.unregister("misbehave")
    assert results[0].verdict is Verdict.FAILED
    assert words in results[0].message
    assert results[1].verdict is Verdict.EXACT


def test_the_published_table_is_stored_as_it_was_printed() -> None:
    cells = {(cell.row, cell.column): cell for cell in table_cells()}
    assert published(cells["gams-ipopt", "dual nlp"], 0.0, "normal") == 9.81004453
    assert published(cells["gams-pathnlp", "dual nlp"], 0.0, "normal") == 9.809653585
    assert published(cells["gams-knitro", "primal"], 25.0, "tangential") == 3.742626642
    assert published(cells["gams-lindo", "dual"], 25.0, "normal") == 35.56570555
    assert published(cells["gams-miles", "equations of motion"], 25.0, "normal") == 8.890880015
    assert published(cells["clarabel", "dual"], 25.0, "normal") is None
    assert published(cells["gams-ipopt", "dual nlp"], 10.0, "normal") is None


def test_every_cell_of_the_published_table_has_its_place_in_ours() -> None:
    cells = [cell for cell in table_cells() if published(cell, 25.0, "normal") is not None]
    assert len(cells) == 4 * 4 + 3 * 2 + 2 + 1 + 1
    assert set(ROWS) >= {cell.row for cell in cells}


def test_markdown_and_csv_hold_every_cell_with_its_verdict() -> None:
    cells = table_cells(rows=["perp", "gams-lindo"])
    results = [CellResult(cell, Verdict.EXACT, 9.81, 0.0, 1e-15, 0.001, 3) for cell in cells]
    results[-1] = CellResult(cells[-1], Verdict.NOT_INSTALLED, message="cannot be had")
    comparison = Comparison("box", results, 0.0)
    text = as_markdown([comparison], show_published=True)
    assert text.count("### ") == 2
    assert "9.810000000<br>1e-15 exact" in text
    assert "2014: 39.240480970" in text
    assert "cannot be had" in remarks(comparison)[0]
    rows = list(csv.DictReader(io.StringIO(as_csv([comparison]))))
    assert len(rows) == len(cells)
    assert rows[0]["verdict"] == "exact"
    assert {row["column"] for row in rows} <= set(COLUMNS)


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    results = [CellResult(cell, Verdict.EXACT, 9.81, 0.0, 0.0, 0.001, 3) for cell in OURS]
    draw([Comparison("box", results)], tmp_path / "figure.png", accept=1e-6)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_models_for_gams_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from perp.cli import main

    assert main(["compare", "box-on-slope", "--angle", "25", "--export", str(tmp_path / "models")]) == 0
    assert "models written" in capsys.readouterr().out
    files = sorted(file.name for file in (tmp_path / "models").iterdir())
    gams = [cell for cell in table_cells() if cell.row.startswith("gams-")]
    assert len(files) == len(gams)
    assert "box-on-slope-at-25-gams-path-dual-nlp.gms" in files
    assert "box-on-slope-at-25-gams-lindo-primal.gms" in files
    text = (tmp_path / "models" / "box-on-slope-at-25-gams-reshop-equations-of-motion.gms").read_text()
    assert text.startswith("* box-on-slope at 25°")
    assert "solve contact using emp;" in text
    qcp = (tmp_path / "models" / "box-on-slope-at-25-gams-conopt-dual.gms").read_text()
    assert "solve contact using qcp minimizing cost;" in qcp
    assert "option qcp = conopt4;" in qcp
    # without its option file CPLEX's default barrier gives 23.7 N for a box of 9.81 N at rest
    cplex = (tmp_path / "models" / "box-on-slope-at-25-gams-cplex-primal.gms").read_text()
    assert "$onecho > cplex.opt\nbarqcpepcomp 1e-9\nbarepcomp 1e-9\nbaralg 3\n$offecho\n" in cplex
    assert "contact.optfile = 1;\nsolve contact using qcp" in cplex


def test_export_of_rows_without_gams(tmp_path: Path) -> None:
    from perp.cli import main

    assert main(["compare", "box-on-slope", "--solver", "clarabel", "--export", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize("angle", [0.0, 25.0])
@pytest.mark.parametrize("row", ["gams-path", "gams-miles"])
def test_nlp_through_path_and_miles(row: str, angle: float) -> None:
    """The conditions of the dual NLP as an MCP: the two YES of the published list without a published number."""
    reason = registry.find(row).reason
    if reason is not None:
        pytest.skip(reason)
    model = box_on_slope(angle=angle)
    solution = perp.solve(model.problem, row, formulation="dual", tol=1e-9, throw=False)
    assert solution.residual <= 1e-9
    assert solution.z[::3].sum() / model.step == pytest.approx(9.81 * np.cos(np.deg2rad(angle)), rel=1e-9)


def test_cplex_at_rest() -> None:
    """Its default barrier hands out its first point here: 23.68 N for a block that weighs 9.81 N."""
    reason = registry.find("gams-cplex").reason
    if reason is not None:
        pytest.skip(reason)
    model = box_on_slope(angle=0.0)
    solution = perp.solve(model.problem, "gams-cplex", formulation="primal", tol=1e-9)
    assert solution.z[::3].sum() / model.step == pytest.approx(9.81, rel=1e-9)
