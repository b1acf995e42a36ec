"""The dynamics form: condensed lazily, the same whatever form the mass has."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp
from perp.problems.mass import FactorisedMass, InverseMass


def blocks(count=5, k=6, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([generators.spd(k, rng, shift=1.0) for _ in range(count)])


@pytest.mark.parametrize("form", ["blocks", "dense", "sparse", "sparse jacobian", "all sparse", "shuffled"])
def test_delassus_and_free_velocity_of_every_form(form):
    mass_blocks = blocks()
    rng = np.random.default_rng(1)
    J, p, b = rng.standard_normal((9, 30)), rng.standard_normal(30), rng.standard_normal(9)
    mass = np.zeros((30, 30))
    for i, block in enumerate(mass_blocks):
        mass[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
    if form == "shuffled":
        order = rng.permutation(30)
        mass, J, p = mass[np.ix_(order, order)], J[:, order], p[order]
    given_mass = {"blocks": mass_blocks, "dense": mass, "sparse jacobian": mass}.get(form, sp.csr_array(mass))
    given_J = sp.csr_array(J) if form in ("sparse jacobian", "all sparse", "shuffled") else J
    problem = perp.ContactProblem.from_dynamics(
        given_mass, given_J, p, b, perp.Sets.coulomb([0.5] * 3), compliance=1e-3
    )
    assert "W" not in vars(problem), "W is formed only when it is needed"
    inverse = np.linalg.inv(mass)
    W = problem.W.toarray() if sp.issparse(problem.W) else problem.W
    np.testing.assert_allclose(W, J @ inverse @ J.T + 1e-3 * np.eye(9), atol=1e-12)
    np.testing.assert_allclose(problem.q, J @ inverse @ p + b, atol=1e-12)
    x = rng.standard_normal(9)
    np.testing.assert_allclose(problem.evaluate(x), W @ x + problem.q, atol=1e-11)


def test_a_mass_that_couples_many_unknowns_is_factorised():
    n = 60
    mass = sp.diags_array([-np.ones(n - 1), np.full(n, 4.0), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    J = sp.random_array((300, n), density=0.05, rng=np.random.default_rng(0)).tocsr()
    problem = perp.ContactProblem.from_dynamics(mass, J, np.ones(n), sets=[perp.Nonnegative()] * 300)
    assert problem.dynamics is not None
    assert isinstance(problem.dynamics.mass_solver, FactorisedMass)
    expected = J @ np.linalg.inv(mass.toarray()) @ J.T.toarray()
    np.testing.assert_allclose(problem.W.toarray(), expected, atol=1e-13)
    small = perp.ContactProblem.from_dynamics(sp.eye_array(n), J, np.ones(n), sets=[perp.Nonnegative()] * 300)
    assert small.dynamics is not None
    assert isinstance(small.dynamics.mass_solver, InverseMass)


def test_body_velocity_of_a_solution():
    problem = generators.contact(4, 0, kinds=(1, 3))
    solution = perp.solve(problem)
    assert isinstance(solution, perp.ContactSolution)
    assert problem.dynamics is not None
    mass, J = problem.dynamics.mass, problem.dynamics.jacobian
    v = solution.body_velocity
    assert v is not None
    np.testing.assert_allclose(mass @ v, problem.dynamics.momentum + J.T @ solution.impulse, atol=1e-12)
    np.testing.assert_allclose(J @ v + problem.dynamics.bias, solution.velocity, atol=1e-12)


def test_a_slightly_asymmetric_mass_from_a_real_file_is_taken():
    mass = np.eye(3)
    mass[0, 1] = 1e-6
    assert perp.ContactProblem.from_dynamics(mass, np.eye(3)[:1], np.ones(3), sets=[perp.Free()]).size == 1


def test_relaxed_and_exact_share_their_data():
    problem = generators.contact(3, 0, kinds=(3,))
    relaxed = problem.as_relaxed()
    assert relaxed.relaxed
    assert not problem.relaxed
    assert relaxed.as_exact().equals(problem)
    assert not relaxed.equals(problem)
