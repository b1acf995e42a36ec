"""`tree_sweeps` against the answers of Newton's method, and which islands it takes."""

from __future__ import annotations

import numpy as np
import pytest

from perp.compilation.kernel import kernel
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_state import evaluate
from perp.kernels.tree_sweeps import begin_sweeps, can_sweep, sweep_island
from perp.kernels.tree_workspace import tree_workspace, workspace_view
from perp.problems.set_kernels import BOX, COULOMB, ELLIPTIC, NONNEGATIVE
from tree_problems import packed, solved


@kernel
def _sweep(problem, workspace, looks, pairs):
    p, w = problem_view(problem), workspace_view(workspace)
    evaluate(p, w, 0, prepare(p, w))
    begin_sweeps(p, w, 0)
    for _ in range(looks):
        sweep_island(p, w, 0, pairs)


@kernel
def _takes(problem, workspace):
    p, w = problem_view(problem), workspace_view(workspace)
    prepare(p, w)
    return can_sweep(p, w, 0)


def chain(bodies: int, seed: int, first=(COULOMB, 3, (0.6,)), cohesion: float = 0.0, unit: float = 1e-10):
    """Free bodies in a row, each pushed onto the one before by a contact; the first onto a fixed one."""
    rng = np.random.default_rng(seed)
    masses = []
    for _ in range(bodies):
        root = 0.3 * rng.normal(size=(6, 6))
        masses.append(np.eye(6) + root @ root.T)
    sets = [first, *[(COULOMB, 3, (0.6, 0, 0, 0, 0, cohesion))] * (bodies - 1)]
    rows = sum(size for _, size, _ in sets)
    J = np.zeros((rows, 6 * bodies))
    at = 0
    for c, (_, size, _) in enumerate(sets):
        J[at : at + size, 6 * c : 6 * c + 6] = rng.normal(size=(size, 6))
        if c:
            J[at : at + size, 6 * c - 6 : 6 * c] = rng.normal(size=(size, 6))
        at += size
    velocity = -np.linalg.pinv(J) @ np.abs(rng.normal(size=rows))
    return packed(masses, J, velocity, 0.1 * rng.normal(size=rows), sets, 1e-3, unit)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cohesion", [0.0, 0.3])
@pytest.mark.parametrize("first", [(COULOMB, 3, (0.6,)), (NONNEGATIVE, 1, ()), (BOX, 1, (-0.2, 0.1))])
def test_sweeps_lead_to_the_answer(seed: int, cohesion: float, first: tuple) -> None:
    p, other = chain(4, seed, first, cohesion), chain(4, seed, first, cohesion)
    info, _ = solved(other)
    assert info[1] == 0
    _sweep(p.struct, tree_workspace(p), 20, 20)
    np.testing.assert_allclose(p.velocity, other.velocity, atol=1e-7)
    np.testing.assert_allclose(p.impulse, other.impulse, atol=1e-6)


def test_only_large_islands_of_contacts_that_reach_whole_trees_are_swept() -> None:
    def takes(p) -> bool:
        return _takes(p.struct, tree_workspace(p))

    assert takes(chain(80, 0))
    assert takes(chain(80, 0, (BOX, 1, (-0.2, 0.1))))
    assert not takes(chain(8, 0))
    assert not takes(chain(80, 0, (ELLIPTIC, 4, (0.5, 0.5, 0.1))))
    part = chain(80, 0)
    J = np.zeros((part.bias.size, part.velocity.size))
    for i in range(part.bias.size):
        entries = slice(part.row_begin[i], part.row_begin[i + 1])
        J[i, part.column[entries]] = part.value[entries]
    J[:3, 2] = 0.0
    sets = [(COULOMB, 3, (0.6,))] * 80
    masses = list(part.mass.reshape(-1, 6, 6))
    assert not takes(packed(masses, J, part.free_velocity, part.bias, sets, 1e-3))


def test_a_large_island_far_from_its_answer_is_solved() -> None:
    p = chain(200, 3, unit=1e-12)
    p.impulse[:] = np.random.default_rng(5).normal(size=p.impulse.size)
    info, worst = solved(p, limit=200)
    assert info[1] == 0
    assert worst <= 1.0
