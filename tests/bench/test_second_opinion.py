"""The second opinion: sentences of the law in 60 digits, against closed forms and beside the residual."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from second_opinion import law_violation

import perp
from generators import boxed, contact, lcp


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_is_within_a_factor_of_the_residual_that_decides(seed, relaxed):
    rng = np.random.default_rng(seed)
    dynamics = contact(8, seed)
    dynamics = dynamics.as_relaxed() if relaxed else dynamics
    W = np.array(dynamics.W)
    for problem in (
        dynamics,
        perp.ContactProblem(csr_array(W), dynamics.q, dynamics.sets, relaxed=relaxed),
        lcp(20, seed),
        boxed(20, seed),
    ):
        for z in (np.zeros(problem.size), rng.standard_normal(problem.size)):
            assert 0.3 < law_violation(problem, z) / perp.residual(problem, z) < 3.0


def test_infinite_answers_are_infinitely_wrong():
    problem = lcp(3)
    assert law_violation(problem, [np.nan, 0, 0]) == np.inf


@pytest.mark.parametrize("mu", [0.5, 1e9, np.inf])
def test_sentences_of_the_law_one_by_one(mu):
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], mu)
    assert law_violation(problem, [1.0, -0.2, 0.0]) == 0
    assert law_violation(problem, [0.0, 0.0, 0.0]) == 1, "it approaches"
    assert law_violation(problem, [1.3, -0.2, 0.0]) == pytest.approx(0.3), "it presses while it opens"
    assert law_violation(problem, [1.0, -0.1, 0.0]) == pytest.approx(0.1), "it slips inside its limit"
    away = perp.ContactProblem.coulomb(np.eye(3), [1.0, 0.2, 0.0], mu)
    assert law_violation(away, [0.0, 0.0, 0.0]) == 0
    assert law_violation(away, [1e-12, -0.2, 0.0]) == pytest.approx(0.2), "open, and rubs"


def test_friction_must_be_all_there_is_and_against_the_slip():
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 3.0, 0.0], 0.5)
    assert law_violation(problem, [1.0, -0.5, 0.0]) < 1e-50
    assert law_violation(problem, [1.0, -0.4, 0.0]) == pytest.approx(0.1 / 3)
    turned = law_violation(problem, [1.0, -0.5 * np.cos(0.3), -0.5 * np.sin(0.3)])
    assert 0.1 / 3 < turned < 0.2 / 3


def test_next_to_no_friction_along_one_axis_leaves_all_of_it_to_the_other():
    """Slip of 4e-9 along full friction, not against it: that far from sticking, whatever slips beside it."""
    for slip, wrong in ((4e-9, 0.0), (-4e-9, 4e-9), (-0.5, 0.5)):
        problem = perp.ContactProblem(np.eye(3), [-1.0, 0.5, 1.0 + slip], [perp.Elliptic(5e-324, 1.0)])
        assert law_violation(problem, [1.0, 0.0, -1.0]) == pytest.approx(wrong, rel=0.2, abs=1e-15)


def test_velocities_of_impulses_that_cancel_are_exact():
    W = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0 / 3.0], [0.0, 1.0 / 3.0, 1.0 / 9.0]])
    z = np.array([1e8, 1e8 / 3.0, -1e8])
    q = np.array([-1e8, -(W[1, 1] * z[1] + W[1, 2] * z[2]), 1e-3])
    problem = perp.ContactProblem.coulomb(W, q / 1e8, 1e6)
    assert law_violation(problem, z / 1e8) == pytest.approx(perp.residual(problem, z / 1e8), rel=1e-6)


@pytest.mark.parametrize("mu", [1e10, np.inf])
def test_a_steep_disc_carries_friction_at_no_normal_impulse_while_the_other_rolls(mu):
    """Relaxed Rolling(∞, 0.1): λ_N = 0 and u_T = 0, any λ_T, where u_N ≥ 0.1 ‖u_R‖."""
    sets = [perp.Rolling(mu, 0.1)]
    open_enough = perp.ContactProblem(np.eye(5), [0.2, -0.3, 0.0, 0.5, 0.0], sets, relaxed=True)
    answer = [0.3 / mu, 0.3, 0.0, 0.0, 0.0]
    assert law_violation(open_enough, answer) < 1e-9
    assert perp.residual(open_enough, answer) < 1e-9
    assert law_violation(open_enough, [0.3 / mu, 0.3, 0.0, -0.02, 0.0]) > 0.01, "rolling friction of nothing"
    assert law_violation(open_enough, [0.3 / mu, 0.2, 0.0, 0.0, 0.0]) > 0.1, "it slips"
    too_slow = perp.ContactProblem(np.eye(5), [0.02, -0.3, 0.0, 0.5, 0.0], sets, relaxed=True)
    assert law_violation(too_slow, answer) > 0.02, "u outside of the dual cone"


def test_the_exact_friction_written_as_doubles_is_right():
    """λ_T is 1e10 times what is at work: its last digit is 1e-6 of that (found by the search, islands 5000518)."""
    mu, u = 1e10, np.array([0.6, 0.8])
    problem = perp.ContactProblem.coulomb(np.diag([1.0, 0.0, 0.0]), [-1.0, *u], mu)
    friction = -mu * u * (1 + 1e-16)
    assert law_violation(problem, [1.0, *friction]) < 1e-9
    assert law_violation(problem, [1.0, friction[0] * (1 + 1e-14), friction[1]]) > 1e-6


def test_a_bound_that_follows_another_row_is_one_of_doubles():
    """hi z_j = 7.9e8 has more digits than z_i can have: half of its last one is 6e-8 (rows 50000152)."""
    M, q = np.diag([1.0, 0.0]), np.array([-1.1110598857270122, -0.5574669332216196])
    hi = 7.1260846264135396e8
    problem = perp.BoxedLCP(M, q, [0.0, -hi], [np.inf, hi], friction_index=[-1, 0])
    z = perp.solve(problem).z
    assert law_violation(problem, z) < 1e-9
    assert law_violation(problem, z * [1.0, 1.0 - 1e-15]) > 1e-8
