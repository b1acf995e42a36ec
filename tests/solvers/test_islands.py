"""Islands: found, solved apart, none troubled by another."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import generators
import perp


def archipelago(parts: list[perp.ContactProblem], seed: int = 0) -> tuple[perp.ContactProblem, np.ndarray]:
    """Several problems as one, constraints shuffled; and which part each constraint came from."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(parts)), [p.contact_count for p in parts])
    members = [member for p in parts for member in p.sets]
    start = np.concatenate([[0], np.cumsum([m.dimension for m in members])])
    order = rng.permutation(len(members))
    rows = np.concatenate([np.arange(int(start[c]), int(start[c + 1])) for c in order])
    W = sp.csr_array(sp.block_diag([p.W for p in parts], format="csr"))[rows][:, rows]
    q = np.concatenate([p.q for p in parts])[rows]
    return perp.ContactProblem(W, q, perp.Sets([members[c] for c in order])), owner[order]


def column(count: int, pull: float) -> perp.ContactProblem:
    """Point masses on top of each other, pulled sideways; sweeps need many turns from top to bottom."""
    links = np.eye(count) - np.eye(count, k=-1)
    J = np.kron(links, np.eye(3))
    velocity = np.tile([-0.1, pull, 0.02], count)
    return perp.ContactProblem.coulomb(J @ J.T, J @ velocity, 0.6)


def test_islands_of_a_one_sided_graph_are_its_components():
    # 0 → 3, 1 alone, 2 → 4 → 2
    W = np.eye(5)
    W[0, 3] = W[2, 4] = W[4, 2] = 0.1
    problem = perp.ContactProblem(W, -np.ones(5), [perp.Nonnegative()] * 5)
    assert perp.solve(problem, "interior-point").info["islands"] == 3


@pytest.mark.parametrize("dense", [False, True])
def test_islands_are_found_solved_and_counted(dense):
    parts = [column(count, 0.01 * count) for count in range(11, 25)]
    problem, _ = archipelago(parts)
    if dense:
        problem = perp.ContactProblem(problem.W.toarray(), problem.q, problem.sets)
    solution = perp.solve(problem, tol=1e-10)
    apart = perp.solve(problem, "proximal-point", tol=1e-10)
    assert apart.info["islands"] == len(parts)
    np.testing.assert_allclose(solution.z, apart.z, atol=1e-7)
    assert np.array_equal(solution.z, perp.solve(problem, tol=1e-10).z)


def test_one_hopeless_island_leaves_the_others_solved():
    good = [generators.contact(9, seed) for seed in range(12)]
    # pushed from below with no give: no impulse helps
    squeeze = perp.ContactProblem(np.zeros((1, 1)), [-1.0], perp.Sets([perp.Nonnegative()]))
    problem, owner = archipelago([*good, squeeze])
    solution = perp.solve(problem, throw=False, history=True)
    assert solution.status is not perp.Status.SOLVED
    for k, part in enumerate(good):
        rows = np.flatnonzero(np.repeat(owner == k, problem.sets.dimension))
        alone = perp.ContactProblem(
            problem.W[rows][:, rows], problem.q[rows], problem.sets.subset(np.flatnonzero(owner == k))
        )
        assert alone.size == part.size
        assert perp.residual(alone, solution.z[rows]) <= 1e-7


def test_limits_are_kept_over_all_islands():
    problem, _ = archipelago([generators.contact(9, seed) for seed in range(12)])
    solution = perp.solve(problem, max_iterations=24, throw=False)
    assert solution.iterations <= 24 + 20
