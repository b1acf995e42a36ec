"""The search for a false SOLVED: what it counts and what it covers; `benchmarks/false_solved.py` runs it."""

from __future__ import annotations

import numpy as np

from perp.bench.false_solved import TOLERANCE, Verdict
from perp.bench.false_solved_families import FAMILIES


def test_a_lie_and_a_crash_are_seen():
    lie = Verdict("steep", 0, "lcp", "x", "", "SOLVED", 0.1 * TOLERANCE, 10 * TOLERANCE, 0.0)
    assert lie.is_false
    assert not lie.is_broken
    assert not lie._replace(second=TOLERANCE).is_false
    assert lie._replace(second=np.nan).is_false
    assert lie._replace(status="ZeroDivisionError").is_broken


def test_every_type_is_searched():
    kinds = {type(attempt.problem).__name__ for family in FAMILIES.values() for attempt in family(5)}
    assert kinds >= {"LCP", "BoxedLCP", "ContactProblem"}
