"""One relaxed contact: the minimum of its quadratic over the cone, against the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.compilation.kernel import whole
from perp.kernels.local_solve import solve_relaxed


@pytest.mark.parametrize("seed", range(40))
def test_local_answer_is_the_minimum_over_the_cone(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(3, 3 if seed % 3 else 2))
    B = G @ G.T + (0.0 if seed % 3 == 0 else 1e-3) * np.eye(3)
    mu = [1e-6, 1e-3, 0.4, 2.0][seed % 4]
    q = rng.normal(size=3)
    b = np.zeros(15)
    b[:3] = q
    x = np.array([1.0, 0.2, -0.1]) if seed % 2 else np.zeros(3)
    # sweeps go on from the last answer
    for _ in range(200):
        whole(solve_relaxed)(0, 3, B.ravel().copy(), b, mu, -1.0, x, 0)
    problem = perp.ContactProblem.coulomb(B, q, mu, relaxed=True)
    if seed % 3:
        assert perp.residual(problem, x) <= 1e-12
    else:  # a singular block may have no minimum; what is answered must be in the cone
        assert np.hypot(x[1], x[2]) <= mu * x[0] * (1 + 1e-9) + 1e-12
