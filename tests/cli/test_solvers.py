"""`perp solvers`."""

from __future__ import annotations

from pathlib import Path

import pytest

import perp
from perp.solvers import Attempt, Package, register, unregister


@pytest.fixture
def absent_solver():
    @register(
        "absent",
        takes=perp.LCP,
        summary="a solver of a package that is nowhere",
        needs=Package("a_package_that_is_nowhere", install="pip install nowhere"),
    )
    def absent(problem, control, options) -> Attempt:
        raise AssertionError("cannot be called")

    yield
    unregister("absent")


def test_lists_every_solver(run) -> None:
    outcome = run("solvers")
    assert outcome.code == 0
    for name in ("auto", "lemke", "pgs", "block-gauss-seidel", "ContactProblem"):
        assert name in outcome.out


def test_lists_those_that_take_a_file(run, lcp: Path, contact: Path) -> None:
    def names(path: Path) -> set[str]:
        return {info["name"] for info in run("solvers", path, "--json").json()}

    assert {"auto", "lemke", "pgs"} <= names(lcp)
    assert "moving-bounds" not in names(lcp)
    assert "block-gauss-seidel" in names(contact)
    assert "lemke" in run("solvers", lcp).out


def test_a_missing_package_is_listed_with_the_command_that_adds_it(run, absent_solver: None) -> None:
    [info] = [info for info in run("solvers", "--json").json() if info["name"] == "absent"]
    assert info["available"] is False
    assert "pip install nowhere" in info["reason"]
    assert info["takes"] == ["LCP"]
    assert "nowhere" in run("solvers").out


def test_a_missing_package_is_refused_by_solve(run, lcp: Path, absent_solver: None) -> None:
    run("solve", lcp, "--solver", "absent").assert_refused("pip install nowhere")


def test_ours_come_first_and_vendors_reach_a_contact_file_through_a_formulation(run, contact: Path) -> None:
    listed = run("solvers", contact, "--json").json()
    families = [info["family"] for info in listed]
    assert families[0] == "auto"
    assert "external" not in families[: families.index("external")]
    assert set(families[families.index("external") :]) == {"external"}
    [clarabel] = [info for info in listed if info["name"] == "clarabel"]
    assert clarabel["formulation"] == "dual_fixed_point"
    [newton] = [info for info in listed if info["name"] == "newton"]
    assert newton["formulation"] is None
    assert "dual_fixed_point" in run("solvers", contact).out


def test_a_name_shows_the_options_of_that_solver(run) -> None:
    outcome = run("solvers", "lemke")
    assert outcome.code == 0
    for words in ("lemke: complementary pivoting", "check_every=0", "covering=None", "The covering vector"):
        assert words in outcome.out
    [facts] = run("solvers", "block-gauss-seidel", "--json").json()
    assert {option["name"] for option in facts["options"]} >= {"relaxation", "momentum"}
    assert all(option["about"] for option in facts["options"])
    run("solvers", "lemkee").assert_refused("lemkee", "Did you mean", "lemke")
