"""The residual of MCPs: in the own size of every function and every variable, near the answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp

INF = np.inf


def mcp(f, lo, hi, start=None) -> perp.MCP:
    """An MCP of an analytic function, with its derivative by complex steps."""

    def jacobian(z):
        return np.array([np.imag(f(z + 1e-30j * unit)) / 1e-30 for unit in np.eye(z.size)]).T

    return perp.MCP(lambda z: np.real(f(z.astype(complex))), lo, hi, jacobian, start=start)


WRONG = {
    "large far away": (mcp(lambda z: 1e10 * np.exp(-z) + z - 30, [-INF], [INF]), [18.88]),
    "hardly depends on z": (mcp(lambda z: 1 + 1e-10 * np.sin(z), [0.0], [INF], [90.0]), [90.0]),
    "beside a large row": (
        mcp(lambda z: np.array([z[0] - 1, 1e12 * np.exp(-z[1])]), [0.0, 0.0], [INF, 5.0]), [0.0, 5.0],
    ),
    "flat cubic": (mcp(lambda z: (z - 1e4) ** 3, [-INF], [INF]), [9984.8]),
    "far start": (mcp(lambda z: np.exp(z) - 2, [-INF], [INF], [40.0]), [21.0]),
    "pole": (mcp(lambda z: 1 / (z - 1), [-INF], [INF], [2.0]), [1 + 1e-10]),
    "steep within 1e-9": (mcp(lambda z: np.tanh(1e9 * (z - 1)) + 1.0001, [-INF], [INF]), [1.0]),
    "ray": (perp.MCP.affine([[1.0, -1], [-1, 1]], [1.0, 1], 0, INF), [1e10, 1e10]),
    "behind a large variable at its bound": (
        mcp(lambda z: np.array([z[0] - 1 + 1e10 * (z[1] - 5), -z[1]]), [0.0, 0.0], [INF, 5.0]), [0.0, 5.0],
    ),
    "below its bound": (mcp(lambda z: z + 1, [0.0], [INF]), [-1e-3]),
    "above its bound": (mcp(lambda z: z - 9, [0.0], [5.0]), [5.001]),
    "bound against the sign": (mcp(lambda z: z - 9, [0.0], [5.0]), [0.0]),
    "zero between here and the bound": (
        mcp(lambda z: 1e-6 * np.tanh((z - 7e-10) / 2e-11), [0.0], [INF]), [9.4e-9],
    ),
    "another function that turns on the way to the bound": (
        mcp(lambda z: np.array([1 + z[0], z[1] - 1 - np.tanh(z[0] / 2e-10)]), [0.0, 0.0], [INF] * 2), [9e-9, 2.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_called_wrong(name):
    problem, z = WRONG[name]
    assert perp.residual(problem, z) > 1e-5
    assert perp.residuals(problem, z).value == perp.residual(problem, z)


@pytest.mark.parametrize("name", WRONG)
def test_no_solver_calls_it_solved(name):
    problem, z = WRONG[name]
    for start in (None, z):
        solution = perp.solve(problem, start=start, throw=False)
        assert not solution.solved or np.abs(solution.z - z).max() > 1e-9


RIGHT = {
    "exponential": (mcp(lambda z: np.exp(z) - 2, [-INF], [INF]), [np.log(2)]),
    "tiny": (mcp(lambda z: 1e-20 * (1e12 * z - 3), [0.0], [INF]), [3e-12]),
    "huge": (mcp(lambda z: 1e20 * (1e-12 * z - 3), [0.0], [INF]), [3e12]),
    "at its bound, far from 0": (mcp(lambda z: z - 1e8 + 1, [1e8], [1e8 + 10]), [1e8]),
    "all rows vanish": (mcp(lambda z: np.array([z[0] * (1 + z[1]), z[1]]), [-INF] * 2, [INF] * 2), [0.0, 0]),
    "pushes more at its bound": (mcp(lambda z: 1 + 1e6 * np.exp(-z / 1e-11), [0.0], [INF]), [5e-10]),
    "terms that cancel": (
        mcp(lambda z: np.array([z[0] - z[1], z[0] + z[1] - 0.2]), [-INF] * 2, [INF] * 2), [0.1, 0.1 + 1e-17],
    ),
    "infinite slope at the bound": (
        perp.MCP(lambda z: np.sqrt(z) + 1, [0.0], [INF],
                 lambda z: np.array([[INF if z[0] == 0 else 0.5 / z[0] ** 0.5]]), start=[1.0]), [0.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_called_right(name):
    problem, z = RIGHT[name]
    assert perp.residual(problem, z) < 1e-9


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_units_of_functions_and_variables_leave_it_as_it_is(size):
    """f → (r₀ f₀, r₁ f₁) and z → (c₀ z₀, c₁ z₁), where both functions depend on both variables."""

    def f(z):
        return np.array([z[0] ** 2 + z[1] - 3, z[0] - z[1] ** 3 + 1])

    rows, columns = np.array([size, 1 / size]), np.array([1 / size, size])
    base = mcp(f, [0.0, 0.0], [INF, INF])
    scaled = mcp(lambda z: rows * f(z / columns), [0.0, 0.0], [INF, INF])
    z = np.array([1.2, 1.3])
    assert perp.residual(scaled, z * columns) == pytest.approx(perp.residual(base, z), rel=1e-6)


def test_sparse_and_dense_jacobians_give_the_same():
    M, q = np.array([[4.0, -1, 0], [-1, 4, -1], [0, -1, 4]]), np.array([-1.0, 2, -3])
    z = np.array([0.3, 0.1, 0.8])
    dense, sparse = perp.MCP.affine(M, q, 0, 1), perp.MCP.affine(csr_array(M), q, 0, 1)
    assert perp.residual(dense, z) == pytest.approx(perp.residual(sparse, z), rel=1e-14)
    assert perp.residual(dense, z) > 0.1


def test_parts_tell_what_is_wrong():
    problem = mcp(lambda z: z - np.array([1.0, 1.0]), [0.0, 0.0], [INF, 0.5])
    assert perp.residuals(problem, [1.0, 0.5]).value == 0
    outside = perp.residuals(problem, [1.0, 0.6])
    assert outside.primal == pytest.approx(0.2)  # 0.1 outside, where f is 0.5 at the bound
    wrong_sign = perp.residuals(problem, [0.5, 0.5])
    assert wrong_sign.dual == pytest.approx(0.5)
    assert wrong_sign.literature == pytest.approx(0.5)
    loose = perp.residuals(mcp(lambda z: z + 1, [0.0], [INF]), [0.5])
    assert loose.complementarity > 0.1


def test_a_point_outside_of_a_small_bound_is_seen_without_a_jacobian():
    """Differences stay in the box: at a point outside they saw no function depend on the variable."""
    problem = perp.MCP(lambda z: 1 / z, [8.3e-7], [np.inf])
    assert perp.residual(problem, [8.26e-7]) > 1e-3
    assert perp.residual(problem, [8.3e-7]) == 0


def test_a_huge_function_outside_of_a_box_excuses_no_distance_from_it():
    """Found by the search: 40 widths outside f is 1e27, which made the distance look small to 1.5e-9."""
    unit = 1.77e-11

    def f(z):
        return 1.78e5 * (1.83 * (z / unit + 11.9) + np.exp(np.minimum((z / unit).real, 600.0)) + 5.7)

    problem = mcp(f, [-11.9 * unit], [-9.7 * unit])
    assert perp.residual(problem, [-11.9 * unit]) == 0
    for outside in (9.0e-10, 1.6e-9, 3.2e-9):
        assert perp.residual(problem, [outside]) > 1


@pytest.mark.parametrize("z", [-1.628e-4 + 1.5e-9, -1.628e-4 - 1.5e-9])
def test_a_small_bound_counts_in_its_own_size(z):
    """Found by a search: 1.5e-9 outside of a box at 1.6e-4 passed for near, in units of 1."""
    problem = mcp(lambda z: (z + 9.6) ** 7, [-1.628e-4], [-1.628e-4])
    assert perp.residual(problem, [z]) > 1e-6
    assert perp.residual(problem, [-1.628e-4]) == 0.0
    empty = mcp(lambda z: 0 * z + 1.0, [0.0], [1e-6])
    assert perp.residual(empty, [5e-9]) > 1e-3
