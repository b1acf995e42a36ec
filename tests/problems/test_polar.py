"""What a projection onto a friction cone takes away, and the residual of relaxed contacts with huge impulses."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from second_opinion import law_violation

import perp
from perp.compilation.kernel import whole
from perp.problems.polar_kernels import beyond_cone
from perp.problems.set_kernels import COULOMB, ELLIPTIC, ROLLING, project

COEFFICIENTS = (0.0, 1e-3, 0.5, 1.0, 3.0, 1e3, 1e9, np.inf)
ROWS = {COULOMB: (2, 3), ELLIPTIC: (2, 3, 4, 5, 6), ROLLING: (5,)}


@pytest.mark.parametrize("kind", [COULOMB, ELLIPTIC, ROLLING])
def test_a_point_is_its_projection_and_what_was_taken_away(kind):
    rng = np.random.default_rng(kind)
    for _ in range(3000):
        n = int(rng.choice(ROWS[kind]))
        p = np.append(rng.choice(COEFFICIENTS, 5), rng.choice([0.0, 1.3]))
        y = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3, n) * (rng.random(n) < 0.9)
        kept, taken = np.empty(n), np.empty(n)
        project(kind, p, y, 0, n, kept)
        whole(beyond_cone)(kind, p, y, 0, n, taken)
        assert np.abs(y - kept - taken).max() <= 1e-13 * (np.abs(y).max() + p[5])


@pytest.mark.parametrize("mu", [1e-3, 0.7, 1e6, 1e11])
@pytest.mark.parametrize("kind", [COULOMB, ELLIPTIC, ROLLING])
def test_a_small_part_beyond_a_large_point_keeps_its_digits(kind, mu):
    """t (−μ, 1) with t = (‖y_T‖ − μ y_N) / (1 + μ²), in 50 digits; y is 1e14 times as large."""
    p = np.array([mu, mu, mu, mu, mu, 0.0])
    n = 5 if kind == ROLLING else 3
    y = np.zeros(n)
    y[0], y[1] = 1e14, mu * 1e14 * (1 + 1e-13)
    taken = np.empty(n)
    whole(beyond_cone)(kind, p, y, 0, n, taken)
    with localcontext() as context:
        context.prec = 50
        slope = Decimal(mu)
        t = (Decimal(y[1]) - slope * Decimal(y[0])) / (1 + slope * slope)
        # what the last digit of y itself decides is all that may be missing
        assert taken[0] == pytest.approx(float(-slope * t), abs=1e14 * 3e-16)
        assert taken[1] == pytest.approx(float(t), abs=1e14 * 3e-16 * min(1.0, 1 / mu))


@pytest.mark.parametrize("solver", ["interior-point", "auto"])
def test_a_slip_is_not_lost_beside_a_huge_friction(solver):
    """Found by the search (steep 5000003): u_T = −1.8 whatever λ is, and μ u_T would need u_N = 2.5e11."""
    W = np.array([[5.0, 1, 0, -1], [1, 2, 0, 1], [0, 0, 0, 0], [-1, 1, 0, 1]])
    q = [-1.484492442821579, 1.312265309126371, -1.7950530421093596, -0.9407420533412331]
    sets = [perp.Nonnegative(), perp.Coulomb(138968855620.84445)]
    problem = perp.ContactProblem(W, q, sets, relaxed=True)
    z = [1.0081152738444045e-09, 28417.337306032743, 3949124845210525.0, -28416.396563978382]
    assert law_violation(problem, z) > 0.9
    assert perp.residual(problem, z) > 0.9
    solution = perp.solve(problem, solver, throw=False)
    assert not solution.solved or law_violation(problem, solution.z) < 5e-8
