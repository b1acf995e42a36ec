"""A slice of the search for a false SOLVED; `benchmarks/false_solved.py` is the whole."""

from __future__ import annotations

import pytest

from perp.bench.false_solved import TOLERANCE, Verdict, problems, verdicts

FORMS = ("contact dynamics", "boxed friction")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [3, 9])
def test_what_any_solver_calls_solved_is_solved_in_long_double(seed):
    found = list(verdicts(seed, forms=FORMS))
    assert sum(verdict.status == "SOLVED" for verdict in found) > 20
    assert [verdict for verdict in found if verdict.is_false or verdict.is_broken] == []


def test_a_lie_and_a_crash_are_seen():
    lie = Verdict(0, "lcp", "x", "", "SOLVED", 0.1 * TOLERANCE, 10 * TOLERANCE, 0.0)
    assert lie.is_false
    assert not lie.is_broken
    assert not lie._replace(second=TOLERANCE).is_false
    assert lie._replace(status="ZeroDivisionError").is_broken


def test_every_type_and_form_is_searched():
    assert {type(problem).__name__ for problem in problems(5).values()} == {
        "LCP",
        "BoxedLCP",
        "ContactProblem",
    }
