"""Impulses that hold everything: the least ones, by NumPy, and a wall that they solve."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.kernels.packed import pack
from perp.kernels.packed_trees import trees_of
from perp.kernels.tree_held import hold_all
from perp.kernels.tree_workspace import tree_workspace


@pytest.mark.parametrize("contacts", [4, 9])
def test_the_least_impulses_that_leave_no_velocity(contacts: int) -> None:
    rng = np.random.default_rng(contacts)
    J = rng.standard_normal((3 * contacts, 6))
    J /= np.linalg.norm(J, axis=1)[:, None]
    problem = perp.ContactProblem.coulomb(J @ J.T, J @ rng.standard_normal(6), 0.5)
    packed = pack(problem)
    trees = trees_of(packed, np.ones(problem.size), 1e-9)
    hold_all(trees.struct, tree_workspace(trees))
    impulse = packed.impulse(trees.impulse)
    np.testing.assert_allclose(impulse, -np.linalg.pinv(J @ J.T) @ problem.q, atol=1e-8)
    np.testing.assert_allclose(problem.W @ impulse + problem.q, 0.0, atol=1e-10)


def _tower(layers: int) -> perp.ContactProblem:
    """Unit cubes on each other, four contacts a face, before gravity has done its work."""
    corners = np.array([(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    J = np.zeros((12 * layers, 6 * layers))
    for k in range(layers):
        for c, (x, y) in enumerate(corners):
            rows = slice(12 * k + 3 * c, 12 * k + 3 * c + 3)
            for body, sign, z in ((k, 1.0, -0.5), (k - 1, -1.0, 0.5)):
                if body < 0:
                    continue
                arm = np.array([x, y, z])
                frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
                J[rows, 6 * body : 6 * body + 6] = sign * np.hstack([frame, np.cross(arm, frame)])
    inverse = np.tile([1.0, 1.0, 1.0, 6.0, 6.0, 6.0], layers)
    free = np.tile([0.0, 0.0, -0.0981, 0.0, 0.0, 0.0], layers)
    return perp.ContactProblem.coulomb((J * inverse) @ J.T, J @ free, 0.5)


def test_a_tower_is_solved_by_what_holds_it() -> None:
    problem = _tower(8)
    solution = perp.solve(problem)
    last = solution.info["stages"][-1]
    assert (last["stage"], last["iterations"]) == ("proximal-point (begin = held)", 1)
    np.testing.assert_allclose(solution.impulse[::12], 0.25 * 0.0981 * np.arange(8, 0, -1), rtol=1e-8)


def test_it_gives_up_where_something_slides() -> None:
    problem = _tower(4)
    pushed = perp.ContactProblem.coulomb(problem.W, problem.q + np.tile([0.0, 1.0, 0.0], 16), 0.5)
    solution = perp.solve(pushed, "proximal-point", options={"sweeps": 0, "begin": "held"}, throw=False)
    assert not solution.solved
    assert solution.iterations <= 3
    assert perp.solve(pushed).solved
