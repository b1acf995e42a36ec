"""Functions of CasADi, JAX and PyTorch with their own derivatives; each is skipped where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import perp

# z₀² = 2, and z₁ is pushed into its bound
EXPECTED = [np.sqrt(2), 0.25]


def check(problem: perp.MCP) -> None:
    problem.check_jacobian()
    slope = problem.derivative(np.array([1.5, 0.5]))
    dense = slope.toarray() if hasattr(slope, "toarray") else slope
    assert dense == pytest.approx(np.array([[3.0, 0.0], [np.cos(1.5), np.exp(0.5)]]), rel=1e-14)
    solution = perp.solve(problem, tol=1e-10)
    assert solution.z == pytest.approx(EXPECTED, abs=1e-12)
    assert solution.w[1] > 0


def test_casadi_expressions_and_functions() -> None:
    casadi = pytest.importorskip("casadi")
    x = casadi.SX.sym("x", 2)
    f = casadi.vertcat(x[0] ** 2 - 2, casadi.sin(x[0]) + casadi.exp(x[1]))
    problem = perp.from_casadi(f, x, [0, 0.25], np.inf, start=[1.0, 1.0])
    assert problem.derivative(np.ones(2)).nnz == 3
    check(problem)
    check(perp.from_casadi(casadi.Function("f", [x], [f]), None, [0, 0.25], np.inf, start=[1.0, 1.0]))
    with pytest.raises(perp.ProblemError, match="x is missing"):
        perp.from_casadi(f)


def test_jax_functions_in_double_precision() -> None:
    pytest.importorskip("jax", reason="pip install jax")
    import jax.numpy as jnp

    check(
        perp.from_jax(
            lambda z: jnp.stack([z[0] ** 2 - 2, jnp.sin(z[0]) + jnp.exp(z[1])]), [0, 0.25], np.inf,
            start=[1.0, 1.0],
        )
    )  # fmt: skip


# torch warns about a part of itself while it is imported
@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning")
def test_torch_functions_in_double_precision() -> None:
    torch = pytest.importorskip("torch", reason="pip install torch")
    check(
        perp.from_torch(
            lambda z: torch.stack([z[0] ** 2 - 2, torch.sin(z[0]) + torch.exp(z[1])]), [0, 0.25], np.inf,
            start=[1.0, 1.0],
        )
    )  # fmt: skip


def test_what_they_raise_comes_through() -> None:
    pytest.importorskip("jax", reason="pip install jax")

    def wrong(z):
        return z @ np.ones(3)

    with pytest.raises(TypeError):
        perp.from_jax(wrong, 0, np.inf, start=[1.0, 1.0])
