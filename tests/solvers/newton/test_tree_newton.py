"""The solver of the time step on problems with a mass and a Jacobian, against solvers on W."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

import perp

KINDS = (
    perp.Coulomb(0.5), perp.Elliptic(0.4, 0.7), perp.Nonnegative(), perp.Elliptic(0.3, 0.5, 0.02), perp.Free(),
    perp.Box(-0.1, 0.2),
)  # fmt: skip


def chain(bodies: int, contacts: int, *, seed: int, form: str = "blocks", compliance=0.0, kinds=KINDS):
    """Bodies in a row, neighbours joined by so many constraints of several kinds, the first on the ground."""
    rng = np.random.default_rng(seed)
    sets, rows, masses = [], [], []
    for b in range(bodies):
        for k in range(contacts):
            sets.append(kinds[k % len(kinds)])
            line = np.zeros((sets[-1].dimension, 6 * bodies))
            line[:, 6 * b : 6 * b + 6] = rng.normal(size=(len(line), 6))
            if b:
                line[:, 6 * b - 6 : 6 * b] = rng.normal(size=(len(line), 6))
            rows.append(line)
        R = rng.normal(size=(6, 6))
        masses.append(R @ R.T + np.eye(6))
    J, momentum, mass = np.vstack(rows), rng.normal(size=6 * bodies), np.array(masses)
    if form == "scattered":
        # freedoms of a body that are no neighbours
        order = rng.permutation(6 * bodies)
        mass = csr_array(block_diag(masses).tocsr()[order][:, order])
        J, momentum = J[:, order], momentum[order]
    elif form == "dense":
        mass = block_diag(masses).toarray()
    return perp.ContactProblem.from_dynamics(
        mass, csr_array(J) if form == "scattered" else J, momentum, 0.0, sets, compliance=compliance,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["blocks", "scattered", "dense"])
@pytest.mark.parametrize("compliance", [0.0, 0.1])
def test_the_motion_is_that_of_solvers_on_w(form, compliance):
    problem = chain(6, 2, seed=1, form=form, compliance=compliance)
    solution = perp.solve(problem, "tree-newton", tol=1e-10)
    twin = perp.solve(perp.ContactProblem(problem.W, problem.q, problem.sets), "proximal-point", tol=1e-10)
    assert np.abs(solution.impulse).max() > 0.0
    np.testing.assert_allclose(solution.velocity, twin.velocity, atol=1e-7)


def test_w_is_never_formed():
    problem = chain(6, 2, seed=2, form="scattered")
    assert perp.solve(problem, "tree-newton").solved
    assert "W" not in problem.__dict__


def test_redundant_contacts_and_islands():
    """Four corners of each of three boxes that nothing joins: impulses are not unique, motions are."""
    corners = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    rows = []
    for x, y in corners:
        arm = np.array([x, y, -1.0])
        frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        rows.append(np.hstack([frame, np.cross(arm, frame)]))
    J = block_diag([np.vstack(rows)] * 3).toarray()
    mass = np.tile(np.diag([1.0, 1.0, 1.0, 0.5, 0.5, 0.5]), (3, 1, 1))
    momentum = np.tile([0.3, 0.0, -1.0, 0.0, 0.0, 0.0], 3)
    problem = perp.ContactProblem.from_dynamics(mass, J, momentum, 0.0, [perp.Coulomb(0.5)] * 12)
    solution = perp.solve(problem, "tree-newton")
    assert solution.info["islands"] == 3
    np.testing.assert_allclose(solution.velocity, 0.0, atol=1e-7)
    assert solution.impulse[::3].reshape(3, 4).sum(axis=1) == pytest.approx([1.0] * 3)


def test_a_solution_as_start_takes_no_step():
    problem = chain(4, 2, seed=3)
    first = perp.solve(problem, "tree-newton")
    assert perp.solve(problem, "tree-newton", start=first).iterations == 0


def test_refusals_say_what_is_missing():
    problem = chain(2, 2, seed=4)
    reduced = perp.ContactProblem(problem.W, problem.q, problem.sets)
    with pytest.raises(perp.SolverMismatch, match="need a mass and a Jacobian"):
        perp.solve(reduced, "tree-newton")
    with pytest.raises(perp.SolverMismatch, match="relaxed"):
        perp.solve(problem.as_relaxed(), "tree-newton")
    mass, idle = np.eye(6)[None], np.zeros((2, 6))
    idle[0, 2] = 1.0
    still = perp.ContactProblem.from_dynamics(mass, idle, np.zeros(6), 0.0, [perp.Nonnegative()] * 2)
    with pytest.raises(perp.SolverMismatch, match="moves nothing"):
        perp.solve(still, "tree-newton")


def test_auto_solves_a_chain_with_rolling_contacts_too():
    problem = chain(12, 16, seed=3, kinds=(*KINDS[:3], perp.Rolling(0.5, 0.01)))
    ours, auto = perp.solve(problem, "tree-newton", tol=1e-10), perp.solve(problem, tol=1e-10)
    assert np.allclose(ours.velocity, auto.velocity, atol=1e-7)
