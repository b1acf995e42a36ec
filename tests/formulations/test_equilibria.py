"""Optimality conditions, games and variational inequalities against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.formulations.equilibria import from_game, from_nlp, from_qp, from_variational_inequality


def test_a_nonlinear_program_has_its_published_solution():
    """Hock and Schittkowski 43 (Rosen and Suzuki): x = (0, 1, 2, −1)."""

    def gradient(x):
        return np.array([2 * x[0] - 5, 2 * x[1] - 5, 4 * x[2] - 21, 2 * x[3] + 7])

    def constraints(x):
        a, b, c, d = x
        return np.array([
            8 - a**2 - b**2 - c**2 - d**2 - a + b - c + d, 10 - a**2 - 2 * b**2 - c**2 - 2 * d**2 + a + d,
            5 - 2 * a**2 - b**2 - c**2 - 2 * a + b + d,
        ])  # fmt: skip

    def jacobian(x):
        a, b, c, d = x
        return np.array([
            [-2 * a - 1, -2 * b + 1, -2 * c - 1, -2 * d + 1], [-2 * a + 1, -4 * b, -2 * c, -4 * d + 1],
            [-4 * a - 2, -2 * b + 1, -2 * c, 1],
        ])  # fmt: skip

    problem = from_nlp(gradient, np.zeros(4), constraints=constraints, jacobian=jacobian)
    z = perp.solve(problem).z
    np.testing.assert_allclose(z[:4], [0, 1, 2, -1], atol=1e-6)
    np.testing.assert_allclose(z[4:], [1, 0, 2], atol=1e-6)


def test_a_quadratic_program_with_every_kind_of_constraint():
    """min ½‖x − (2, 2, 2)‖² with x₁ + x₂ ≤ 2, x₂ = x₃, x ≤ 1.5 has x = (0.8, 1.2, 1.2) … by its conditions."""
    P, q = np.eye(3), -2.0 * np.ones(3)
    problem = from_qp(P, q, G=[[1.0, 1, 0]], h=[2.0], A=[[0.0, 1, -1]], b=[0.0], upper=1.5)
    z = perp.solve(problem).z
    x, inequality, equation = z[:3], z[3], z[4]
    # x₁ = 2 − λ, 2 x₂ = 4 − λ: λ = 4/3, x = (2/3, 4/3, 4/3)
    np.testing.assert_allclose(x, [2 / 3, 4 / 3, 4 / 3], atol=1e-9)
    assert inequality == pytest.approx(4 / 3)
    np.testing.assert_allclose(
        x - 2 + inequality * np.array([1, 1, 0]) - equation * np.array([0, 1, -1]), 0, atol=1e-9
    )


def test_cournot_s_duopoly():
    """Price 12 − q₁ − q₂, costs 1 and 2: q = (4, 3)."""
    costs = [lambda q: q[0] - (12 - q[0] - q[1]) * q[0], lambda q: 2 * q[1] - (12 - q[0] - q[1]) * q[1]]
    assert perp.solve(from_game(costs, [1, 1], [1.0, 1.0])).z == pytest.approx([4, 3])
    capped = from_game(costs, [1, 1], [1.0, 1.0], upper=[3.0, np.inf])
    assert perp.solve(capped).z == pytest.approx([3, 3.5])


def test_a_variational_inequality_over_a_polyhedron():
    """F(x) = x − (2, 0) over x₁ + x₂ ≤ 1, x ≥ 0 is a projection: (1, 0)."""
    problem = from_variational_inequality(
        lambda x: x - np.array([2.0, 0.0]), [0.2, 0.2], lower=0, A=[[-1.0, -1.0]], b=[-1.0]
    )
    assert perp.solve(problem).z[:2] == pytest.approx([1, 0])
    box = from_variational_inequality(lambda x: x - np.array([2.0, 0.0]), [0.2, 0.2], lower=0, upper=0.5)
    assert perp.solve(box).z == pytest.approx([0.5, 0])


def test_bad_arguments_are_named():
    with pytest.raises(perp.ProblemError, match="jacobian"):
        from_nlp(lambda x: x, [1.0], constraints=lambda x: x)
    with pytest.raises(perp.ProblemError, match="G has 3 columns: it needs 2"):
        from_qp(np.eye(2), [1.0, 1], G=np.ones((1, 3)), h=[1.0])
    with pytest.raises(perp.ProblemError, match="sizes has 1 entries"):
        from_game([lambda q: q[0], lambda q: q[1]], [2], [1.0, 1.0])
