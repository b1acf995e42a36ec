"""Compiled pieces of the contact solvers against NumPy twins, finite differences and the shared residual."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.kernels.elimination import eliminate
from perp.kernels.equations import linearise, linearise_row
from perp.kernels.newton_step import newton_step
from perp.kernels.packed import pack, velocity
from perp.kernels.relaxed_equations import linearise_relaxed
from perp.kernels.residual import norm, residual_at, workspace
from perp.kernels.sweep import sweeps

SETS = {
    "free": lambda mu, r: perp.Free(),
    "nonnegative": lambda mu, r: perp.Nonnegative(),
    "box": lambda mu, r: perp.Box(-mu, r),
    "coulomb": lambda mu, r: perp.Coulomb(mu),
    "planar": lambda mu, r: perp.Coulomb(mu, dimension=2),
    "elliptic": perp.Elliptic,
    "flat elliptic": lambda mu, r: perp.Elliptic(0.0, mu),
    "rolling": lambda mu, r: perp.Rolling(mu, 0.1 * r),
    "line": lambda mu, r: perp.Elliptic(mu),
    "spinning": lambda mu, r: perp.Elliptic(mu, r, 0.1 * mu),
    "holes": lambda mu, r: perp.Elliptic(mu, 0.0, 0.0, r, 0.3),
    "condim 6": lambda mu, r: perp.Elliptic(mu, mu, 0.1 * r, 0.02, 0.02),
}


def mixed(seed: int, count: int = 9, *, relaxed: bool = False) -> perp.ContactProblem:
    """A sparse problem with every set; constraints act on their neighbours only."""
    rng = np.random.default_rng(seed)
    names = list(SETS)
    sets = perp.Sets([SETS[names[k % len(names)]](*rng.uniform(0.1, 1.5, 2)) for k in range(count)])
    rows = sets.rows
    root = rng.normal(size=(rows, rows + 3))
    owner = np.repeat(np.arange(count), sets.dimension)
    W = root @ root.T / rows
    W = W * (abs(owner[:, None] - owner) <= 2) + rows * np.eye(rows)
    from scipy.sparse import csr_array

    return perp.ContactProblem(csr_array(W), rng.normal(size=rows), sets, relaxed=relaxed)


@pytest.mark.parametrize("name", [name for name in SETS if name != "rolling"])
def test_one_sweep_solves_a_single_constraint_exactly(name):
    rng = np.random.default_rng(5)
    for _ in range(60):
        mu, other = 10.0 ** rng.uniform(-2, 1, 2)
        member = SETS[name](mu, other)
        root = rng.normal(size=(member.dimension, 6))
        problem = perp.ContactProblem(root @ root.T, rng.normal(size=member.dimension), perp.Sets([member]))
        packed = pack(problem)
        x = np.zeros(packed.rows)
        sweeps(packed.struct, x, 1)
        assert perp.residual(problem, packed.impulse(x)) < 1e-12


def test_velocity_of_blocks_is_the_matrix_product():
    problem = mixed(1, 13)
    packed = pack(problem)
    x = np.random.default_rng(2).normal(size=packed.rows)
    impulse = packed.impulse(x)
    np.testing.assert_allclose(packed.unknowns(impulse), x, rtol=1e-14)
    expected = packed.blocks.scale * (problem.W @ impulse + problem.q)[packed.blocks.row]
    np.testing.assert_allclose(packed.velocity(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("relaxed", [False, True])
def test_compiled_residual_is_the_shared_one(relaxed):
    problem = mixed(3, 13, relaxed=relaxed)
    packed = pack(problem)
    blocks = packed.blocks
    for k in range(20):
        x = 10.0 ** -(k / 4) * np.random.default_rng(k).normal(size=packed.rows)
        value = residual_at(blocks, x, np.empty(x.size), norm(blocks.q), workspace())
        # it also holds the literature's figure, in packed units
        assert value >= perp.residual(problem, packed.impulse(x)) * (1 - 1e-9)
        assert value <= perp.residual(problem, packed.impulse(x)) + 2.0


def test_elimination_reaches_every_constraint_once_and_covers_the_fill():
    problem = mixed(6, 12)
    blocks = pack(problem).blocks
    order, upper, upper_index, lower, lower_index = eliminate(blocks.first, blocks.column)
    assert sorted(order) == list(range(problem.contact_count))
    position = np.argsort(order)
    for c in range(problem.contact_count):
        assert (position[upper_index[upper[c] : upper[c + 1]]] > position[c]).all()
        assert (np.diff(position[lower_index[lower[c] : lower[c + 1]]]) > 0).all()
    assert upper_index.size == lower_index.size


def _dense_newton(problem, blocks, rho, sigma, x, u):
    """The Newton matrix and right-hand side in NumPy, from the same per-constraint derivatives."""
    n, rows = blocks.q.size, blocks.row
    W = blocks.scale[:, None] * problem.W.toarray()[np.ix_(rows, rows)] * blocks.scale
    F, B, C = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
    for c in range(problem.contact_count):
        i, j = blocks.start[c], blocks.start[c + 1]
        size = j - i
        b, d = np.zeros((size, size)), np.zeros((size, size))
        if blocks.mu[c] < 0:
            linearise_row(blocks.low[c], blocks.high[c], rho[c], x, u, i, F, b, d)
        elif problem.relaxed:
            linearise_relaxed(size, blocks.mu[c], blocks.mu_r[c], rho[c], x, u, i, F, b, d, np.empty(12))
        else:
            linearise(size, blocks.mu[c], blocks.mu_r[c], rho[c], x, u, i, F, b, d)
        B[i:j, i:j] = b + sigma * rho[c] * d
        C[i:j, i:j] = d
    return B + C @ W, F


@pytest.mark.parametrize("relaxed", [False, True])
def test_newton_step_is_the_dense_solve(relaxed):
    problem = mixed(7, 14, relaxed=relaxed)
    blocks = pack(problem).blocks
    rng, n = np.random.default_rng(8), blocks.q.size
    x, u, dx = rng.normal(size=n) / n, np.empty(n), np.zeros(n)
    velocity(blocks, x, u)
    newton_step(blocks, eliminate(blocks.first, blocks.column), blocks.d, 1e-3, x, u, dx)
    matrix, F = _dense_newton(problem, blocks, blocks.d, 1e-3, x, u)
    np.testing.assert_allclose(dx, np.linalg.solve(matrix, -F), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("relaxed", [False, True])
def test_newton_matrix_is_the_derivative_of_the_equations(relaxed):
    problem = mixed(9, 16, relaxed=relaxed)
    blocks = pack(problem).blocks
    rng, n = np.random.default_rng(10), blocks.q.size
    x, direction = rng.normal(size=(2, n)) / n
    u = np.empty(n)

    def equations(point):
        velocity(blocks, point, u)
        return _dense_newton(problem, blocks, blocks.d, 0.0, point, u)

    matrix, _ = equations(x)
    h = 1e-6
    difference = (equations(x + h * direction)[1] - equations(x - h * direction)[1]) / (2 * h)
    np.testing.assert_allclose(matrix @ direction, difference, rtol=1e-4, atol=1e-4)
