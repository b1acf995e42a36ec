"""`perp compare`: formats, files, and one line for bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.cli import main


def run(capsys: pytest.CaptureFixture, *words: str) -> tuple[int, str, str]:
    code = main(["compare", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_two_angles_give_two_pairs_of_tables(capsys: pytest.CaptureFixture) -> None:
    code, out, err = run(capsys, "box-on-slope", "--angle", "0", "--angle", "25", "--solver", "perp")
    assert code == 0, err
    for words in (
        "at 0°: normal force [N]",
        "at 25°: tangential force [N]",
        "9.810000000",
        "8.890879391",
        "4.145885148",
    ):
        assert words in out
    assert "exact" in out
    assert err == ""


def test_sliding_in_json_and_csv(capsys: pytest.CaptureFixture) -> None:
    words = ("box-on-slope", "--angle", "25", "--mu", "0.3", "--solver", "perp")
    code, out, _ = run(capsys, *words, "--format", "json")
    assert code == 0
    cells = {cell["column"]: cell for cell in json.loads(out)}
    assert cells["dual"]["verdict"] == "relaxed answer"
    assert cells["dual"]["normal"] == pytest.approx(9.297839, abs=1e-6)
    assert cells["primal"]["tangential"] == pytest.approx(2.667263817, abs=1e-8)
    code, out, _ = run(capsys, *words, "--format", "csv")
    assert {row["row"] for row in csv.DictReader(io.StringIO(out))} == {"perp"}


def test_published_digits_beside_ours_in_markdown(capsys: pytest.CaptureFixture) -> None:
    code, out, _ = run(
        capsys,
        "box-on-slope",
        "--angle",
        "25",
        "--solver",
        "gams-lindo",
        "--published",
        "--format",
        "markdown",
    )
    assert code == 0
    assert "not installed<br>2014: 35.565705550" in out


def test_a_saved_problem_is_compared_in_impulses(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    path = tmp_path / "contact.npz"
    perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5).save(path)
    code, out, err = run(capsys, str(path), "--solver", "perp", "--plot", str(tmp_path / "figure.svg"))
    assert code == 0, err
    assert "[N·s]" in out
    assert "1.000000000" in out
    assert (tmp_path / "figure.svg").stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["box-on-mars"], "neither a file nor a model"),
        (["box-on-slope", "--solver", "gams-linda"], "gams-lindo"),
        (["pile", "--angle", "3"], "has no angle"),
        (["box-on-slope", "--mu", "-1"], "negative"),
        (["box-on-slope", "--format", "xml"], "xml"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture, words: list[str], complaint: str) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert complaint in err
    assert err.count("\n") == 1


def test_the_commands_of_the_page_run(
    capsys: pytest.CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs" / "three-formulations.md"
    monkeypatch.chdir(tmp_path)
    lines = [line.split("#")[0].split() for line in page.read_text(encoding="utf-8").splitlines()]
    commands = [words[2:] for words in lines if words[:2] == ["perp", "compare"]]
    assert len(commands) == 6
    for words in commands:
        code, out, err = run(capsys, *words, *([] if "--solver" in words else ["--solver", "perp"]))
        assert code == 0, (words, err)
        assert "exact" in out or "--export" in words
    assert list((tmp_path / "models").glob("*.gms"))


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--plot", "x.bmp"], "a picture is written to"), (["--time-limit", "0"], "--time-limit 0"), (["--workers", "0"], "--workers 0")],
)  # fmt: skip
def test_bad_options_are_refused_before_anything_runs(capsys, words: list[str], said: str) -> None:
    code, _, err = run(capsys, "box-on-slope", *words)
    assert code == 2
    assert said in err
