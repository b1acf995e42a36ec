"""The Newton system by bodies against the one by constraints, and solvers that use it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

import perp
from perp.kernels.body_elimination import BodyOrder, body_order_of
from perp.kernels.linear_system import choose_order
from perp.kernels.newton_step import newton_step
from perp.kernels.packed import pack, velocity
from perp.kernels.proximal import regularised


def chain(bodies: int, contacts: int, *, seed: int, form: str = "blocks", relaxed: bool = False):
    """Bodies in a row, neighbours joined by so many contacts of several kinds, the first one on the ground."""
    rng = np.random.default_rng(seed)
    kinds = [perp.Coulomb(0.5), perp.Elliptic(0.4, 0.7), perp.Rolling(0.5, 0.01), perp.Nonnegative()]
    sets, rows = [], []
    for b in range(bodies):
        for k in range(contacts):
            kind = kinds[k % len(kinds)]
            size = {0: 3, 1: 3, 2: 5, 3: 1}[k % len(kinds)]
            line = np.zeros((size, 6 * bodies))
            line[:, 6 * b : 6 * b + 6] = rng.normal(size=(size, 6))
            if b:
                line[:, 6 * b - 6 : 6 * b] = rng.normal(size=(size, 6))
            sets.append(kind)
            rows.append(line)
    blocks = []
    for _ in range(bodies):
        R = rng.normal(size=(6, 6))
        blocks.append(R @ R.T + np.eye(6))
    mass = np.array(blocks) if form == "blocks" else csr_array(block_diag(blocks))
    J = csr_array(np.vstack(rows))
    return perp.ContactProblem.from_dynamics(mass, J, rng.normal(size=6 * bodies), 0.0, sets, relaxed=relaxed)


@pytest.mark.parametrize("form", ["blocks", "sparse"])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("weight", [1e-2, 1e-5])
def test_newton_step_by_bodies_is_that_by_constraints(form, relaxed, weight):
    problem = chain(6, 4, seed=1, form=form, relaxed=relaxed)
    packed = pack(problem)
    rho, rng = packed.rho, np.random.default_rng(2)
    bodies = body_order_of(problem)
    assert bodies is not None
    x = 0.1 * np.abs(rng.normal(size=packed.rows))
    inner = regularised(packed.blocks, rho, weight, x)
    u, by_bodies, by_constraints = np.empty(x.size), np.zeros(x.size), np.zeros(x.size)
    velocity(inner, x, u)
    newton_step(inner, packed.order, rho, 0.0, x, u, by_constraints)
    newton_step(inner, bodies, rho, 0.0, x, u, by_bodies)
    assert np.abs(by_constraints).max() > 0.0
    np.testing.assert_allclose(by_bodies, by_constraints, rtol=1e-6, atol=1e-9 * np.abs(by_constraints).max())


def test_many_contacts_between_few_bodies_are_solved_by_bodies():
    problem = chain(25, 16, seed=3)
    order, _ = choose_order(problem, pack(problem))
    assert isinstance(order, BodyOrder)
    for solver in ("proximal-point", "interior-point"):
        assert perp.solve(problem, solver, throw=False).residual <= 1e-8, solver


def test_problems_without_bodies_are_solved_by_constraints():
    problem = chain(25, 16, seed=3)
    reduced = perp.ContactProblem(problem.W, problem.q, problem.sets)
    assert body_order_of(reduced) is None
    assert not isinstance(choose_order(reduced, pack(reduced))[0], BodyOrder)


def test_either_way_leads_to_the_same_motion():
    problem = chain(5, 6, seed=4)
    answers = [
        perp.solve(problem, "proximal-point", options={"work_on": way}) for way in ("delassus", "bodies")
    ]
    assert problem.dynamics is not None
    velocities = [problem.dynamics.body_velocity(answer.z) for answer in answers]
    np.testing.assert_allclose(velocities[0], velocities[1], atol=1e-6)


def test_a_problem_without_bodies_cannot_be_worked_on_by_bodies():
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.5, 0.0], 0.5)
    with pytest.raises(perp.ProblemError, match="mass in small groups"):
        perp.solve(problem, "proximal-point", options={"work_on": "bodies"})
    with pytest.raises(perp.SolverError, match="work_on"):
        perp.solve(problem, "proximal-point", options={"work_on": "nothing"})
