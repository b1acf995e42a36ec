"""Mixed problems squared up: the complementarity row faces its own variable, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perp
from perp.files.mixed import boxed_from_mixed

flags = st.lists(st.booleans(), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(flags, st.integers(0, 3), st.randoms(use_true_random=False))
def test_squared_up_rows_say_the_same(columns, surplus, random):
    comp_columns = np.array(columns)
    order = columns + [False] * surplus
    random.shuffle(order)
    comp_rows = np.array(order)
    rng = np.random.default_rng(random.randrange(2**32))
    M, q = rng.standard_normal((comp_rows.size, comp_columns.size)), rng.standard_normal(comp_rows.size)
    z = rng.standard_normal(comp_columns.size)
    problem = boxed_from_mixed(M, q, comp_rows, comp_columns)
    # The same values of the variables, in the places where the new problem has them.
    squared = rng.standard_normal(comp_rows.size)
    squared[comp_rows] = z[comp_columns]
    squared[np.flatnonzero(~comp_rows)[: (~comp_columns).sum()]] = z[~comp_columns]
    assert np.allclose(problem.evaluate(squared), M @ z + q, atol=1e-13)
    assert np.array_equal(problem.lo == 0, comp_rows)
    assert np.all(problem.hi == np.inf)


def test_consistent_rectangular_problem_is_solved():
    # x - y = 0, -x - y + 1 = 0, 0 <= y _|_ x + y - 1 >= 0: the solution is x = y = 1/2.
    problem = boxed_from_mixed(
        np.array([[1.0, -1], [-1, -1], [1, 1]]),
        np.array([0.0, 1, -1]),
        np.array([False, False, True]),
        np.array([False, True]),
    )
    assert problem.M.tolist() == [[1, 0, -1], [-1, 0, -1], [1, 0, 1]]
    assert perp.residual(problem, np.array([0.5, 123.0, 0.5])) == 0
    assert perp.residual(problem, np.array([0.5, 0.0, 0.4])) > 1e-3


def test_a_long_column_is_not_squared():
    rows = np.zeros(10**6, dtype=bool)
    with pytest.raises(perp.ProblemError, match="too many"):
        boxed_from_mixed(np.ones((10**6, 1)), np.ones(10**6), rows, np.array([False]))
