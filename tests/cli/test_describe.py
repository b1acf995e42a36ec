"""Problems and answers in words and as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.bench.timing import duration
from perp.cli.describe import plain, problem_facts, problem_words
from perp.cli.printing import as_json


def test_plain_leaves_nothing_that_json_cannot_hold() -> None:
    value = {
        "array": np.array([1.0, math.nan, -math.inf]),
        "scalar": np.float64(2.5),
        "count": np.int64(3),
        "flag": np.bool_(True),
        "nested": [(math.inf, None), {"path": Path("a")}],
    }
    expected = {
        "array": [1.0, None, None],
        "scalar": 2.5,
        "count": 3,
        "flag": True,
        "nested": [[None, None], {"path": "a"}],
    }
    assert plain(value) == expected
    assert json.loads(as_json(value)) == expected
    assert json.loads(as_json([value, {}])) == [expected, {}]


def test_numbers_keep_every_bit() -> None:
    numbers = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    assert np.array_equal(json.loads(as_json({"z": numbers}))["z"], numbers)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.34, "12.3 s"), (0.5, "500 ms"), (0.0021, "2.1 ms"), (3e-6, "3 µs"), (0.0, "0 µs")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_problem_in_words() -> None:
    sets = [perp.Coulomb(0.3), perp.Free(), perp.Free()]
    problem = perp.ContactProblem(np.eye(5), np.zeros(5), sets, relaxed=True)
    words = problem_words(problem_facts(problem, Path("p")))
    assert words.startswith("ContactProblem, 5 rows: 2 Free, 1 Coulomb")
    assert "relaxed" in words
    assert problem_words(problem_facts(perp.LCP([[1.0]], [1.0]), Path("p"))) == "LCP, 1 row"
