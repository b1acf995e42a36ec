"""Compiled pieces of the contact solvers against NumPy twins, finite differences and the shared residual."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.kernels.elimination import eliminate
from perp.solvers.contact.canonical import blocks_of, velocity
from perp.solvers.contact.linearise import linearise, linearise_row
from perp.solvers.contact.linearise_relaxed import linearise_relaxed
from perp.solvers.contact.newton_system import newton_step
from perp.solvers.contact.residual import norm, residual_at
from perp.solvers.contact.sweep import WORKSPACE, sweeps

SETS = {
    "free": lambda mu, r: perp.Free(),
    "nonnegative": lambda mu, r: perp.Nonnegative(),
    "box": lambda mu, r: perp.Box(-mu, r),
    "coulomb": lambda mu, r: perp.Coulomb(mu),
    "planar": lambda mu, r: perp.Coulomb(mu, dimension=2),
    "elliptic": perp.Elliptic,
    "flat elliptic": lambda mu, r: perp.Elliptic(0.0, mu),
    "rolling": lambda mu, r: perp.Rolling(mu, 0.1 * r),
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
        x = np.zeros(problem.size)
        sweeps(blocks_of(problem), x, 1)
        assert perp.residual(problem, x) < 1e-12


def test_velocity_of_blocks_is_the_matrix_product():
    problem = mixed(1)
    blocks = blocks_of(problem)
    x = np.random.default_rng(2).normal(size=problem.size)
    u = np.empty(problem.size)
    velocity(blocks, x, u)
    expected = blocks.scale * (problem.W @ (blocks.scale * x) + problem.q)
    np.testing.assert_allclose(u, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("relaxed", [False, True])
def test_compiled_residual_is_the_shared_one(relaxed):
    problem = mixed(3, relaxed=relaxed)
    blocks = blocks_of(problem)
    x = np.random.default_rng(4).normal(size=problem.size)
    value = residual_at(blocks, x, np.empty(problem.size), norm(blocks.q), np.zeros(WORKSPACE))
    parts = perp.residuals(problem, blocks.scale * x)
    rolling = (problem.sets.kind == 5).any()
    assert value >= parts.value * (1 - 1e-12)
    assert value == pytest.approx(max(parts.value, 0.0 if rolling else parts.literature), rel=1.0)


def test_elimination_reaches_every_constraint_once_and_covers_the_fill():
    problem = mixed(6, 12)
    blocks = blocks_of(problem)
    order, upper, upper_index, lower, lower_index = eliminate(blocks.first, blocks.column)
    assert sorted(order) == list(range(problem.contact_count))
    position = np.argsort(order)
    for c in range(problem.contact_count):
        assert (position[upper_index[upper[c] : upper[c + 1]]] > position[c]).all()
        assert (np.diff(position[lower_index[lower[c] : lower[c + 1]]]) > 0).all()
    assert upper_index.size == lower_index.size


def _dense_newton(problem, blocks, rho, sigma, x, u):
    """The Newton matrix and right-hand side in NumPy, from the same per-constraint derivatives."""
    n = problem.size
    W = blocks.scale[:, None] * problem.W.toarray() * blocks.scale
    F, B, C = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
    for c in range(problem.contact_count):
        i, j = blocks.start[c], blocks.start[c + 1]
        size = j - i
        b, d = np.zeros((size, size)), np.zeros((size, size))
        if blocks.mu[c] < 0:
            linearise_row(blocks.low[c], blocks.high[c], rho[c], x, u, i, F, b, d)
        elif problem.relaxed:
            change = np.ones(5)
            change[1:3] = max(blocks.t1[c], 1e-9), max(blocks.t2[c], 1e-9)
            linearise_relaxed(
                size, blocks.mu[c], blocks.mu_r[c], change, rho[c], x, u, i, F, b, d, np.empty(5)
            )
        else:
            linearise(
                size, blocks.mu[c], blocks.mu_r[c], blocks.t1[c], blocks.t2[c], rho[c], x, u, i, F, b, d
            )
        B[i:j, i:j] = b + sigma * rho[c] * d
        C[i:j, i:j] = d
    return B + C @ W, F


@pytest.mark.parametrize("relaxed", [False, True])
def test_newton_step_is_the_dense_solve(relaxed):
    problem = mixed(7, 14, relaxed=relaxed)
    blocks = blocks_of(problem)
    rng = np.random.default_rng(8)
    x, u, dx = rng.normal(size=problem.size) / problem.size, np.empty(problem.size), np.zeros(problem.size)
    velocity(blocks, x, u)
    newton_step(blocks, eliminate(blocks.first, blocks.column), blocks.d, 1e-3, x, u, dx)
    matrix, F = _dense_newton(problem, blocks, blocks.d, 1e-3, x, u)
    np.testing.assert_allclose(dx, np.linalg.solve(matrix, -F), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("relaxed", [False, True])
def test_newton_matrix_is_the_derivative_of_the_equations(relaxed):
    problem = mixed(9, 16, relaxed=relaxed)
    blocks = blocks_of(problem)
    rng = np.random.default_rng(10)
    x, direction = rng.normal(size=(2, problem.size)) / problem.size
    u = np.empty(problem.size)

    def equations(point):
        velocity(blocks, point, u)
        return _dense_newton(problem, blocks, blocks.d, 0.0, point, u)

    matrix, _ = equations(x)
    h = 1e-6
    difference = (equations(x + h * direction)[1] - equations(x - h * direction)[1]) / (2 * h)
    # a flat elliptic cone of the relaxation is treated as a very thin one: its own row is not compared
    flat = np.isin(np.repeat(np.arange(problem.contact_count) % len(SETS), problem.sets.dimension), [6])
    keep = ~flat if relaxed else np.ones(problem.size, dtype=bool)
    np.testing.assert_allclose((matrix @ direction)[keep], difference[keep], rtol=1e-4, atol=1e-4)
