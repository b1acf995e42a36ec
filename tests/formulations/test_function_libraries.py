"""Functions of CasADi, JAX and PyTorch with their own derivatives; each is skipped where it is not installed.

JAX and PyTorch run in a process of their own: JAX makes every later fork of its process a warning.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import perp

# z₀² = 2, and z₁ is pushed into its bound
EXPECTED = [np.sqrt(2), 0.25]
CODE = """
import numpy as np
import {module} as library
import perp

problem = perp.{maker}(
    lambda z: library.stack([z[0] ** 2 - 2, library.sin(z[0]) + library.exp(z[1])]), [0, 0.25], np.inf,
    start=[1.0, 1.0],
)
problem.check_jacobian()
print(problem.derivative(np.array([1.5, 0.5])).ravel().tolist())
solution = perp.solve(problem, tol=1e-10)
print(solution.z.tolist(), solution.w[1] > 0)
try:
    perp.{maker}(lambda z: z @ library.ones(3), 0, np.inf, start=[1.0, 1.0])
except (TypeError, RuntimeError) as error:
    print("its own", type(error).__name__)
"""


def test_casadi_expressions_and_functions() -> None:
    casadi = pytest.importorskip("casadi")
    x = casadi.SX.sym("x", 2)
    f = casadi.vertcat(x[0] ** 2 - 2, casadi.sin(x[0]) + casadi.exp(x[1]))
    for problem in (
        perp.from_casadi(f, x, [0, 0.25], np.inf, start=[1.0, 1.0]),
        perp.from_casadi(casadi.Function("f", [x], [f]), None, [0, 0.25], np.inf, start=[1.0, 1.0]),
    ):
        problem.check_jacobian()
        assert problem.derivative(np.ones(2)).nnz == 3
        assert perp.solve(problem, tol=1e-10).z == pytest.approx(EXPECTED, abs=1e-12)
    with pytest.raises(perp.ProblemError, match="x is missing"):
        perp.from_casadi(f)


@pytest.mark.parametrize(
    ("package", "module", "maker"), [("jax", "jax.numpy", "from_jax"), ("torch", "torch", "from_torch")]
)
def test_jax_and_torch_in_double_precision(package: str, module: str, maker: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"pip install {package}")
    code = CODE.format(module=module, maker=maker)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    slope, answer, error = run.stdout.splitlines()
    exact = [3.0, 0.0, np.cos(1.5), np.exp(0.5)]
    assert [float(x) for x in slope.strip("[]").split(",")] == pytest.approx(exact, rel=1e-14)
    z, pushed = answer.rsplit(" ", 1)
    assert [float(x) for x in z.strip("[]").split(",")] == pytest.approx(EXPECTED, abs=1e-12)
    assert pushed == "True"
    assert error.startswith("its own")
