"""Huge friction coefficients: answers that slip all the same, reached with less friction first."""

from __future__ import annotations

import numpy as np
import pytest
from second_opinion import law_violation

import perp
from perp.bench.sets.random_contacts import random_problem
from perp.solvers.friction_limits import ENDLESS, carried, friction_limits, with_less_friction


@pytest.mark.parametrize("solver", ["auto", "newton", "block-gauss-seidel"])
def test_a_light_contact_slips_at_a_coefficient_of_two_thousand(solver):
    """λ_N = −q_N and λ_T = −μ λ_N where the tangential velocity is large: the contact cannot hold it."""
    problem = perp.ContactProblem.coulomb(np.eye(3), [-0.01, 60.0, 80.0], 2000.0)
    solution = perp.solve(problem, solver)
    np.testing.assert_allclose(solution.impulse, [0.01, -12.0, -16.0], rtol=1e-3)


# Of 2,000 random mixtures these were not solved as long as every limit was begun from nothing.
@pytest.mark.parametrize("seed", [500015, 500124, 501067, 501184, 501241])
def test_mixtures_that_slip_at_a_coefficient_of_a_million(seed):
    problem = random_problem(seed)
    assert problem.sets.parameters[problem.sets.kind >= 3, :5].max() >= 1e5
    solution = perp.solve(problem)
    assert law_violation(problem, solution.z) <= 3e-8


def test_limits_rise_to_the_largest_coefficient():
    def limits(mu):
        return friction_limits(perp.ContactProblem.coulomb(np.eye(3), np.zeros(3), mu))

    assert limits(0.5) == limits(1000.0) == [ENDLESS]
    assert limits(1e4)[0] == 10.0
    assert max(limits(1e4)[:-1]) < 1e4
    assert limits(np.inf)[-2] == pytest.approx(1e9)
    assert limits(np.inf)[-1] == ENDLESS


def test_a_start_keeps_the_friction_of_what_slips():
    sets = [perp.Coulomb(1e6), perp.Coulomb(1e6), perp.Coulomb(0.5), perp.Rolling(0.4, 1e6)]
    impulse = np.array([1.0, 6, 8, 2.0, 1, 0, 1.0, 0.5, 0, 1.0, 0.4, 0, 6, 8])
    expected = np.array([0.1, 6, 8, 2.0, 1, 0, 1.0, 0.5, 0, 0.1, 0.04, 0, 6, 8])
    # velocities against the friction, so that the carried start is an answer below the limit of 100
    free = -expected.copy()
    problem = perp.ContactProblem(np.eye(14), free, perp.Sets(sets))
    assert perp.residual(with_less_friction(problem, 100.0), expected) < 1e-12
    np.testing.assert_allclose(carried(problem, impulse, 10.0, 100.0), expected, rtol=1e-12)
