"""Proofs hold, and what is not so is not proved."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import perp
from perp.bench.sets import families


def answer(problem: perp.problems.Problem, z: object, **info: object) -> perp.Solution:
    """An answer as a solver without an active set would give it."""
    z = np.asarray(z, dtype=float)
    w = problem.M @ z + problem.q  # type: ignore[union-attr]
    return perp.Solution(problem, z, w, perp.Status.SOLVED, 0.0, 1e-8, 0, "hand", info=dict(info))


def test_known_fractions() -> None:
    problem = perp.LCP([[2, 1], [1, 2]], [-5, -6])
    certificate = perp.certify(problem, answer(problem, [4 / 3, 7 / 3]))
    assert certificate.status == "proved"
    assert certificate.z == (Fraction(4, 3), Fraction(7, 3))
    assert certificate.w == (0, 0)
    assert certificate.active_set == (0, 1)
    assert certificate.distance is not None
    assert certificate.distance <= 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_answer_with_rounding_is_proved_and_a_wrong_one_is_not(seed: int) -> None:
    problem = families.spd(12, seed)
    good = perp.solve(problem, "principal")
    assert perp.certify(problem, good)
    flipped = np.where(good.z > 0, 0.0, 1.0)
    refused = perp.certify(problem, answer(problem, flipped))
    assert not refused
    assert refused.status.startswith("not proved: ")
    assert refused.failures
    assert refused.z is None


def test_first_failure_names_row_and_value() -> None:
    problem = perp.LCP(np.eye(2), [-1.0, -2.0])
    refused = perp.certify(problem, answer(problem, [1.0, 0.0]))
    assert refused.status == "not proved: w[1] = -2 is negative off the upper bound"


@pytest.mark.parametrize("method", ["exact", "interval"])
def test_boxed_with_every_kind_of_bound(method: str) -> None:
    inf = np.inf
    problem = perp.BoxedLCP(
        families.spd(6).M + np.eye(6), [1.0, -9, 2, -2, 0.5, 3],
        [-0.1, -inf, 0.5, -inf, 0.25, -1], [0.1, 0.2, 0.5, inf, inf, 1],
    )  # fmt: skip
    certificate = perp.certify(problem, perp.solve(problem, "principal"), method=method)
    assert certificate.proved
    assert certificate.status == ("proved" if method == "exact" else "enclosed")


def test_enclosure_holds_the_exact_solution() -> None:
    problem = families.spd(20)
    solution = perp.solve(problem, "principal")
    exact, balls = perp.certify(problem, solution), perp.certify(problem, solution, method="interval")
    assert exact.z is not None
    assert balls.center is not None
    assert balls.radius is not None
    for x, c, r in zip(exact.z, balls.center, balls.radius, strict=True):
        assert abs(float(x) - c) <= r + 2 * np.spacing(abs(c))
    assert balls.radius.max() < 1e-30


def test_large_problem_is_enclosed() -> None:
    problem = families.spd(160)
    certificate = perp.certify(problem, perp.solve(problem, "principal"))
    assert certificate.status == "enclosed"


@pytest.mark.parametrize("seed", range(3))
def test_friction_index(seed: int) -> None:
    problem = families.contacts(4, seed)
    certificate = perp.certify(problem, perp.solve(problem, "moving-bounds", tol=1e-10))
    assert certificate.status == "proved"
    assert certificate.z is not None
    for i, j in enumerate(problem.limiting_row):
        if j >= 0:
            bound = Fraction(float(problem.hi[i])) * certificate.z[j]
            assert -bound <= certificate.z[i] <= bound


def test_dependent_rows_keep_the_values_of_the_answer() -> None:
    problem = perp.LCP(np.ones((3, 3)), -np.ones(3))
    certificate = perp.certify(problem, answer(problem, [0.25, 0.25, 0.5]))
    assert certificate.z == (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))


def test_infeasibility_from_a_rounded_certificate() -> None:
    """v = (1/3, 2/3) up to rounding: Mᵀ v is not zero in doubles, but it is for the fractions."""
    problem = perp.LCP([[4.0, -2.0], [-2.0, 1.0]], [-1.0, -1.0])
    claim = dataclasses.replace(
        answer(problem, [0, 0], certificate=np.array([1 / 3, 2 / 3])), status=perp.Status.INFEASIBLE
    )
    certificate = perp.certify(problem, claim)
    assert certificate.claim == "no solution"
    assert certificate.status == "proved"
    assert certificate.z is not None
    v = certificate.z
    assert 4 * v[0] - 2 * v[1] == 0
    assert -v[0] - v[1] < 0


def test_false_certificate_of_infeasibility_is_refused() -> None:
    problem = perp.LCP(np.eye(2), [-1.0, -1.0])
    claim = dataclasses.replace(
        answer(problem, [0, 0], certificate=np.ones(2)), status=perp.Status.INFEASIBLE
    )
    certificate = perp.certify(problem, claim)
    assert not certificate.proved
    assert certificate.claim == "no solution"


def test_other_problems_and_bad_arguments() -> None:
    other = perp.MCP(lambda z: z**3 - 1.0, np.zeros(1), np.inf)
    with pytest.raises(perp.SolverMismatch, match="not MCP"):
        perp.certify(other, perp.solve(other))
    problem = perp.LCP([[1.0]], [-1.0])
    with pytest.raises(perp.SolverMismatch, match="method"):
        perp.certify(problem, perp.solve(problem), method="guess")


def test_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = perp.LCP([[1.0]], [-1.0])
    with pytest.raises(perp.SolverMissing, match=r"pip install 'perp\[proofs\]'"):
        perp.certify(problem, perp.solve(problem))


def test_package_and_function_share_a_name() -> None:
    import perp.certify as package

    problem = perp.LCP([[1.0]], [-1.0])
    assert package(problem, perp.solve(problem)).proved  # type: ignore[operator]


def test_a_proof_is_one_of_the_answer_that_was_given() -> None:
    """The sides of (0, 3) lead to the exact solution (0, 200.7), which is 197.7 away: that is no proof of 3."""
    problem = perp.LCP([[2.0, 0.0], [0.0, 0.01]], [1.0, -2.007])
    for method in ("exact", "interval"):
        refused = perp.certify(problem, answer(problem, [0.0, 3.0]), method=method)
        assert not refused.proved
        assert refused.distance == pytest.approx(197.7)
        assert "z[1] = 3" in refused.failures[0]
        assert perp.certify(problem, answer(problem, [0.0, 200.7]), method=method).proved
        assert perp.certify(problem, answer(problem, [0.0, 200.8]), method=method, accuracy=1e-3).proved


def test_a_small_entry_is_not_hidden_behind_a_large_one() -> None:
    problem = perp.LCP(np.eye(2), [-1e5, -1.0])
    assert perp.certify(problem, answer(problem, [1e5, 1.0])).proved
    assert not perp.certify(problem, answer(problem, [1e5, 1.01])).proved


@pytest.mark.parametrize("mu", [0.0, 5e-324, 1e160])
def test_contacts_with_any_coefficient_raise_nothing_of_others(mu: float) -> None:
    """LAPACK's "SVD did not converge" came of a row of zeros."""
    problem = perp.ContactProblem.coulomb(np.diag([2.0, 3, 3]), [-1.0, 0.1, 0.2], mu)
    solution = perp.solve(problem)
    perp.certify(problem, solution)
    assert not perp.certify(problem, replace(solution, z=np.zeros(3))).proved


def test_a_small_island_is_not_hidden_behind_a_large_one() -> None:
    """5 in place of 1 was proved beside an entry of 1e13."""
    problem = perp.LCP(np.eye(2), [-1e13, -1.0])
    solution = perp.solve(problem)
    assert perp.certify(problem, solution).proved
    assert not perp.certify(problem, replace(solution, z=np.array([1e13, 5.0]))).proved
