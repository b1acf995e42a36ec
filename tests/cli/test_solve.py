"""`perp solve`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from perp.cli import main
from perp.solvers import Attempt, register, unregister


def test_solved_lcp_prints_a_table(run, lcp: Path) -> None:
    outcome = run("solve", lcp)
    assert outcome.code == 0
    assert outcome.err == ""
    for words in ("SOLVED", "LCP, 2 rows", "residual", "literature", "iterations", "principal", "to solve"):
        assert words in outcome.out


def test_contact_table_says_how_many_of_each_set(run, contact: Path) -> None:
    outcome = run("solve", contact)
    assert outcome.code == 0
    assert "ContactProblem, 7 rows: 1 Box, 2 Coulomb" in outcome.out
    assert "sticking velocity" in outcome.out


def test_json_holds_the_answer(run, lcp: Path) -> None:
    answer = run("solve", lcp, "--json").json()
    assert answer["solved"] is True
    assert answer["status"] == "SOLVED"
    assert answer["solver"] == "principal"
    assert answer["problem"] == {"file": str(lcp), "kind": "LCP", "size": 2}
    assert answer["residual"] <= answer["tolerance"] == 1e-8
    assert answer["residuals"]["value"] == answer["residual"]
    assert np.allclose(answer["z"], [4 / 3, 7 / 3])
    assert np.allclose(answer["w"], 0)


def test_json_of_contact_holds_impulses_and_sets(run, contact: Path) -> None:
    answer = run("solve", contact, "--json").json()
    assert answer["problem"]["sets"] == {"Box": 1, "Coulomb": 2}
    assert answer["problem"]["contact_count"] == 3
    assert np.allclose(answer["impulse"], [1.0, -0.2, 0.0, 1.0, -0.5, 0.0, 3.0], atol=1e-7)
    assert np.allclose(answer["velocity"], [0, 0, 0, 0, 1.5, 0, 0], atol=1e-7)


def test_unsolvable_problem_is_not_solved_and_says_so(run, unsolvable: Path) -> None:
    outcome = run("solve", unsolvable)
    assert outcome.code == 1
    assert "status             SOLVED" not in outcome.out
    answer = run("solve", unsolvable, "--json").json()
    assert answer["solved"] is False
    assert answer["status"] in ("INFEASIBLE", "RAY")


def test_iteration_limit_is_passed_on(run, contact: Path, lcp: Path) -> None:
    outcome = run("solve", lcp, "--solver", "pgs", "--max-iterations", "1", "--json")
    assert outcome.code == 1
    assert outcome.json()["status"] == "ITERATION_LIMIT"
    assert outcome.json()["iterations"] == 1


def test_tolerance_is_passed_on(run, lcp: Path) -> None:
    loose = run("solve", lcp, "--solver", "pgs", "--tol", "1e-2", "--json").json()
    tight = run("solve", lcp, "--solver", "pgs", "--tol", "1e-12", "--json").json()
    assert loose["tolerance"] == 1e-2
    assert tight["residual"] <= 1e-12 < loose["residual"] <= 1e-2


def test_generous_time_limit_changes_nothing(run, lcp: Path) -> None:
    assert run("solve", lcp, "--time-limit", "3600").code == 0


@pytest.fixture
def nan_solver():
    @register("nan", takes=perp.LCP, summary="answers with NaN")
    def nan(problem, control, options) -> Attempt:
        return Attempt(np.full(problem.size, np.nan), 1)

    yield
    unregister("nan")


def test_an_answer_of_nan_is_not_solved_and_valid_json(run, lcp: Path, nan_solver: None) -> None:
    outcome = run("solve", lcp, "--solver", "nan", "--json")
    assert outcome.code == 1
    assert outcome.json()["z"] == [None, None]
    assert outcome.json()["residual"] is None
    assert run("solve", lcp, "--solver", "nan").code == 1


def test_empty_problem_is_solved(run, tmp_path: Path) -> None:
    path = tmp_path / "empty.npz"
    perp.LCP(np.zeros((0, 0)), np.zeros(0)).save(path)
    outcome = run("solve", path, "--json")
    assert outcome.code == 0
    assert outcome.json()["z"] == []


def test_start_from_a_solution_needs_no_iterations(run, lcp: Path, tmp_path: Path) -> None:
    assert run("solve", lcp, "--out", tmp_path / "answer.npz").code == 0
    again = run("solve", lcp, "--solver", "pgs", "--start", tmp_path / "answer.npz", "--json").json()
    assert again["solved"]
    assert again["iterations"] == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--solver", "lemk"], ["lemk", "lemke"]),
        (["--solver", "moving-bounds"], ["LCP"]),
        (["--formulation", "nonsense"], ["nonsense"]),
        (["--tol", "abc"], ["--tol"]),
        (["--tol", "-1"], ["tol"]),
        (["--tol", "nan"], ["tol"]),
        (["--max-iterations", "-1"], ["max_iterations"]),
        (["--time-limit", "0"], ["time_limit"]),
        (["--start", "missing.npz"], ["missing.npz"]),
        (["--start", "guess"], ["guess"]),
        (["--out", "answer.pdf"], ["answer.pdf"]),
        (["--out", "missing-folder/answer.npz"], ["missing-folder"]),
        (["--plot", "picture.bmp"], ["picture.bmp", ".png, .svg"]),
        (["--plot", "missing-folder/picture.png"], ["missing-folder"]),
        (["--tolerance", "1"], ["--tolerance", "--tol"]),
        (["another.npz"], ["another.npz"]),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_in_one_line(run, lcp: Path, words: list[str], expected: list[str]) -> None:
    run("solve", lcp, *words).assert_refused(*expected)


def test_missing_foreign_and_empty_files_are_refused(run, tmp_path: Path) -> None:
    run("solve", tmp_path / "missing.npz").assert_refused("missing.npz")
    for name in ("foreign.npz", "foreign.hdf5", "foreign.dat", "foreign.txt", "foreign"):
        path = tmp_path / name
        path.write_text("this is no problem\n")
        run("solve", path).assert_refused(name)
        path.write_text("")
        run("solve", path).assert_refused(name)
    run("solve", tmp_path).assert_refused(str(tmp_path))
    run("solve").assert_refused("FILE")


def test_start_from_the_guess_in_the_file(run, tmp_path: Path) -> None:
    path = tmp_path / "siconos.npz"
    np.savez(
        path, M=np.array([[2.0, 1.0], [1.0, 2.0]]), q=np.array([-5.0, -6.0]), guess_r=np.array([4, 7]) / 3
    )
    cold = run("solve", path, "--solver", "pgs", "--json").json()
    warm = run("solve", path, "--solver", "pgs", "--start", "guess", "--json").json()
    assert cold["iterations"] > warm["iterations"] == 0


@pytest.mark.parametrize(("name", "beginning"), [("picture.png", b"\x89PNG"), ("picture.svg", b"<?xml")])
def test_plot_draws_every_solver_that_takes_the_problem(
    run, contact: Path, tmp_path: Path, name: str, beginning: bytes
) -> None:
    picture = tmp_path / name
    outcome = run("solve", contact, "--plot", picture)
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.endswith(f"Drawn in {picture}\n")
    assert picture.read_bytes().startswith(beginning)
    if name.endswith(".svg"):  # matplotlib leaves each label as a comment in front of its outlines
        for solver in ("auto", "newton", "proximal-point", "block-gauss-seidel", "admm"):
            assert f"<!-- {solver}" in picture.read_text(encoding="utf-8")


def test_plot_leaves_json_alone(run, lcp: Path, tmp_path: Path) -> None:
    outcome = run("solve", lcp, "--json", "--plot", tmp_path / "picture.png")
    assert outcome.json()["solved"] is True
    assert (tmp_path / "picture.png").exists()


def test_a_scene_is_sent_to_the_command_that_takes_it_and_a_problem_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, problem = tmp_path / "scene.xml", tmp_path / "problem.npz"
    scene.write_text("<mujoco><worldbody/></mujoco>", encoding="utf-8")
    perp.LCP([[1.0]], [-1.0]).save(problem)
    assert main(["solve", str(scene)]) == 2
    assert "is a scene, not a problem: `perp simulate`" in capsys.readouterr().err
    assert main(["simulate", str(problem)]) == 2
    assert "is not a scene: `perp solve`" in capsys.readouterr().err


def test_outputs_are_looked_at_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.npz"
    for path, why in (
        (tmp_path, "a picture is written to one of"),
        (tmp_path / "no" / "a.png", "there is no folder"),
        (tmp_path / "dir.png", "is a directory"),
    ):
        (tmp_path / "dir.png").mkdir(exist_ok=True)
        assert main(["solve", str(missing), "--plot", str(path)]) == 2
        assert why in capsys.readouterr().err  # and not that the problem is missing
    for option, path in (("--html", "no/run.html"), ("--out", "no/run.h5"), ("--html", "run.txt")):
        assert main(["simulate", "missing.xml", option, str(tmp_path / path)]) == 2
        assert "missing.xml" not in capsys.readouterr().err


def test_verbose_tells_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = tmp_path / "problem.npz"
    perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5).save(problem)
    assert main(["solve", str(problem), "--solver", "block-gauss-seidel", "--verbose"]) == 0
    assert "block-gauss-seidel   iteration " in capsys.readouterr().err


def test_options_go_to_the_solver(run, contact: Path) -> None:
    words = ("solve", contact, "--solver", "block-gauss-seidel")
    assert run(*words, "--options", "relaxation=1.2", "--options", "momentum=true").code == 0
    run(*words, "--options", "relaxation=3").assert_refused("relaxation = 3", "between 0 and 2")
    run(*words, "--options", "relax=1").assert_refused("no option 'relax'", "relaxation")
    run(*words, "--options", "relaxation").assert_refused("NAME=VALUE")
