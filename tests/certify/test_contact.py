"""Enclosures of contact answers: every set that is proved is right, and what is not so is not proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import perp

pytest.importorskip("flint")


def _problem(sets: list, seed: int, *, relaxed: bool = False) -> perp.ContactProblem:
    rng = np.random.default_rng(seed)
    n = sum(one.dimension for one in sets)
    G = rng.standard_normal((n, n))
    return perp.ContactProblem(
        G @ G.T / n + 0.1 * np.eye(n), rng.standard_normal(n) - 0.3, sets, relaxed=relaxed
    )


def test_a_block_that_slides_has_a_known_answer() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 3.0, 4.0], 0.5)
    certificate = perp.certify(problem, perp.solve(problem))
    assert certificate.status == "enclosed"
    assert certificate.center is not None
    np.testing.assert_allclose(certificate.center, [1.0, -0.3, -0.4], atol=1e-15)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("cohesion", [0.0, 0.2])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_elliptic_sets_exact_and_relaxed(count: int, cohesion: float, relaxed: bool) -> None:
    mu = np.random.default_rng(count).uniform(0.1, 0.9, (2, count))
    sets = [perp.Elliptic(*one, cohesion=cohesion) for one in mu]
    problem = _problem(sets, 7 * count, relaxed=relaxed)
    solution = perp.solve(problem, tol=1e-12)
    certificate = perp.certify(problem, solution)
    assert certificate.status == "enclosed", certificate.status
    assert perp.residual(problem, certificate.center) <= 1e-13


def test_all_sets_together() -> None:
    sets = [perp.Free(), perp.Nonnegative(), perp.Box(-0.1, 0.2), perp.Coulomb(0.4), perp.Elliptic(0.3, 0.0)]
    proved = 0
    for seed in range(12):
        problem = _problem([*sets, perp.Rolling(0.5, 0.1)], seed)
        solution = perp.solve(problem, tol=1e-12, throw=False)
        certificate = perp.certify(problem, solution)
        proved += certificate.proved
        assert certificate.proved or "not proved" in certificate.status
    assert proved >= 10


def test_a_wrong_answer_is_not_proved() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 3.0, 4.0], 0.5)
    right = perp.solve(problem)
    for wrong in (
        [1.0, 0.3, 0.4],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.0, -0.3, -0.4001],
        [1.5, -0.45, -0.6],
    ):
        assert not perp.certify(problem, replace(right, z=np.array(wrong)))


def test_redundant_contacts_say_so() -> None:
    problem = perp.ContactProblem.coulomb(np.tile(np.eye(3), (2, 2)), [-1.0, 0.1, 0.0] * 2, 0.5)
    shared = replace(perp.solve(problem), z=np.array([0.5, -0.05, 0.0] * 2))
    certificate = perp.certify(problem, shared)
    assert not certificate.proved
    assert "redundant" in certificate.status


def test_rational_arithmetic_is_refused() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 3.0, 4.0], 0.5)
    with pytest.raises(perp.SolverMismatch, match="not rational"):
        perp.certify(problem, perp.solve(problem), method="exact")
