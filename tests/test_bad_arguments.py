"""What is not a path, no problem and no answer is refused by name, wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import perp

PROBLEM = perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])


@pytest.mark.parametrize("path", [None, 3, b"problem.npz", ["problem.npz"]])
@pytest.mark.parametrize(
    "call",
    [perp.load, perp.load_guess, PROBLEM.save, lambda path: perp.solve(PROBLEM).save(path)],
    ids=["load", "load_guess", "save", "save answer"],
)
def test_what_is_no_path_is_a_file_error(call: Callable[[Any], Any], path: Any) -> None:
    with pytest.raises(perp.FileError, match="is not a path"):
        call(path)


@pytest.mark.parametrize("answer", [None, [4 / 3, 7 / 3], "answer"])
def test_certify_needs_an_answer_of_solve(answer: Any) -> None:
    pytest.importorskip("flint", reason="python-flint is not installed")
    with pytest.raises(perp.ProblemError, match=r"an answer of perp\.solve is needed"):
        perp.certify(PROBLEM, answer)


@pytest.mark.parametrize("call", [perp.solve, perp.solvers, perp.solve_many, lambda x: perp.solve_many([x])])
def test_what_is_no_problem_is_a_problem_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(perp.ProblemError, match="problem"):
        call(3)


@pytest.mark.parametrize("name", [3, ["split"], "splitt"])
def test_what_is_no_formulation_is_refused_by_name(name: Any) -> None:
    with pytest.raises(perp.UnknownSolver, match="no formulation is called"):
        perp.solve(PROBLEM, formulation=name)
