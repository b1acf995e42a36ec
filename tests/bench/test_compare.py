"""`perp bench compare`: what was lost, won, and how times changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perp.bench import rows as table
from perp.bench.compare import compare
from perp.bench.rows import Outcome, Row
from perp.cli import main

SOLVED = Row("s", "p", "a", "LCP", 2, 0, "cold", Outcome.SOLVED, claimed=True, cpu=0.001, residual=1e-12)
FAILED = replace(SOLVED, outcome=Outcome.UNSOLVED, claimed=False)


def rows(*outcomes: Row) -> list[Row]:
    return [replace(row, problem=f"p{k}") for k, row in enumerate(outcomes)]


def test_what_both_have_is_compared() -> None:
    lie = replace(SOLVED, outcome=Outcome.FALSE_CLAIM)
    old = rows(SOLVED, SOLVED, FAILED, FAILED, SOLVED)
    new = rows(replace(SOLVED, cpu=0.003), FAILED, SOLVED, lie)
    result = compare(old, new)
    [change] = result.changes
    assert (change.problems, change.solved_old, change.solved_new) == (4, 2, 2)
    assert (change.false_old, change.false_new) == (0, 1)
    assert change.ratio == pytest.approx(3.0)
    assert [now.problem for _, now in result.lost] == ["p1"]
    assert [now.problem for _, now in result.won] == ["p2"]


def test_the_command_says_what_was_lost(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for name, listed in (("old", rows(SOLVED, SOLVED)), ("new", rows(SOLVED, FAILED))):
        (tmp_path / name).mkdir()
        for row in listed:
            table.append(tmp_path / name / table.FILE_NAME, row)
    assert main(["bench", "compare", str(tmp_path / "old"), str(tmp_path / "new")]) == 1
    assert "lost: s p1 a: solved → not solved" in capsys.readouterr().out
    assert main(["bench", "compare", str(tmp_path / "new"), str(tmp_path / "old")]) == 0
    assert "won: s p1 a" in capsys.readouterr().out


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / table.FILE_NAME
    strange = replace(
        FAILED,
        problem="other",
        message='a "quoted", line',
        residual=float("inf"),
        iterations=None,
        memory=0.1,
    )
    for row in (SOLVED, strange):
        table.append(path, row)
    assert table.read(path) == [SOLVED, strange]
    path.write_text(path.read_text(encoding="utf-8") + "s,p", encoding="utf-8")
    table.mend(path)
    assert table.read(path) == [SOLVED, strange]
    table.append(path, FAILED)
    assert table.read(path) == [SOLVED, strange], "the first row of a job counts"


def test_a_foreign_table_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / table.FILE_NAME).write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["bench", "report", str(tmp_path)]) == 2
    assert "columns" in capsys.readouterr().err
