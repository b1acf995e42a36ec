"""`perp residual`, and answers in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import perp

ANSWER = np.array([4 / 3, 7 / 3])


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_what_solve_writes_residual_reads(run, lcp: Path, tmp_path: Path, suffix: str) -> None:
    answer = tmp_path / f"answer{suffix}"
    assert str(answer.name) in run("solve", lcp, "--out", answer).out
    outcome = run("residual", lcp, answer)
    assert outcome.code == 0
    assert "LCP, 2 rows" in outcome.out


def test_what_json_prints_residual_reads(run, lcp: Path, tmp_path: Path) -> None:
    answer = tmp_path / "printed.json"
    answer.write_text(run("solve", lcp, "--json").out)
    assert run("residual", lcp, answer).code == 0


def test_a_plain_vector_is_judged(run, lcp: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", ANSWER)
    np.save(tmp_path / "bad.npy", ANSWER + 0.1)
    assert run("residual", lcp, tmp_path / "good.npy").code == 0
    outcome = run("residual", lcp, tmp_path / "bad.npy", "--json")
    assert outcome.code == 1
    found = outcome.json()
    assert found["solved"] is False
    assert found["residuals"]["value"] == perp.residual(perp.load(lcp), ANSWER + 0.1)


def test_tolerance_decides_the_exit_code(run, lcp: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "near.npy", ANSWER + 1e-5)
    assert run("residual", lcp, tmp_path / "near.npy").code == 1
    assert run("residual", lcp, tmp_path / "near.npy", "--tol", "1e-3").code == 0


def test_the_residual_is_the_one_that_solve_reports(run, contact: Path, tmp_path: Path) -> None:
    solved = run("solve", contact, "--json", "--out", tmp_path / "answer.npz").json()
    judged = run("residual", contact, tmp_path / "answer.npz", "--json").json()
    assert judged["residuals"] == solved["residuals"]


def test_answers_that_do_not_fit_are_refused(run, lcp: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "long.npy", np.zeros(3))
    run("residual", lcp, tmp_path / "long.npy").assert_refused("3")
    np.save(tmp_path / "nan.npy", np.array([1.0, np.nan]))
    run("residual", lcp, tmp_path / "nan.npy").assert_refused("[1]")
    (tmp_path / "text.json").write_text(json.dumps({"z": ["a", "b"]}))
    run("residual", lcp, tmp_path / "text.json").assert_refused("text.json")
    (tmp_path / "none.json").write_text("{}")
    run("residual", lcp, tmp_path / "none.json").assert_refused("none.json")
    run("residual", lcp, tmp_path / "missing.npz").assert_refused("missing.npz")
    run("residual", lcp).assert_refused("SOLUTION")


@pytest.mark.parametrize("tol", ["nan", "0", "-1", "inf"])
def test_a_tolerance_that_makes_no_sense_is_refused(run, lcp: Path, tmp_path: Path, tol: str) -> None:
    np.save(tmp_path / "z.npy", ANSWER)
    run("residual", lcp, tmp_path / "z.npy", "--tol", tol).assert_refused("tol")
