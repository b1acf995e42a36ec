"""Compiled pieces of the contact solvers against NumPy twins and the shared residual."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.compilation.kernel import whole
from perp.kernels.elimination import eliminate
from perp.kernels.packed import pack
from perp.kernels.residual import norm, residual_at, workspace
from perp.kernels.sweep import sweeps
from perp.problems.law_kernels import verdict
from perp.problems.validation import freeze

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
        value = whole(residual_at)(blocks, x, np.empty(x.size), whole(norm)(blocks.q), whole(workspace)())
        impulse, sets = packed.impulse(x), problem.sets
        # with what is at work on the islands: loops stop by it, and `solve` looks at each row too
        shared = verdict(
            problem.data_size, sets.kind, sets.start, sets.parameters, problem.mobility,
            problem.rolling_length, problem.relaxed, freeze(impulse), problem.evaluate(impulse),
        )  # fmt: skip
        # it also holds the literature's figure, in packed units
        assert value >= shared * (1 - 1e-9)
        assert value <= shared + 2.0


def test_elimination_reaches_every_constraint_once_and_covers_the_fill():
    problem = mixed(6, 12)
    blocks = pack(problem).blocks
    order, upper, upper_index, lower, lower_index = whole(eliminate)(blocks.first, blocks.column)
    assert sorted(order) == list(range(problem.contact_count))
    position = np.argsort(order)
    for c in range(problem.contact_count):
        assert (position[upper_index[upper[c] : upper[c + 1]]] > position[c]).all()
        assert (np.diff(position[lower_index[lower[c] : lower[c + 1]]]) > 0).all()
    assert upper_index.size == lower_index.size
