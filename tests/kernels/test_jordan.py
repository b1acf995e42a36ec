"""Fischer–Burmeister on the second-order cone: algebra, derivatives, singular points, the Newton solver."""

from __future__ import annotations

import numpy as np
import pytest

import generators
import perp
from perp.compilation.kernel import whole
from perp.kernels.jordan import cone_root, gradient, linearise_jordan
from perp.kernels.packed import pack


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The Jordan product."""
    return np.concatenate([[a @ b], a[0] * b[1:] + b[0] * a[1:]])


def root(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    value, A, B = np.empty(a.size), np.empty((a.size, a.size)), np.empty((a.size, a.size))
    whole(cone_root)(a, b, value, A, B)
    return value


@pytest.mark.parametrize("seed", range(5))
def test_the_root_squares_to_the_sum_of_squares(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 3))
    z = a + b - root(a, b)
    assert z[0] >= np.linalg.norm(z[1:])
    np.testing.assert_allclose(product(z, z), product(a, a) + product(b, b), atol=1e-12)


def test_zero_exactly_at_complementary_pairs():
    e = np.array([0.6, 0.8])
    stick, open_ = np.array([2.0, 0.3, -0.4]), np.zeros(3)
    slip, against = np.array([2.0, *(2 * e)]), np.array([0.5, *(-0.5 * e)])
    for a, b in [(stick, open_), (open_, stick), (slip, against)]:
        np.testing.assert_allclose(root(a, b), 0.0, atol=1e-15)
    assert np.linalg.norm(root(slip, np.array([0.5, *(0.5 * e)]))) > 0.1
    assert np.linalg.norm(root(-stick, open_)) > 0.1


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_derivatives_agree_with_finite_differences(seed, size):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, size))
    value, A, B = np.empty(size), np.empty((size, size)), np.empty((size, size))
    whole(cone_root)(a, b, value, A, B)
    h = 1e-6
    for k in range(size):
        step = h * np.eye(size)[k]
        np.testing.assert_allclose(A[:, k], (root(a + step, b) - root(a - step, b)) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(B[:, k], (root(a, b + step) - root(a, b - step)) / (2 * h), atol=1e-7)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.zeros(3), np.zeros(3)),
        (np.array([1.0, 1.0, 0.0]), np.zeros(3)),
        (np.array([1.0, 0.6, 0.8]), np.array([2.0, 1.2, 1.6])),
        (np.array([1e-300, 0.0, 0.0]), np.zeros(3)),
    ],
    ids=["origin", "boundary", "one ray", "tiny"],
)
def test_singular_points_have_finite_derivatives_of_bounded_size(a, b):
    value, A, B = np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    whole(cone_root)(a, b, value, A, B)
    assert np.isfinite(value).all()
    # I − L_z⁻¹ L_a is at most 1 + √2 / √(least eigenvalue of the lifted root) large, and far less on a ray
    assert np.abs(A).max() < 3.0
    assert np.abs(B).max() < 3.0


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_derivative_and_gradient_of_the_equations_of_a_problem(seed, relaxed):
    problem = generators.contact(6, seed, kinds=(0, 1, 2, 3, 4, 6))
    packed = pack(problem.as_relaxed() if relaxed else problem)
    blocks, rng = packed.blocks, np.random.default_rng(seed)
    n, count = packed.rows, problem.contact_count
    d, x, u = rng.uniform(0.5, 2.0, count), rng.normal(size=n), np.empty(n)

    def evaluate(x):
        F, B, C = np.empty(n), np.zeros((count, 3, 3)), np.zeros((count, 3, 3))
        norm = linearise_jordan(packed.struct, d, x, u, F, B, C)
        assert norm == pytest.approx(np.linalg.norm(F))
        return F, B, C

    F, B, C = evaluate(x)
    dx, h = rng.normal(size=n), 1e-6
    du = packed.velocity(dx) - blocks.q
    change = np.empty(n)
    for c in range(count):
        rows = slice(blocks.start[c], blocks.start[c + 1])
        k = blocks.start[c + 1] - blocks.start[c]
        change[rows] = B[c, :k, :k] @ dx[rows] + C[c, :k, :k] @ du[rows]
    numeric = (evaluate(x + h * dx)[0] - evaluate(x - h * dx)[0]) / (2 * h)
    np.testing.assert_allclose(change, numeric, atol=1e-6)
    slope = np.empty(n)
    gradient(packed.struct, F, B, C, slope)
    assert slope @ dx == pytest.approx(F @ change, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_solver_on_random_mixtures(seed):
    problem = generators.contact(4 + seed, seed, kinds=(0, 1, 2, 3, 4, 6))
    assert perp.solve(problem, "newton-fb").residual <= 1e-8
    assert perp.solve(problem.as_relaxed(), "newton-fb").residual <= 1e-8


def test_more_contact_rows_than_degrees_of_freedom():
    """Eight contacts on one body: W has rank 6 of 24."""
    rng = np.random.default_rng(4)
    J = rng.normal(size=(24, 6))
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ np.array([0, 0, -1.0, 0.2, 0, 0.1]), 0.5)
    assert perp.solve(problem, "newton-fb", tol=1e-6).residual <= 1e-6


def test_contacts_without_friction_are_scalar_rows():
    problem = perp.ContactProblem.coulomb(np.eye(6), [-1.0, 0.5, 0.0, 2.0, 0.0, 0.3], [0.0, 0.5])
    np.testing.assert_allclose(perp.solve(problem, "newton-fb").z, [1.0, 0, 0, 0, 0, 0], atol=1e-8)


def test_rolling_contacts_are_refused_with_the_reason():
    problem = perp.ContactProblem(np.eye(5), -np.ones(5), [perp.Rolling(0.5, 0.1)])
    with pytest.raises(perp.SolverMismatch, match="second-order cone"):
        perp.solve(problem, "newton-fb")


def test_bad_options_are_refused():
    with pytest.raises(perp.PerpError, match="sweeps"):
        perp.solve(generators.contact(2, 1, kinds=(3,)), "newton-fb", options={"sweeps": -1})
