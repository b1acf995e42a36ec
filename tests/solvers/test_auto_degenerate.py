"""Mixtures on which Newton from sweeps cycles: the default must find an answer from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from second_opinion import law_violation

import perp
from perp.bench.sets.random_contacts import random_problem


@pytest.mark.parametrize("seed", [172, 243, 686, 1333])
def test_mixtures_on_which_newton_from_sweeps_cycles(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    assert perp.residual(problem, solution.z) <= 1e-8
    assert len(solution.info["stages"]) > 1


@pytest.mark.parametrize("seed", [2214, 8467])
def test_huge_friction_beside_jammed_impulses_rests_below_the_last_place_of_the_impulses(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    # one unit in the last place of the largest impulse moves a contact by more than μ = 10⁶ allows
    step = np.spacing(np.abs(problem.W * solution.z).max())
    assert 1e6 * step > 1e-9 * np.linalg.norm(problem.q)
    assert law_violation(problem, solution.z) <= 1e-8


@pytest.mark.parametrize("seed", [1141, 4326, 6076, 7741])
def test_the_fixed_point_of_the_shift_is_found_where_newton_and_paths_fail(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    assert law_violation(problem, solution.z) <= 1e-8
