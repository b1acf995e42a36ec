"""The second residual agrees with the first where both are accurate, and with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import perp
from generators import boxed, contact, lcp
from perp.bench.second_opinion import Long, _nearest_discs, _nearest_elliptic, second_residual


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_residual_that_decides(seed, relaxed):
    rng = np.random.default_rng(seed)
    dynamics = contact(12, seed)
    dynamics = dynamics.as_relaxed() if relaxed else dynamics
    W = np.array(dynamics.W)
    for problem in (
        dynamics,
        perp.ContactProblem(W, dynamics.q, dynamics.sets, relaxed=relaxed),
        perp.ContactProblem(csr_array(W), dynamics.q, dynamics.sets, relaxed=relaxed),
        lcp(20, seed),
        boxed(20, seed),
    ):
        for z in (np.zeros(problem.size), rng.standard_normal(problem.size)):
            assert second_residual(problem, z) == pytest.approx(perp.residual(problem, z), rel=1e-9)


def test_infinite_answers_are_infinitely_wrong():
    problem = lcp(3)
    assert second_residual(problem, [np.nan, 0, 0]) == np.inf


@pytest.mark.parametrize("seed", range(8))
def test_projections_against_a_minimisation(seed):
    rng = np.random.default_rng(seed)
    y3, y5 = 2 * rng.standard_normal(3), 2 * rng.standard_normal(5)
    a, b = rng.uniform(0.2, 2.0, 2)
    elliptic = _nearest_elliptic(Long(a), Long(b), y3.astype(Long)).astype(float)
    rolling = _nearest_discs(y5.astype(Long), ((Long(a), slice(1, 3)), (Long(b), slice(3, 5)))).astype(float)

    def nearest(y, inside):
        return minimize(
            lambda x: float(np.sum((x - y) ** 2)), np.array([4.0] + [0.1] * (y.size - 1)),
            constraints=[{"type": "ineq", "fun": inside}], options={"ftol": 1e-14, "maxiter": 500},
        ).x  # fmt: skip

    expected = nearest(y3, lambda x: x[0] - np.hypot(x[1] / a, x[2] / b))
    np.testing.assert_allclose(elliptic, expected, atol=2e-4)
    expected = nearest(
        y5, lambda x: np.array([a * x[0] - np.hypot(x[1], x[2]), b * x[0] - np.hypot(x[3], x[4])])
    )
    np.testing.assert_allclose(rolling, expected, atol=2e-4)


def test_velocities_of_impulses_that_cancel_are_exact():
    # 10⁸ of impulse against 10⁸: long double alone would be off by 10⁻¹¹, times μ = 10⁶
    W = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0 / 3.0], [0.0, 1.0 / 3.0, 1.0 / 9.0]])
    z = np.array([1e8, 1e8 / 3.0, -1e8])
    q = np.array([-1e8, -(W[1, 1] * z[1] + W[1, 2] * z[2]), 1e-3])
    problem = perp.ContactProblem.coulomb(W, q / 1e8, 1e6)
    assert second_residual(problem, z / 1e8) == pytest.approx(perp.residual(problem, z / 1e8), rel=1e-9)
