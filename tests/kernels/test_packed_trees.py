"""Packed problems by trees: the Newton step, laws and their derivatives, islands, redundant contacts, paths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array

import perp
from kernels.test_kernels import mixed
from perp.compilation.kernel import whole
from perp.kernels.friction_laws import MOST_ROWS, OPEN, RELAXED, ROOM, linearise
from perp.kernels.jordan import solve_linearised
from perp.kernels.packed import pack
from perp.kernels.packed_trees import trees_of
from perp.kernels.tree_newton import AT_ONCE, EXACT, FIRST, solve_islands
from perp.kernels.tree_workspace import tree_workspace
from perp.problems.sets import COULOMB, ROLLING


def solved(problem: perp.ContactProblem, start: np.ndarray, tol: float, limit: int, first=FIRST):
    """Impulses and what the kernel says: islands, unsolved ones, steps of the longest, all steps."""
    packed = pack(problem)
    trees, info = trees_of(packed, packed.unknowns(start), tol), np.zeros(4, np.int64)
    solve_islands(trees.struct, tree_workspace(trees), first, limit, EXACT, info, np.zeros(1))
    return packed.impulse(trees.impulse), info


def pile(seed: int, contacts: int, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """W and q of contacts that press on bodies of six unknowns: singular where there are many contacts."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * contacts, 6 * bodies))
    return J @ J.T, J @ rng.normal(size=6 * bodies)


def islands(relaxed: bool = True) -> perp.ContactProblem:
    parts = [pile(seed, contacts, 1) for seed, contacts in enumerate((1, 5, 2, 8, 1))]
    W, q = block_diag(*(W for W, _ in parts)), np.concatenate([q for _, q in parts])
    # constraints of the islands interleaved
    order = np.argsort(np.random.default_rng(3).random(q.size // 3))
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    return perp.ContactProblem.coulomb(csr_array(W[np.ix_(rows, rows)]), q[rows], 0.5, relaxed=relaxed)


def test_the_step_is_the_dense_solve():
    problem = mixed(7, 14)
    packed = pack(problem)
    blocks, rng = packed.blocks, np.random.default_rng(8)
    n, count, start = packed.rows, problem.contact_count, packed.blocks.start
    F, dx = rng.normal(size=n), np.empty(n)
    B, C = rng.normal(size=(2, count, MOST_ROWS, MOST_ROWS))
    trees = trees_of(packed, np.zeros(n), 1.0)
    solve_linearised(trees.struct, tree_workspace(trees), blocks.d, 1e-3, F, B, C, dx)
    W = blocks.scale[:, None] * problem.W.toarray()[np.ix_(blocks.row, blocks.row)] * blocks.scale
    sizes = np.diff(start)
    b = block_diag(*(B[c, :m, :m] + 1e-3 * blocks.d[c] * C[c, :m, :m] for c, m in enumerate(sizes)))
    c = block_diag(*(C[c, :m, :m] for c, m in enumerate(sizes)))
    np.testing.assert_allclose(dx, np.linalg.solve(b + c @ W, -F), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", [COULOMB + RELAXED, ROLLING + RELAXED])
def test_derivatives_of_the_relaxed_law_are_those_of_its_equations(kind):
    rng, size = np.random.default_rng(kind), 5 if kind % RELAXED == ROLLING else 4
    parameter = np.array([0.8, 0.3, 0.0, 0.0, 0.0, 0.0])
    closed = 0
    for _ in range(60):
        mobility = rng.uniform(0.5, 2.0, 3)
        x, u, dx, du = rng.normal(size=(4, size))
        room, own = np.zeros((3, *ROOM)), (np.zeros((6, 6)), False)
        state = whole(linearise)(kind, parameter, size, mobility, x, u, own, room[0])
        closed += state != OPEN
        h, B, C = 1e-7, room[0, 8 : 8 + size, :size], room[0, 14 : 14 + size, :size]
        for k, sign in ((1, h), (2, -h)):
            ends = x + sign * dx, u + sign * du
            whole(linearise)(kind, parameter, size, mobility, *ends, own, room[k])
        slope = (room[1, 1, :size] - room[2, 1, :size]) / (2 * h)
        np.testing.assert_allclose(B @ dx + C @ du, slope, rtol=1e-5, atol=1e-5)
    assert closed > 20


@pytest.mark.parametrize("seed", range(6))
def test_redundant_contacts_are_solved_from_zero(seed):
    W, q = pile(seed, 12, 2)
    problem = perp.ContactProblem.coulomb(W, q, 0.7, relaxed=True)
    x, info = solved(problem, np.zeros(problem.size), 1e-10, 100)
    assert info[3] > 0
    assert perp.residual(problem, x) < 1e-9
    # a convex problem with many impulses has one velocity
    other = perp.solve(problem, "apgd", tol=1e-9, max_iterations=200_000)
    np.testing.assert_allclose(W @ x + q, other.velocity, atol=1e-6)


def test_islands_together_meet_the_tolerance_of_the_whole():
    problem = islands()
    x, info = solved(problem, np.zeros(problem.size), 1e-10, 100)
    assert info[0] == 5
    assert perp.residual(problem, x) <= 1e-9


def test_solved_islands_are_left_alone():
    problem = islands()
    start = perp.solve(problem, tol=1e-12).z.copy()
    x, info = solved(problem, start, 1e-9, 100)
    assert info[3] == 0
    np.testing.assert_allclose(x, start, rtol=1e-14)


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_no_more_steps_than_asked_for(limit):
    problem = islands()
    assert solved(problem, np.zeros(problem.size), 1e-12, limit)[1][2] <= limit


def rolling(seed: int, relaxed: bool) -> perp.ContactProblem:
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(30, 12))
    sets = perp.Sets([perp.Rolling(0.6, 0.2)] * 6)
    return perp.ContactProblem(J @ J.T, J @ rng.normal(size=12), sets, relaxed=relaxed)


@pytest.mark.parametrize("relaxed", [False, True])
def test_central_paths_of_rolling_contacts_end_at_an_answer(relaxed):
    for seed in range(5):
        problem = rolling(seed, relaxed)
        x, _ = solved(problem, np.zeros(problem.size), 1e-9, 100, AT_ONCE)
        assert perp.residual(problem, x) <= 1e-8
