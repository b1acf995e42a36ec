"""Mixtures on which Newton from sweeps cycles: the default must find an answer from elsewhere."""

from __future__ import annotations

import pytest

import perp
from perp.bench.sets.random_contacts import random_problem


@pytest.mark.parametrize("seed", [172, 549, 656, 686, 765, 1141, 1294, 1333])
def test_mixtures_on_which_newton_from_sweeps_cycles(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    assert perp.residual(problem, solution.z) <= 1e-8
    assert solution.info["starts"] > 1
