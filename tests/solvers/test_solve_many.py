"""`solve_many`: the same bits as `solve`, in order, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import perp


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
