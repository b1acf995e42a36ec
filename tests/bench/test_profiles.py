"""Performance profiles and shifted geometric means against hand-worked figures."""

from __future__ import annotations

import math

import pytest

from perp.bench.profiles import performance_profiles, shifted_geometric_mean


def test_profiles_of_three_problems_worked_by_hand() -> None:
    times = {"a": {"p": 1.0, "q": 4.0}, "b": {"p": 2.0, "q": 2.0, "r": 5.0}, "c": {}}
    profiles = performance_profiles(times, problem_count=4)
    # ratios: a has 1 on p and 2 on q; b has 2 on p, 1 on q and 1 on r; nobody solves the fourth
    assert profiles["a"].ratio.tolist() == [1.0, 2.0]
    assert profiles["a"].share.tolist() == [0.25, 0.5]
    assert profiles["b"].ratio.tolist() == [1.0, 2.0]
    assert profiles["b"].share.tolist() == [0.5, 0.75]
    assert [profiles["b"].at(tau) for tau in (0.5, 1.0, 1.99, 2.0, 1e9)] == [0.0, 0.5, 0.5, 0.75, 0.75]
    assert profiles["c"].at(1e9) == 0.0


def test_a_tie_for_the_fastest_counts_for_both() -> None:
    profiles = performance_profiles({"a": {"p": 0.0}, "b": {"p": 0.0}}, problem_count=1)
    assert profiles["a"].at(1.0) == profiles["b"].at(1.0) == 1.0


def test_the_shifted_geometric_mean_is_its_formula() -> None:
    # (1 + 1) (7 + 1) = 16, its root is 4, less the shift 3
    assert shifted_geometric_mean([1.0, 7.0], shift=1.0) == pytest.approx(3.0)
    assert shifted_geometric_mean([2.0, 8.0], shift=0.0) == pytest.approx(4.0)
    assert shifted_geometric_mean([0.25]) == pytest.approx(0.25)
    assert math.isnan(shifted_geometric_mean([]))
