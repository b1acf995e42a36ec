"""`solve_many`: the same bits as `solve`, in order, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import perp
from perp.bench.sets.small_problems import random_mixtures


def problems(count: int) -> list[perp.ContactProblem]:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(count):
        J = rng.normal(size=(12, 9))
        made.append(perp.ContactProblem.coulomb(J @ J.T, J @ rng.normal(size=9), 0.6))
    return made


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_answers_do_not_depend_on_threads(threads):
    batch = problems(23)
    alone = [perp.solve(problem, throw=False) for problem in batch]
    together = perp.solve_many(batch, threads=threads, throw=False)
    assert [solution.problem for solution in together] == batch
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.z, other.z)
        assert one.status is other.status


def mixed() -> list[perp.Problem]:
    """Every kind of set, forms that are not packed, and contacts that need Newton steps after sweeps."""
    rng = np.random.default_rng(1)
    made: list[perp.Problem] = [attempt.problem for seed in (0, 3) for attempt in random_mixtures(seed)]
    for count in (1, 3, 6, 15, 20):
        J = rng.normal(size=(3 * count, max(6, 2 * count)))
        W, q = J @ J.T, J @ rng.normal(size=J.shape[1])
        made += [
            *(perp.ContactProblem.coulomb(W, q, mu) for mu in (0.5, 2.0, 1e5)),
            perp.ContactProblem.coulomb(W, q, 0.5, relaxed=True),
            perp.ContactProblem.coulomb(csr_array(W), q, 0.5),
            perp.ContactProblem(W, q, [perp.Coulomb(0.5, cohesion=0.1)] * count),
            perp.ContactProblem.from_dynamics(
                np.eye(J.shape[1]), J, rng.normal(size=J.shape[1]), sets=[perp.Coulomb(0.5)] * count
            ),
            perp.LCP(W, q),
        ]
    return made


@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_what_is_packed_and_what_is_not_gives_the_bits_of_solve(tol):
    batch, again = mixed(), mixed()
    alone = [perp.solve(problem, tol=tol, throw=False) for problem in batch]
    together = perp.solve_many(again, tol=tol, threads=2, throw=False)
    assert {one.solver for one in alone} >= {"block-gauss-seidel", "proximal-point"}
    for one, other in zip(alone, together, strict=True):
        assert one.z.tobytes() == other.z.tobytes()
        assert one.w.tobytes() == other.w.tobytes()
        assert (one.status, one.residual, one.iterations) == (other.status, other.residual, other.iterations)
        stages = [[stage["solver"] for stage in each.info.get("stages", ())] for each in (one, other)]
        assert stages[0] == stages[1]


def test_nothing_to_solve_gives_nothing():
    assert perp.solve_many([]) == []


def test_first_failure_is_raised():
    squeezed = perp.LCP(np.zeros((1, 1)), -np.ones(1))
    with pytest.raises(perp.NotSolved):
        perp.solve_many([perp.LCP(np.eye(1), -np.ones(1)), squeezed], "pgs", max_iterations=5)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (perp.LCP(np.eye(1), -np.ones(1)), "a list of them"),
        (None, "NoneType"),
        ("problems", "str"),
        ([perp.LCP(np.eye(1), -np.ones(1)), 3], r"problems\[1\] is int"),
    ],
    ids=str,
)
def test_what_is_not_a_list_of_problems_is_refused(argument, words):
    with pytest.raises(perp.ProblemError, match=words):
        perp.solve_many(argument)


@pytest.mark.parametrize("threads", [0, -2, 1.5, "two"])
def test_strange_numbers_of_threads_are_refused(threads):
    with pytest.raises(perp.ProblemError, match="threads"):
        perp.solve_many(problems(2), threads=threads)


def test_generators_are_accepted():
    assert len(perp.solve_many(problem for problem in problems(3))) == 3
