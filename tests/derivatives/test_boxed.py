"""Derivatives of LCPs, boxed LCPs and MCPs against central differences of the solve and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import generators
import perp

H = 1e-6


def solved(problem):
    return perp.solve(problem, tol=1e-12).z


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sparse", [False, True])
def test_lcp_against_differences(seed, sparse):
    rng = np.random.default_rng(seed)
    base = generators.lcp(8, seed)
    dM, dq, g = rng.standard_normal((8, 8)), rng.standard_normal(8), rng.standard_normal(8)
    kind = csr_array if sparse else np.asarray

    def at(t):
        return solved(perp.LCP(kind(base.M + t * dM), base.q + t * dq))

    problem = perp.LCP(kind(base.M), base.q)
    derivative = perp.derivative(problem, perp.solve(problem, tol=1e-12))
    found = derivative.jvp(dM=dM, dq=dq)
    expected = (at(H) - at(-H)) / (2 * H)
    np.testing.assert_allclose(found.z, expected, atol=1e-6 * (1 + np.abs(expected).max()))
    gradient = derivative.vjp(g)
    assert g @ found.z == pytest.approx(float((gradient.M * dM).sum() + gradient.q @ dq), rel=1e-10)
    assert not derivative.degenerate.any()
    assert derivative.unique
    assert set(derivative.mode) <= {"free", "lower"}


@pytest.mark.parametrize("seed", range(6))
def test_boxed_against_differences_with_moving_bounds(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    M, q = A @ A.T + np.eye(6), rng.standard_normal(6) * 3
    lo, hi = -rng.uniform(0.1, 1, 6), rng.uniform(0.1, 1, 6)
    lo[3:], hi[3:] = -0.4, 0.4
    lo[0], hi[0] = 0.0, np.inf
    index = [-1, -1, -1, 0, 0, -1]
    dq, dlo, dhi, g = (rng.standard_normal(6) for _ in range(4))
    dlo[0] = dhi[0] = 0.0

    def make(t):
        return perp.BoxedLCP(M, q + t * dq, lo + t * dlo, hi + t * dhi, friction_index=index)

    derivative = perp.derivative(make(0.0), perp.solve(make(0.0), tol=1e-12))
    if derivative.degenerate.any():
        pytest.skip("a switch")
    found = derivative.jvp(dq=dq, dlower=dlo, dupper=dhi)
    expected = (solved(make(H)) - solved(make(-H))) / (2 * H)
    np.testing.assert_allclose(found.z, expected, atol=1e-6 * (1 + np.abs(expected).max()))
    gradient = derivative.vjp(g)
    total = gradient.q @ dq + gradient.lower @ dlo + gradient.upper @ dhi
    assert g @ found.z == pytest.approx(float(total), rel=1e-9, abs=1e-12)


def test_mcp_against_a_closed_form():
    """z₀² = θ, z₁ rests at 0, z₂ at its upper bound: dz₀/dθ = 1 / (2 √θ)."""
    theta = 2.0
    problem = perp.MCP(
        lambda z: np.array([z[0] ** 2 - theta, z[1] + z[0], z[2] - 5]), [0.0, 0.0, 0.0], [np.inf, np.inf, 1.0],
        start=[1.0, 1.0, 0.0],
    )  # fmt: skip
    derivative = perp.derivative(problem, perp.solve(problem))
    assert derivative.mode.tolist() == ["free", "lower", "upper"]
    found = derivative.jvp(df=[-1.0, 0, 0], dupper=[0, 0, 1.0])
    np.testing.assert_allclose(found.z, [0.5 / np.sqrt(theta), 0, 1], rtol=1e-7)
    assert found.w[1] == pytest.approx(0.5 / np.sqrt(theta))


def test_at_a_switch_one_side_is_taken_and_named():
    problem = perp.LCP([[1.0]], [0.0])
    derivative = perp.derivative(problem, perp.solve(problem))
    assert derivative.degenerate.tolist() == [True]
    assert "rests" in derivative.one_sided
    assert derivative.jvp(dq=[1.0]).z[0] == 0  # that of growing q; of falling q it would be −1


def test_what_is_not_unique_has_the_derivative_of_least_norm_and_says_so():
    problem = perp.LCP(np.ones((2, 2)), [-2.0, -2.0])
    derivative = perp.derivative(problem, perp.solve(problem))
    if derivative.free.all():
        assert not derivative.unique
        found = derivative.jvp(dq=[-1.0, -1.0])
        assert found.z == pytest.approx([0.5, 0.5])
        assert found.w == pytest.approx([0, 0], abs=1e-12)


def test_what_has_no_derivative_is_refused():
    problem = perp.LCP([[0.0]], [-1.0])
    with pytest.raises(perp.ProblemError, match="not solved"):
        perp.derivative(problem, perp.solve(problem, throw=False))
    with pytest.raises(perp.SolverMismatch, match="ContactProblem"):
        perp.derivative(object(), perp.solve(perp.LCP([[1.0]], [-1.0])))  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", ["lcp", "boxed", "friction", "magnitude", "mcp"])
def test_verify_compares_with_differences(kind, monkeypatch):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 6))
    M, q, low, high = M @ M.T + np.eye(6), rng.standard_normal(6), [0, -0.5, -0.5] * 2, [np.inf, 0.5, 0.5] * 2
    index = [-1, 0, 0, -1, 3, 3]
    problem = {
        "lcp": lambda: perp.LCP(M, q),
        "boxed": lambda: perp.BoxedLCP(M, q, -0.3, 0.2),
        "friction": lambda: perp.BoxedLCP(M, q, low, high, friction_index=index),
        "magnitude": lambda: perp.BoxedLCP(
            M, q, [-1, -0.5, -0.5] * 2, [1, 0.5, 0.5] * 2, friction_index=index, negative_limit="magnitude"
        ),
        "mcp": lambda: perp.MCP(
            lambda z: M @ z + q + z**3, np.zeros(6), np.full(6, np.inf), lambda z: M + np.diag(3 * z**2)
        ),
    }[kind]()
    solution = perp.solve(problem, tol=1e-11)
    perp.derivative(problem, solution, verify=True)
    honest = perp.derivatives.BoxedDerivative.jvp

    def wrong(self, **changes):
        found = honest(self, **changes)
        return perp.derivatives.Tangent(1.01 * found.z, found.w)

    monkeypatch.setattr(perp.derivatives.BoxedDerivative, "jvp", wrong)
    with pytest.raises(perp.derivatives.DerivativeError, match="differs"):
        perp.derivative(problem, solution, verify=True)
