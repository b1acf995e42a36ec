"""The relaxation along its central path: groups apart, redundant contacts, no iteration beyond the limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import perp
from perp.kernels.islands import groups, restrict
from perp.kernels.packed import pack
from perp.kernels.relaxed_path import follow_islands


def followed(problem: perp.ContactProblem, x: np.ndarray, tol: float, limit: int) -> int:
    packed = pack(problem)
    return follow_islands(packed.struct, packed.order, packed.rho, x, tol, limit)


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


def test_groups_are_the_connected_components():
    rng = np.random.default_rng(0)
    for _ in range(30):
        count = int(rng.integers(1, 30))
        pattern = csr_array((rng.random((count, count)) < 0.06) | np.eye(count, dtype=bool))
        found, total = groups(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64))
        expected, labels = connected_components(pattern, directed=True, connection="weak")
        assert total == expected
        assert np.array_equal(found, labels)


def test_a_group_cut_out_is_the_problem_of_its_rows():
    problem = islands()
    blocks = pack(problem).blocks
    group, total = groups(blocks.first, blocks.column)
    assert total == 5
    for g in range(total):
        members = np.flatnonzero(group == g)
        rows = (3 * members[:, None] + np.arange(3)).ravel()
        part = perp.ContactProblem.coulomb(
            csr_array(problem.W.toarray()[np.ix_(rows, rows)]), problem.q[rows], 0.5, relaxed=True
        )
        cut, made = restrict(blocks, members), pack(part).blocks
        for name in blocks._fields:
            if name == "row":
                assert np.array_equal(cut.row, rows[made.row])
            else:
                assert np.array_equal(getattr(cut, name), getattr(made, name)), name


@pytest.mark.parametrize("seed", range(6))
def test_redundant_contacts_are_solved_from_zero(seed):
    W, q = pile(seed, 12, 2)
    problem = perp.ContactProblem.coulomb(W, q, 0.7, relaxed=True)
    x = np.zeros(problem.size)
    assert followed(problem, x, 1e-10, 1000) > 0
    assert perp.residual(problem, x) < 1e-9
    # a convex problem with many impulses has one velocity
    other = perp.solve(problem, "apgd", tol=1e-9, max_iterations=200_000)
    np.testing.assert_allclose(W @ x + q, other.velocity, atol=1e-6)


def test_islands_together_meet_the_tolerance_of_the_whole():
    problem = islands()
    x = np.zeros(problem.size)
    followed(problem, x, 1e-9, 1000)
    assert perp.residual(problem, x) <= 1e-9


def test_solved_groups_are_left_alone():
    problem = islands()
    x = perp.solve(problem, tol=1e-12).z.copy()
    before = x.copy()
    assert followed(problem, x, 1e-9, 1000) == 0
    assert np.array_equal(x, before)


@pytest.mark.parametrize("limit", [0, 3, 20])
def test_no_more_iterations_than_asked_for(limit):
    problem = islands()
    assert followed(problem, np.zeros(problem.size), 1e-12, limit) <= limit
